"""What the broad world holds and how often: kinds of densities, known bounds and sample sizes."""

import math
from collections.abc import Sequence

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.errors import InvalidParameterError

# The estimator knows both natural bounds; one; none; or two bounds that are far wider than the data.
KNOWN_BOUNDS = ("both", "one", "none", "wide")
BOTH, ONE, NONE, WIDE = range(len(KNOWN_BOUNDS))

# Probabilities of the known bounds for densities with two natural bounds, with one, and on the whole line.
_TWO, _HALF, _LINE = (0.6, 0.1, 0.2, 0.1), (0.0, 0.6, 0.3, 0.1), (0.0, 0.05, 0.8, 0.15)
# A singular density has two natural bounds where both are known; one with outliers has one where one is known.
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
# Kinds whose densities have two natural bounds, known or not.
COMPACT = tuple(name for name, (_, probabilities) in _TABLE.items() if probabilities == _TWO)
KIND_PROBABILITIES = np.array([probability for probability, _ in _TABLE.values()])
KNOWN_BOUNDS_PROBABILITIES = np.array([probabilities for _, probabilities in _TABLE.values()])

# One task in four has n uniform on 5 .. 256, the others log-uniform on 1 .. 4096.
_UNIFORM_PROBABILITY, _UNIFORM_SIZES, _LARGEST_SIZE = 0.25, range(5, 257), 4096


def allowed_pairs(kinds: Sequence[str] | None, known_bounds: Sequence[int] | None) -> Flags:
    """Return which pairs of a kind and known bounds, (kinds, 4), are left by a choice of either.

    Raises
    ------
    InvalidParameterError
        If a kind or known bounds do not exist, or no pair is left.
    """
    unknown_kinds = [name for name in kinds or () if name not in KINDS]
    unknown_bounds = [way for way in known_bounds or () if way not in range(len(KNOWN_BOUNDS))]
    if unknown_kinds or unknown_bounds:
        raise InvalidParameterError(
            f"unknown kinds {unknown_kinds} or known bounds {unknown_bounds}: kinds are {', '.join(KINDS)}; "
            f"known bounds are 0 to {len(KNOWN_BOUNDS) - 1}."
        )
    pairs = KNOWN_BOUNDS_PROBABILITIES > 0.0
    pairs &= np.array([kinds is None or name in kinds for name in KINDS])[:, None]
    pairs &= np.array([known_bounds is None or way in known_bounds for way in range(len(KNOWN_BOUNDS))])
    if not pairs.any():
        raise InvalidParameterError(f"no task of the kinds {kinds} has the known bounds {known_bounds}.")
    return pairs


def choose_kinds(u: Array, allowed: Flags) -> Index:
    """Return a kind for each uniform number, from those with an allowed pair."""
    probabilities = np.where(allowed.any(axis=1), KIND_PROBABILITIES, 0.0)
    return _pick(u, np.broadcast_to(probabilities, (u.size, probabilities.size)))


def choose_known_bounds(u: Array, kinds: Index, sizes: Index, allowed: Flags) -> Index:
    """Return known bounds for each uniform number; one value alone has no scale and always gets a bound."""
    probabilities = np.where(allowed, KNOWN_BOUNDS_PROBABILITIES, 0.0)[kinds]
    probabilities[sizes == 1, NONE] = 0.0
    nothing_left = probabilities.sum(axis=1) == 0.0
    probabilities[nothing_left] = KNOWN_BOUNDS_PROBABILITIES[kinds[nothing_left]]
    probabilities[nothing_left, NONE] = 0.0
    return _pick(u, probabilities)


def choose_sizes(u: Array, *, large: float = 1.0) -> Index:
    """Return n for each uniform number; n above 256 is `large` times as likely as under the log-uniform law."""
    few = _UNIFORM_SIZES.start + np.floor(u / _UNIFORM_PROBABILITY * len(_UNIFORM_SIZES))
    rest = np.clip((u - _UNIFORM_PROBABILITY) / (1.0 - _UNIFORM_PROBABILITY), 0.0, 1.0)
    rest = _tilted(rest, math.log(_UNIFORM_SIZES.stop) / math.log(_LARGEST_SIZE + 1.0), large)
    many = np.minimum(np.floor(np.exp(rest * math.log(_LARGEST_SIZE + 1.0))), _LARGEST_SIZE)
    return np.where(u < _UNIFORM_PROBABILITY, few, many).astype(np.int64)


def _tilted(u: Array, edge: float, factor: float) -> Array:
    """Make uniform numbers above `edge` `factor` times as frequent, both parts staying uniform."""
    above = factor * (1.0 - edge)
    low = u * (edge / (1.0 - above))
    return np.where(u < 1.0 - above, low, 1.0 - (1.0 - u) / factor)


def _pick(u: Array, probabilities: Array) -> Index:
    """Return the index in each row of probabilities, up to a factor, that a uniform number falls on."""
    edges = np.cumsum(probabilities, axis=1)
    chosen = (u[:, None] * edges[:, -1:] >= edges).sum(axis=1)
    return np.minimum(chosen, probabilities.shape[1] - 1)
