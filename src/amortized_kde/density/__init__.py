"""Frozen densities over a mixture of kernels, and how they are kept, drawn and shown."""

from amortized_kde.density.background import Background
from amortized_kde.density.kernel_density import KernelDensity
from amortized_kde.density.modes import Mode, Modes

__all__ = ["Background", "KernelDensity", "Mode", "Modes"]
