"""Densities of calibrated cells: those of the moved members, mixed with one kernel each, perhaps on a power scale."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from amortized_kde._types import Array, Index
from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.ensembles.calibration import KERNELS, Power
from amortized_kde.ensembles.estimates import Estimates
from amortized_kde.ensembles.options import Ensembles
from amortized_kde.numerics.cells import Arguments, Kernels

# How far the integral of a CRPS reaches beyond the kernels, in bandwidths.
_REACH = 9.0


def _panels(count: int = 8, order: int = 16) -> tuple[Array, Array]:
    """Return nodes and weights on [0, 1]: Gauss-Legendre in panels that halve towards 0."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    edges = np.concatenate([[0.0], 0.5 ** np.arange(count - 1, -1, -1)])
    width = np.diff(edges)[:, None]
    return (edges[:-1, None] + width * 0.5 * (nodes + 1.0)).reshape(-1), (0.5 * width * weights).reshape(-1)


_NODES, _WEIGHTS = _panels()


class Mixed(NamedTuple):
    """The kernel of each cell: location and standard deviation (cells,), its kind, and its probability."""

    location: Array
    spread: Array
    kernel: str
    share: float


def finish(made: Estimates, ensembles: Ensembles, cells: slice) -> "Estimates | OnPowerScale":
    """Return the densities of a run of cells as their calibration has them; unchanged if there is none."""
    corrected, calibration = ensembles.corrected, ensembles.options.calibration
    if corrected is None or calibration is None:
        return made
    kernel = Mixed(corrected.location[cells], corrected.spread[cells], calibration.kernel, calibration.share)
    mixed = mix(made, kernel)
    return mixed if calibration.power == 1.0 else OnPowerScale(mixed, calibration.scale)


def mix(made: Estimates, kernel: Mixed) -> Estimates:
    """Return the estimates mixed with a kernel in every cell; where they have no kernels, the new one alone."""
    old = made.kernels.spread()
    share = np.where(old.stops > old.starts, kernel.share, 1.0)
    counts = np.where(share < 1.0, old.stops - old.starts, 0)
    weights, sds = (np.array(part) for part in KERNELS[kernel.kernel])
    added = np.where(np.isfinite(kernel.location) & (kernel.spread > 0.0) & (share > 0.0), weights.size, 0)
    which, picked = _expand(old.starts, counts)
    cells = np.concatenate([which, np.repeat(np.arange(share.size), added)])
    masses = _kernel_masses(kernel, weights, sds, made.bounds) * share[:, None]
    here = added > 0
    width = kernel.spread[here, None] * sds
    places = np.concatenate([old.places[picked], np.repeat(kernel.location[here], weights.size)])
    rates = np.concatenate([old.rates[picked], 1.0 / width.reshape(-1)])
    mass = np.concatenate([old.masses[picked] * (1.0 - share[which]), masses[here].reshape(-1)])
    order = np.lexsort((places, cells))
    stops = np.cumsum(counts + added)
    widest = np.where(added > 0, kernel.spread * sds.max(), 0.0)
    return replace(
        made,
        kernels=Kernels(places[order], rates[order], mass[order], stops - counts - added, stops, True),
        widest=np.where(counts > 0, np.maximum(made.widest, widest), widest),
        epsilons=np.where(counts > 0, made.epsilons * (1.0 - share), 0.0),
        locations=np.where(counts > 0, made.locations, kernel.location),
        scales=np.where((counts > 0) & (made.scales > 0.0), made.scales, np.maximum(kernel.spread, 1e-300)),
    )


def _expand(starts: Index, counts: Index) -> tuple[Index, Index]:
    """Return the cell of every kernel that is kept, and its index."""
    cells = np.repeat(np.arange(counts.size), counts)
    first = np.cumsum(counts) - counts
    return cells, starts[cells] + np.arange(cells.size) - first[cells]


def _kernel_masses(kernel: Mixed, weights: Array, sds: Array, bounds: Bounds) -> Array:
    """Return the masses of whole components (cells, components), such that the part inside the bounds has mass 1."""
    if bounds == OPEN:
        return np.broadcast_to(weights, (kernel.location.size, weights.size))
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = (((end - kernel.location) / kernel.spread)[:, None] / sds for end in bounds)
        flip = low > 0.0
        inside = ndtr(np.where(flip, -low, high)) - ndtr(np.where(flip, -high, low))
        return np.asarray(weights / np.maximum(inside @ weights, 1e-300)[:, None])


@dataclass(frozen=True, eq=False)
class OnPowerScale:
    """Estimates on a power scale, evaluated in the variable's units."""

    inner: Estimates
    scale: Power

    @property
    def density(self) -> Index:
        """The number of each cell's density."""
        return self.inner.density

    def log_density(self, arguments: Arguments) -> Array:
        """Return natural log-densities."""
        found = self.inner.log_density(self._forward(arguments)) + self.scale.log_slope(arguments.at)
        return np.where(arguments.at < self.scale.origin, -np.inf, found)

    def probability(self, arguments: Arguments, *, above: bool = False) -> Array:
        """Return probabilities below, or above, the arguments."""
        return self.inner.probability(self._forward(arguments), above=above)

    def quantiles(self, p: Array, density: Index) -> Array:
        """Return quantiles."""
        return self.scale.back(self.inner.quantiles(p, density))

    def crps(self, y: Array, atoms: Array, atom_probabilities: Array, window: Bounds = OPEN) -> Array:
        """Return the CRPS of each cell at its outcome by Gauss-Legendre quadrature on the power scale."""
        kernels, scale = self.inner.kernels, self.scale
        ends = np.zeros(len(kernels.starts))
        cells, picked = _expand(kernels.starts, kernels.stops - kernels.starts)
        np.maximum.at(ends, cells, kernels.places[picked] + _REACH / kernels.rates[picked])
        high = np.maximum(scale.forward(y), ends[self.density])
        low, high = (np.clip(v, *(scale.forward(np.array(w)) for w in window)) for v in (np.zeros(y.size), high))
        middle = np.clip(scale.forward(y), low, high)
        total = np.zeros(y.size)
        for end, step in ((low, 0.0), (high, 1.0)):
            at = middle[:, None] + (end - middle)[:, None] * _NODES
            f = self._distribution(at, atoms, atom_probabilities) - step
            total += np.abs(end - middle) * ((f * f * np.exp(-scale.log_slope(scale.back(at)))) @ _WEIGHTS)
        # Below the origin the distribution function is 0, as above the outcome's indicator is 1.
        below = np.clip(scale.origin, *window) - np.clip(np.minimum(y, scale.origin), *window)
        empty = (kernels.stops == kernels.starts)[self.density]
        return np.where(np.isnan(y) | empty, np.nan, total + below)

    def _distribution(self, at: Array, atoms: Array, probabilities: Array) -> Array:
        """Return the distribution function with atoms, at arguments (cells, m) on the power scale."""
        arguments = Arguments(at.reshape(-1), self.density, np.arange(len(at) + 1) * at.shape[1])
        found = self.inner.probability(arguments).reshape(at.shape)
        found *= 1.0 - probabilities.sum(axis=1, keepdims=True)
        for k, atom in enumerate(self.scale.forward(atoms)):
            found += probabilities[:, k, None] * (atom <= at)
        return found

    def _forward(self, arguments: Arguments) -> Arguments:
        return arguments._replace(at=self.scale.forward(arguments.at))
