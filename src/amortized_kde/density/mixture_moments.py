"""Mean and covariance of a density that is made of parts.

Parts in data units have closed forms. Those of normal scores have none: means and variances are integrals over the
pieces of each variable's map, and correlations come from draws.
"""

import math
from collections.abc import Sequence

import numpy as np

from amortized_kde._types import Array
from amortized_kde.density.components import Components, Part
from amortized_kde.density.draws import draw_from_parts

# Draws behind the correlations of normal scores; their standard error is at most 1/256.
_DRAWS = 1 << 16
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
# Pieces of a map at most this many of the narrowest component's sizes long are integrated with eight nodes.
_LONGEST = 2.0
_MOST_PIECES = 20_000


def mean_and_covariance(parts: Sequence[Part]) -> tuple[Array, Array]:
    """Return the mean (d,) and the covariance (d, d); NaN or infinite where a component has none."""
    weights = np.array([part.weight for part in parts])
    found = [_raw_moments(part.components) if part.margins is None else _score_moments(part) for part in parts]
    means = np.stack([mean for mean, _ in found])
    mean = weights @ means
    covariance = np.einsum("f,fij->ij", weights, np.stack([one for _, one in found]))
    return mean, covariance + (weights[:, None] * (means - mean)).T @ (means - mean)


def _raw_moments(components: Components) -> tuple[Array, Array]:
    """Moments of a mixture: a t has a mean from one, and a covariance from two degrees of freedom on."""
    dofs = components.dofs
    d, least = components.dimension, dofs.min()
    mean = components.mean if least > 1.0 else np.full(d, math.nan)
    if least <= 2.0:
        return mean, np.where(np.eye(d) > 0.0, math.inf, math.nan)
    finite = np.where(np.isfinite(dofs), dofs, 4.0)
    return mean, components.covariance(np.where(np.isfinite(dofs), finite / (finite - 2.0), 1.0))


def _score_moments(part: Part) -> tuple[Array, Array]:
    d = part.components.dimension
    each = [_axis_moments(part.marginal([axis])) for axis in range(d)]
    mean, sd = np.array([one for one, _ in each]), np.sqrt([two for _, two in each])
    if d == 1:
        return mean, np.array([[sd[0] ** 2]])
    # Seeded, so that the same density has the same covariance.
    draws = draw_from_parts([part], _DRAWS, np.random.default_rng(0), even=True)
    return mean, np.corrcoef(draws.T) * np.outer(sd, sd)


def _axis_moments(part: Part) -> tuple[float, float]:
    """Mean and variance of one variable, by quadrature over the pieces of its map."""
    map_, mixture = part.maps[0], part.components
    scale = mixture.sizes * mixture.factors[mixture.shape_of, 0, 0]
    longest = max(_LONGEST * float(scale.min()), 2.0 * float(map_.scores[-1]) / _MOST_PIECES)
    pieces = np.maximum(np.ceil(np.diff(map_.scores) / longest), 1.0).astype(np.int64)
    low = np.repeat(map_.knots[:-1], pieces)
    width = np.repeat(np.diff(map_.knots) / pieces, pieces)
    low = low + width * (np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces))
    at = (low[:, None] + 0.5 * width[:, None] * (1.0 + _NODES)).ravel()
    masses = np.exp(part.log_density(at[:, None])) * (0.5 * width[:, None] * _WEIGHTS).ravel()
    centre = float(np.sum(masses * at) / masses.sum())
    return centre, float(np.sum(masses * (at - centre) ** 2) / masses.sum())
