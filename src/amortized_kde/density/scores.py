r"""Normal scores of one variable: an increasing map z(x) that makes its density close to the standard normal one.

It interpolates :math:`z = \Phi^{-1}(F(x))` of a one-dimensional density with distribution function F by cubic pieces
between knots. A density of z becomes one of x with the derivative of the map itself, so that its total mass is 1
however accurate the interpolation is.
"""

import math
from dataclasses import dataclass

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.density.kernel_density import KernelDensity

# The map ends here: 6e-16 of the probability lies beyond on each side, where z is constant.
FARTHEST = 8.0
# The first knots: some points, and steps beyond them. Intervals are halved until the map and the mass between two knots
# agree with those of the halves this closely.
_POINTS = 17
_HALVES = 0.25 ** np.arange(26)
# Knots are at least this many spacings of float64 apart, so that there are numbers between them.
_CLOSEST = 8.0
_SCORE_AGREEMENT, _MASS_AGREEMENT = 1e-5, 1e-6
# Rounds of halving, which narrow an interval by a factor of a thousand, and knots in all.
_ROUNDS, _MOST_KNOTS = 10, 20_000
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)
# Slopes up to three times the secants on both sides keep a cubic increasing (Fritsch and Carlson 1980).
_STEEPEST, _FLATTEST = 2.99, 1e-9
_LOG_ROOT_2_PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class NormalScores:
    """An increasing map of a variable to normal scores.

    Attributes
    ----------
    margin : KernelDensity
        The density whose scores they are.
    knots, scores, slopes : ndarray of shape (m,)
        Ascending values of the variable, and there the map and its derivative.
    """

    margin: KernelDensity
    knots: Array
    scores: Array
    slopes: Array

    @classmethod
    def of(cls, margin: KernelDensity) -> "NormalScores":
        """Return the map of a density."""
        knots, scores = _refined(margin, _first_knots(margin))
        # A few roundings apart, knots or scores can be equal.
        rising = np.append(True, (scores[1:] > np.maximum.accumulate(scores)[:-1]) & (knots[1:] > knots[:-1]))
        knots, scores = knots[rising], scores[rising]
        return cls(margin, knots, scores, _increasing(knots, scores, _slopes(margin, knots, scores)))

    def forward(self, x: Array) -> tuple[Array, Array]:
        """Return the scores of values inside the bounds, and the logarithm of the map's derivative."""
        i = np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, self.knots.size - 2)
        width = self.knots[i + 1] - self.knots[i]
        t = np.clip((x - self.knots[i]) / width, 0.0, 1.0)
        a, b, c, e = self._cubics(i)
        z, slope = a + t * (b + t * (c + t * e)), (b + t * (2.0 * c + t * 3.0 * e)) / width
        log_slope = np.log(slope)
        outside = (x < self.knots[0]) | (x > self.knots[-1])
        if outside.any():
            # The score stays the same, and the density falls as that of the margin.
            ends = 0.5 * z[outside] ** 2 + _LOG_ROOT_2_PI
            log_slope[outside] = np.asarray(self.margin.logpdf(x[outside])) + ends
        return z, log_slope

    def inverse(self, z: Array) -> Array:
        """Return the values with these scores, by bisection and Newton's method; scores beyond the map are its ends."""
        at = np.clip(z, self.scores[0], self.scores[-1])
        i = np.clip(np.searchsorted(self.scores, at, side="right") - 1, 0, self.scores.size - 2)
        a, b, c, e = self._cubics(i)
        low, high = np.zeros(at.shape), np.ones(at.shape)
        t = (at - self.scores[i]) / (self.scores[i + 1] - self.scores[i])
        for _ in range(60):
            off = a + t * (b + t * (c + t * e)) - at
            low, high = np.where(off <= 0.0, t, low), np.where(off >= 0.0, t, high)
            step = t - off / (b + t * (2.0 * c + t * 3.0 * e))
            new = np.where((step > low) & (step < high), step, 0.5 * (low + high))
            if np.all(np.abs(new - t) <= 1e-14):
                break
            t = new
        return self.knots[i] + t * (self.knots[i + 1] - self.knots[i])

    def _cubics(self, i: Index) -> tuple[Array, Array, Array, Array]:
        """Coefficients of 1, t, t^2 and t^3 of the pieces that begin at knots i."""
        width, rise = self.knots[i + 1] - self.knots[i], self.scores[i + 1] - self.scores[i]
        first, last = self.slopes[i] * width, self.slopes[i + 1] * width
        return self.scores[i], first, 3.0 * rise - 2.0 * first - last, first + last - 2.0 * rise


