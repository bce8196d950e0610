"""What the broad world holds and how often: kinds of densities, ways in which bounds are told, sample sizes.

Uniform numbers enter, one for each task; whole numbers leave.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array, Index
from amortized_kde.errors import InvalidParameterError

# Both natural bounds are known; one; none; both are given, but far wider than the data.
TOLD = ("both", "one", "none", "wide")
BOTH, ONE, NONE, WIDE = range(len(TOLD))

# Two natural bounds; one; none; either one or two, as told; none, or one where one is told.
_TWO, _HALF, _LINE = (0.6, 0.1, 0.2, 0.1), (0.0, 0.6, 0.3, 0.1), (0.0, 0.05, 0.8, 0.15)
_TABLE = {
    "mixture": (0.42, _TWO),
    "family": (0.24, _TWO),
    "uniform": (0.05, _TWO),
    "lognormal": (0.05, _HALF),
    "gamma": (0.04, _HALF),
    "pareto": (0.03, _HALF),
    "student": (0.05, _LINE),
    "exponentials": (0.04, _HALF),
    "singular": (0.02, (0.3, 0.3, 0.25, 0.15)),
    "multiscale": (0.04, _LINE),
    "outliers": (0.02, (0.0, 0.15, 0.7, 0.15)),
}

KINDS = tuple(_TABLE)
WEIGHTS = np.array([weight for weight, _ in _TABLE.values()])
TOLD_SHARES = np.array([shares for _, shares in _TABLE.values()])

# One task in four has n uniform on 5 .. 256, the others log-uniform on 1 .. 4096.
_UNIFORM_SHARE, _UNIFORM_SIZES, _LARGEST = 0.25, range(5, 257), 4096


def choose_kinds(u: Array, kinds: Sequence[str] | None, told: Sequence[int] | None) -> Index:
    """Choose a kind for each uniform number, of the ones allowed that can be told as allowed.

    Raises
    ------
    InvalidParameterError
        If a name or a number is unknown, or no kind is left.
    """
    allowed = _allowed(kinds, told)
    weights = np.where(allowed.any(axis=1), WEIGHTS, 0.0)
    return _pick(u, np.broadcast_to(weights, (u.size, weights.size)))


def choose_told(
    u: Array, chosen: Index, sizes: Index, *, kinds: Sequence[str] | None, told: Sequence[int] | None
) -> Index:
    """Choose how bounds are told; one value alone, which says nothing of its scale, always comes with a bound."""
    shares = np.where(_allowed(kinds, told), TOLD_SHARES, 0.0)[chosen]
    single = sizes == 1
    shares[single, NONE] = 0.0
    nothing_left = shares.sum(axis=1) == 0.0
    shares[nothing_left] = TOLD_SHARES[chosen[nothing_left]]
    shares[nothing_left, NONE] = 0.0
    return _pick(u, shares)


def choose_sizes(u: Array, *, large: float = 1.0) -> Index:
    """Choose n for each uniform number; n above 256 comes `large` times as often as a log-uniform law has it."""
    few = _UNIFORM_SIZES.start + np.floor(u / _UNIFORM_SHARE * len(_UNIFORM_SIZES))
    rest = np.clip((u - _UNIFORM_SHARE) / (1.0 - _UNIFORM_SHARE), 0.0, 1.0)
    rest = _tilted(rest, math.log(_UNIFORM_SIZES.stop) / math.log(_LARGEST + 1.0), large)
    many = np.minimum(np.floor(np.exp(rest * math.log(_LARGEST + 1.0))), _LARGEST)
    return np.where(u < _UNIFORM_SHARE, few, many).astype(np.int64)


def _tilted(u: Array, edge: float, factor: float) -> Array:
    """Uniform numbers with those above `edge` made `factor` times as frequent, and both parts uniform."""
    above = factor * (1.0 - edge)
    low = u * (edge / (1.0 - above))
    return np.where(u < 1.0 - above, low, 1.0 - (1.0 - u) / factor)


def _allowed(kinds: Sequence[str] | None, told: Sequence[int] | None) -> NDArray[np.bool_]:
    """Which pairs of a kind and a way of telling (kinds, ways) may be drawn."""
    unknown = [name for name in kinds or () if name not in KINDS]
    unknown_told = [way for way in told or () if way not in range(len(TOLD))]
    if unknown or unknown_told:
        raise InvalidParameterError(
            f"There is no kind {unknown} or way of telling {unknown_told}; kinds are {', '.join(KINDS)}, ways 0 to 3."
        )
    pairs = TOLD_SHARES > 0.0
    pairs &= np.array([kinds is None or name in kinds for name in KINDS])[:, None]
    pairs &= np.array([told is None or way in told for way in range(len(TOLD))])
    if not pairs.any():
        raise InvalidParameterError(f"No task is left with kinds {kinds} and bounds told as in {told}.")
    return pairs


def _pick(u: Array, weights: Array) -> Index:
    """The index in each row of weights that a uniform number falls to."""
    edges = np.cumsum(weights, axis=1)
    chosen = (u[:, None] * edges[:, -1:] >= edges).sum(axis=1)
    return np.minimum(chosen, weights.shape[1] - 1)
