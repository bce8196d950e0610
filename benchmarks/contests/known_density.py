"""A density that is known exactly, with seeded samples from it and the exact expected score of any estimate of it.

A log-density, a way to draw and the ends of panels enter; samples, and scores in bits, leave. Which densities are
worth knowing, and who estimates them, is not known here.
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

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
# A panel is done if halving it changes the score by less than this many bits: then the error of both halves is a small
# part of that, and some hundred panels together miss less than 1e-5 bits.
_TOLERANCE = 3e-7
_MOST_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class KnownDensity:
    """A density with the bounds that estimators are told.

    ``draw(replicates, n, seed)`` gives (replicates, n), the same for the same seed. Between neighbouring `ends` the
    log-density is smooth enough for ten Gauss-Legendre nodes; outside the first and the last there is nothing to count.
    """

    name: str
    bounds: Limits
    logpdf: LogDensity
    draw: Callable[[int, int, int], Array]
    ends: Array


class Rule(NamedTuple):
    """Points (m,) and weights (m,) that sum to 1: expectations under a known density, as sums."""

    points: Array
    weights: Array


def panel_rule(known: KnownDensity) -> Rule:
    """Give Gauss-Legendre nodes on the panels, weighted with the density: for estimates that are smooth on them."""
    points, lengths = _nodes(known.ends[:-1], known.ends[1:])
    return Rule(points.ravel(), (lengths * np.exp(known.logpdf(points.ravel())).reshape(points.shape)).ravel())


def true_score(known: KnownDensity) -> float:
    """Give the expected score of the truth itself, in bits: its differential entropy."""
    return expected_score(known.logpdf, known)


def expected_score(log_density: LogDensity, known: KnownDensity) -> float:
    r"""Give the expected score :math:`-\int f(x) \log_2 q(x) dx` of an estimate q under a known density f, in bits.

    Panels are halved until the Gauss-Legendre sums of both halves agree with that of the whole, so narrow kernels cost
    time and not accuracy: the error is about 1e-5 bits. (Panels do not begin halfway between the points of a sample,
    where narrow kernels give log q sharp bends: a bend at the very end of a panel escapes its nodes.)

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
    """Halve panels until nothing changes."""
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
