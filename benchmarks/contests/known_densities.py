"""Densities that are known exactly, with seeded samples and the expected score of any estimate of them.

`simple_bounded` has four with known bounds; the Marron-Wand densities are in `marron_wand`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array
from amortized_kde.score import LN2

Limits = tuple[float | None, float | None]
LogDensity = Callable[[Array], Array]
Rng = np.random.Generator

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
# A panel is halved until that changes the score by less than this many bits: the error of both halves is then a small
# part of it, and some hundred panels together miss less than 1e-5 bits.
_TOLERANCE = 3e-7
_MOST_HALVINGS = 40

_UNIT = (0.0, 1.0)
# Fifty even panels, and ever shorter ones towards both ends, where the density may vanish.
_HALVES = 0.5 ** np.arange(1.0, 30.0)
_UNIT_ENDS = np.unique(np.concatenate([np.linspace(0.0, 1.0, 51), _HALVES, 1.0 - _HALVES]))
# Beyond 60 the exponential has less than 1e-26 of its mass.
_LINE_ENDS = np.unique(np.concatenate([np.linspace(0.0, 60.0, 241), np.linspace(0.0, 6.0, 121)]))


@dataclass(frozen=True, eq=False)
class KnownDensity:
    """A density with the bounds that estimators get.

    ``draw(replicates, n, seed)`` returns (replicates, n), the same for the same seed. Between neighbouring `ends` the
    log-density is smooth enough for ten Gauss-Legendre nodes; the mass outside them is negligible.
    """

    name: str
    bounds: Limits
    logpdf: LogDensity
    draw: Callable[[int, int, int], Array]
    ends: Array


class Rule(NamedTuple):
    """Points (m,) and weights (m,) of a quadrature of expectations under a known density; the weights sum to 1."""

    points: Array
    weights: Array


def panel_rule(known: KnownDensity) -> Rule:
    """Return Gauss-Legendre nodes on the panels, weighted by the density: for estimates that are smooth on them."""
    points, lengths = _nodes(known.ends[:-1], known.ends[1:])
    return Rule(points.ravel(), (lengths * np.exp(known.logpdf(points.ravel())).reshape(points.shape)).ravel())


def true_score(known: KnownDensity) -> float:
    """Return the expected score of the true density in bits: its differential entropy."""
    return expected_score(known.logpdf, known)


def expected_score(log_density: LogDensity, known: KnownDensity) -> float:
    r"""Return the expected score :math:`-\int f(x) \log_2 q(x) dx` of an estimate q under a known density f, in bits.

    Panels are halved until the Gauss-Legendre sums of both halves agree with that of the whole, so narrow kernels cost
    time and not accuracy: the error is about 1e-5 bits. Panels must not end halfway between two points of the sample,
    where narrow kernels give log q a sharp bend: the nodes would miss it.

    Parameters
    ----------
    log_density : callable
        Natural logarithm of q at an array of points.
    known : KnownDensity
        The truth f.

    Returns
    -------
    float
        Infinity if q is zero at a node; NaN if it is NaN at one.

    Examples
    --------
    >>> from contests.marron_wand import marron_wand
    >>> gaussian = marron_wand()[0]
    >>> round(expected_score(lambda x: np.full(x.shape, -math.log(8.0)), gaussian), 12)
    3.0
    """

    def integrand(x: Array) -> Array:
        f = np.exp(known.logpdf(x))
        # Where f underflows, an infinite score counts for nothing.
        return np.where(f > 0.0, f * log_density(x), 0.0) / -LN2

    with np.errstate(invalid="ignore"):
        return _integral(integrand, known.ends[:-1], known.ends[1:])


def _integral(f: LogDensity, low: Array, high: Array) -> float:
    """Integrate by halving panels until the sums agree."""
    whole, done = _sums(f, low, high), 0.0
    for _ in range(_MOST_HALVINGS):
        if not np.isfinite(whole).all():
            return float(np.sum(whole)) + done
        middle = 0.5 * (low + high)
        left, right = _sums(f, low, middle), _sums(f, middle, high)
        again = np.abs(left + right - whole) > _TOLERANCE
        done += math.fsum((left + right)[~again])
        low, high = np.concatenate([low[again], middle[again]]), np.concatenate([middle[again], high[again]])
        whole = np.concatenate([left[again], right[again]])
        if not again.any():
            break
    return done + math.fsum(whole)


def _sums(f: LogDensity, low: Array, high: Array) -> Array:
    points, lengths = _nodes(low, high)
    return np.asarray(np.sum(f(points.ravel()).reshape(points.shape) * lengths, axis=1))


def _nodes(low: Array, high: Array) -> tuple[Array, Array]:
    """Nodes and weights (panels, 10) of every panel."""
    half, centre = 0.5 * (high - low)[:, None], 0.5 * (high + low)[:, None]
    return centre + half * _NODES, half * _WEIGHTS


def simple_bounded() -> tuple[KnownDensity, ...]:
    """Return uniform, triangular and Beta(2, 2) on [0, 1], and the exponential with only its lower bound known.

    Examples
    --------
    >>> [known.name for known in simple_bounded()]
    ['uniform', 'exponential', 'triangular', 'beta(2, 2)']
    """
    return (
        KnownDensity("uniform", _UNIT, np.zeros_like, _drawing(1, lambda rng, shape: rng.random(shape)), _UNIT_ENDS),
        KnownDensity(
            "exponential",
            (0.0, None),
            np.negative,
            _drawing(2, lambda rng, shape: rng.exponential(size=shape)),
            _LINE_ENDS,
        ),
        KnownDensity(
            "triangular",
            _UNIT,
            _triangular,
            _drawing(3, lambda rng, shape: rng.triangular(0.0, 0.5, 1.0, shape)),
            _UNIT_ENDS,
        ),
        KnownDensity("beta(2, 2)", _UNIT, _beta, _drawing(4, lambda rng, shape: rng.beta(2.0, 2.0, shape)), _UNIT_ENDS),
    )


def _triangular(x: Array) -> Array:
    return np.asarray(math.log(4.0) + np.log(np.minimum(x, 1.0 - x)))


def _beta(x: Array) -> Array:
    return np.asarray(math.log(6.0) + np.log(x) + np.log1p(-x))


def _drawing(number: int, draw: Callable[[Rng, tuple[int, int]], Array]) -> Callable[[int, int, int], Array]:
    """Draw from a generator that depends on the density's number and the seed."""
    return lambda replicates, n, seed: draw(np.random.default_rng([seed, number]), (replicates, n))
