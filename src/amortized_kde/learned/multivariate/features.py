"""What the network reads of a sample in several dimensions: how well every candidate predicts points left out."""

from dataclasses import dataclass

import numpy as np

from amortized_kde._types import Array
from amortized_kde.learned.multivariate.experts import COLUMNS, Copula, Experts, fit_experts
from amortized_kde.learned.multivariate.frames import Frame, own_part

# Left-out densities are evaluated at this many points at most.
MOST_LEFT_OUT = 512
# Log-ratios of densities beyond these say no more than that a candidate is bad, or best, here.
LOWEST, _HIGHEST = -12.0, 6.0
# Inputs of the network for every candidate, and for the sample.
FEATURES, WHOLE = 4, 4
_STEPS = 40
# Points that the prior of the stacked weights is worth.
_PRIOR = 1.0


@dataclass(frozen=True, eq=False)
class Described:
    """A sample in one frame: its candidates, and their log-densities (a, COLUMNS) at points left out, in data units."""

    frame: Frame
    experts: Experts
    left_out: Array

    def logs(self, x: Array) -> Array:
        """Return log-densities of all candidates at new points in data units, of shape (m, COLUMNS)."""
        y, log_jacobian = self.frame.coordinates(x)
        return self.experts.logs(y) + log_jacobian[:, None]


def describe(x: Array, weights: Array, frame: Frame) -> Described:
    """Describe a sample (n, d) in a frame; if it is large, its first points stand for all.

    Mixtures are not fitted again without a point, so that their left-out densities are a little too high; what that
    amounts to, the network learns.
    """
    y, log_jacobian = frame.coordinates(x)
    if frame.margins is not None:
        log_jacobian = log_jacobian - own_part(x, frame.margins)
    experts = fit_experts(y, weights, _copula(y, weights, frame))
    chosen = np.arange(min(len(x), MOST_LEFT_OUT))
    return Described(frame, experts, experts.logs_left_out(chosen) + log_jacobian[chosen, None])


def _copula(y: Array, weights: Array, frame: Frame) -> Copula | None:
    """The correlations of normal scores around 0; none of data."""
    if frame.margins is None:
        return None
    z = frame.mean + y @ frame.factor.T
    scale = np.sqrt(weights @ z**2)
    z /= scale
    # The scores of a margin have unit variance, so that with no correlations this is the product of the margins.
    return Copula(frame.factor, frame.mean, float(np.sum(np.log(np.diag(frame.factor)))), (z.T * weights) @ z)


def nothing(count: int) -> Array:
    """Return left-out log-densities (count, COLUMNS) of a frame that is not used."""
    return np.full((count, COLUMNS), -np.inf)


def stack(logs: Array, masses: Array, size: float) -> tuple[Array, Array]:
    """Return weights of densities that maximise the left-out likelihood, by EM, and the log-density of their sum.

    `logs` (a, e); `masses` (a,) sum to 1; `size` is the sample's effective size.
    """
    top = logs.max(axis=1, keepdims=True)
    density = np.exp(logs - top)
    usable = np.isfinite(logs).any(axis=0)
    weights = usable / usable.sum()
    for _ in range(_STEPS):
        weights = weights * ((masses / (density @ weights)) @ density)
        weights = (size * weights + _PRIOR * usable / usable.sum()) / (size + _PRIOR)
    return weights, np.log(density @ weights) + top[:, 0]


def features_of(left_out: Array, masses: Array, size: float, d: int) -> tuple[Array, Array]:
    """Return the network's inputs, and the stacked weights (e,), of left-out log-densities (a, e) of both frames."""
    weights, reference = stack(left_out, masses, size)
    ratio = np.clip(left_out - reference[:, None], LOWEST, _HIGHEST)
    gain = masses @ ratio
    spread = np.sqrt(masses @ (ratio - gain) ** 2)
    whole = np.array([np.log(size), np.log(d), np.log(size) / d, 1.0 / d])
    return np.concatenate(
        [gain, np.arcsinh(size * gain), np.log(spread + 0.01), np.log(weights + 1e-5), whole]
    ), weights