def _first_knots(margin: KernelDensity) -> Array:
    """The ends of the map, some of the points, and steps between these that shrink towards a bound or the points."""
    from scipy.special import ndtr

    tail = float(ndtr(-FARTHEST))
    ends = float(margin.ppf(tail, threads=1)), float(margin.isf(tail, threads=1))
    points = margin.points[np.linspace(0, margin.points.size - 1, _POINTS).astype(np.int64)]
    found = [np.array(ends), points[(points > ends[0]) & (points < ends[1])]]
    for end, limit in zip(ends, margin.support(), strict=True):
        nearest = points[np.argmin(np.abs(points - end))]
        found += [nearest + (end - nearest) * _HALVES]
        if math.isfinite(limit):
            found += [limit + (nearest - limit) * _HALVES]
    knots = np.unique(np.concatenate(found))
    knots = knots[(knots >= ends[0]) & (knots <= ends[1])]
    kept = [knots[0]]
    for knot in knots[1:]:
        if knot - kept[-1] > _CLOSEST * np.spacing(max(abs(knot), abs(kept[-1]))):
            kept.append(knot)
    return np.array(kept)


def _refined(margin: KernelDensity, knots: Array) -> tuple[Array, Array]:
    """Knots halved where needed, and the scores there, from the mass between knots, summed from both ends."""
    ends = np.asarray(margin.cdf(knots[0], threads=1)), np.asarray(margin.sf(knots[-1], threads=1))
    low, high = knots[:-1], knots[1:]
    masses, done_low, done_mass = _masses(margin, low, high), np.empty(0), np.empty(0)
    for _ in range(_ROUNDS):
        middle = 0.5 * (low + high)
        first, second = _masses(margin, low, middle), _masses(margin, middle, high)
        split = np.abs(first + second - masses) > _MASS_AGREEMENT * (first + second)
        split |= _bends(margin, low, middle, high, first, second, (done_low, done_mass), ends)
        split &= high - low > 2.0 * _CLOSEST * np.spacing(np.maximum(np.abs(low), np.abs(high)))
        kept = ~split
        done_low = np.concatenate([done_low, low[kept], middle[kept]])
        done_mass = np.concatenate([done_mass, first[kept], second[kept]])
        low, high = np.append(low[split], middle[split]), np.append(middle[split], high[split])
        masses = np.append(first[split], second[split])
        if low.size == 0 or done_low.size + low.size > _MOST_KNOTS:
            break
    starts, parts = np.append(done_low, low), np.append(done_mass, masses)
    order = np.argsort(starts)
    at = np.append(starts[order], knots[-1])
    return at, _scores(parts[order], *ends)


def _bends(
    margin: KernelDensity,
    low: Array,
    middle: Array,
    high: Array,
    first: Array,
    second: Array,
    done: tuple[Array, Array],
    ends: tuple[Array, Array],
) -> Flags:
    """Whether the map differs at the middle of an interval from the cubic between its ends."""
    starts = np.concatenate([done[0], low, middle])
    order = np.argsort(starts)
    z = _scores(np.concatenate([done[1], first, second])[order], *ends)
    place = np.empty(starts.size, np.int64)
    place[order] = np.arange(starts.size)
    at_low = place[done[0].size : done[0].size + low.size]
    left, centre, right = z[at_low], z[at_low + 1], z[at_low + 2]
    slopes = _slopes(margin, np.append(low, high), np.append(left, right)) * np.tile(high - low, 2)
    guess = 0.5 * (left + right) + 0.125 * (slopes[: low.size] - slopes[low.size :])
    return np.asarray(np.abs(guess - centre) > _SCORE_AGREEMENT)


def _masses(margin: KernelDensity, low: Array, high: Array) -> Array:
    half = 0.5 * (high - low)
    at = (low + half)[:, None] + half[:, None] * _NODES
    return np.asarray(margin.pdf(at, threads=1) @ _WEIGHTS * half)


def _scores(masses: Array, below: Array, above: Array) -> Array:
    """Scores at all knots, from the masses between them and beyond the ends."""
    from scipy.special import ndtri

    lower = np.cumsum(np.append(below, masses))
    upper = np.cumsum(np.append(above, masses[::-1]))[::-1]
    total = lower + upper
    return np.asarray(np.where(lower <= upper, ndtri(lower / total), -ndtri(upper / total)))


def _slopes(margin: KernelDensity, x: Array, z: Array) -> Array:
    """The derivative of the exact map, f(x) / phi(z)."""
    return np.asarray(np.exp(margin.logpdf(x, threads=1) + 0.5 * z * z + _LOG_ROOT_2_PI))


def _increasing(knots: Array, scores: Array, slopes: Array) -> Array:
    """Slopes, limited so that every piece is increasing."""
    secants = np.diff(scores) / np.diff(knots)
    nearest = np.minimum(np.append(secants, secants[-1]), np.append(secants[0], secants))
    return np.clip(slopes, _FLATTEST * nearest, _STEEPEST * nearest)
