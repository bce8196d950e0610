"""The probability of a box under a density that is made of parts, by a randomised lattice rule.

For a normal component the probability is an integral over d - 1 uniform numbers (Genz 1992); one more chooses the
component, and one the scale of Student's t. The numbers are Richtmyer's lattice with random shifts, and the standard
error over the shifts says how accurate the result is.
"""

import math
from collections.abc import Sequence

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.density.components import Components, Part
from amortized_kde.errors import PrecisionError

# Square roots of primes generate the lattice.
_GENERATORS = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0])
_SHIFTS = 12
# The error is this many standard errors over the shifts.
_ERRORS = 3.5
_FEWEST, _MOST = 1 << 9, 1 << 17


def box_probability(parts: Sequence[Part], lower: Array, upper: Array, error: float) -> float:
    """Return the probability between `lower` and `upper`, of shape (d,), with at most this absolute error.

    Raises
    ------
    PrecisionError
        If the error would be larger even with a million function values.
    """
    if not np.all(lower < upper):
        return 0.0
    inner = [(_inner(part, lower), _inner(part, upper)) for part in parts]
    count = _FEWEST
    while count <= _MOST:
        # Seeded, so that the same box has the same probability.
        rng = np.random.default_rng(0)
        found = sum(
            part.weight * _estimates(part.components, *ends, count, rng)
            for part, ends in zip(parts, inner, strict=True)
        )
        if _ERRORS * float(np.std(found, ddof=1)) / math.sqrt(_SHIFTS) <= error:
            return float(np.clip(np.mean(found), 0.0, 1.0))
        count *= 4
    raise PrecisionError(
        f"the probability of this box cannot be computed to {error:g}; take a larger error, or count draws inside it."
    )


def _inner(part: Part, ends: Array) -> Array:
    """The ends of a box in the components' coordinates."""
    if part.margins is None:
        return ends
    out = ends.copy()
    for j, map_ in enumerate(part.maps):
        if map_.knots[0] < ends[j] < map_.knots[-1]:
            out[j] = map_.forward(ends[[j]])[0][0]
        else:
            out[j] = -math.inf if ends[j] <= map_.knots[0] else math.inf
    return out


def _estimates(mixture: Components, lower: Array, upper: Array, count: int, rng: np.random.Generator) -> Array:
    """One estimate for each random shift of the lattice."""
    d = mixture.dimension
    order = np.argsort(mixture.means[:, 0], kind="stable")
    cumulative = np.cumsum(mixture.weights[order])
    steps = np.arange(count)[:, None] * _GENERATORS[: d + 1]
    out = np.empty(_SHIFTS)
    for k in range(_SHIFTS):
        u = (steps + rng.random(d + 1)) % 1.0
        chosen = order[np.minimum(np.searchsorted(cumulative, u[:, 0] * cumulative[-1]), order.size - 1)]
        # Folding makes the integrand periodic, as lattices need it.
        out[k] = np.mean(_products(mixture, chosen, lower, upper, np.abs(2.0 * u[:, 1:] - 1.0)))
    return out


def _products(mixture: Components, chosen: Index, lower: Array, upper: Array, u: Array) -> Array:
    """Products of the probabilities of every axis, given those before it."""
    from scipy.special import gammaincinv, ndtr, ndtri

    dofs, sizes = mixture.dofs[chosen], mixture.sizes[chosen]
    student = np.isfinite(dofs)
    if student.any():
        half = 0.5 * dofs[student]
        sizes[student] *= np.sqrt(half / gammaincinv(half, u[student, -1]))
    factors = mixture.factors[mixture.shape_of[chosen]]
    away = [(ends - mixture.means[chosen]) / sizes[:, None] for ends in (lower, upper)]
    d = mixture.dimension
    y, product = np.zeros((chosen.size, d)), np.ones(chosen.size)
    for j in range(d):
        centre = np.einsum("ck,ck->c", factors[:, j, :j], y[:, :j])
        low, high = ((ends[:, j] - centre) / factors[:, j, j] for ends in away)
        # In the upper half the mirrored interval is the accurate one.
        mirrored = low > 0.0
        low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
        below, mass = ndtr(low), ndtr(high) - ndtr(low)
        product *= mass
        if j + 1 < d:
            at = np.clip(ndtri(below + u[:, j] * mass), np.maximum(low, -40.0), np.minimum(high, 40.0))
            y[:, j] = np.where(mirrored, -at, at)
    return product
