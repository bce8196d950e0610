"""The paper's propositions, judged by fresh numbers from the public functions; no table is read.

Samples come from a fixed seed, so that every report says the same. An identity holds to 1e-9 relative, the tolerance
of the laws that every selector here obeys, unless its criterion says otherwise.
"""

import math
from collections.abc import Callable
from functools import cache
from itertools import product

import numpy as np
from scipy.optimize import minimize_scalar

from amortized_kde._types import Array
from amortized_kde.density import KernelDensity
from amortized_kde.estimate import bandwidth
from amortized_kde.research.reproduction.evidence import Verdict
from amortized_kde.research.reproduction.protocol import CLASSICAL, METHODS
from amortized_kde.score import expected_score_under_normal, log_score

_SEED = 20_260
TOLERANCE = 1e-9
# At a minimum the score is flat: the bandwidth is known to the square root of what the score is known to.
MINIMISER_TOLERANCE = 1e-5
# R's bw.SJ puts the data into bins that do not move with them, and stops its root search early.
NEGLIGIBLE = 1e-2
GAUSSIAN_METHODS = (*CLASSICAL, "amortized:gaussian")
# Intervals [A, B] far from the reference interval in place and in width.
_INTERVALS = ((0.0, 1.0), (3.0, 11.0), (-2e-3, 1e-3), (1e3, 4e4))
# Shifts and scales (delta, c) of Appendix B.
_MOVES = ((0.0, 1e-3), (0.0, 1e4), (5.0, 1.0), (-3.0, 2.5), (100.0, 7.0))
_SIZES = (5, 20, 100)


def _bounded_sample(n: int) -> tuple[Array, Array]:
    """Return a sample and evaluation draws on [-1, 1] from a skewed density with mass at an end."""
    rng = np.random.default_rng([_SEED, n])
    return 2.0 * rng.beta(0.8, 2.0, n) - 1.0, 2.0 * rng.beta(0.8, 2.0, 1024) - 1.0


def _minimiser(score: Callable[[float], float]) -> float:
    """Return the bandwidth with the lowest score, between a thousandth and ten units of the reference scale."""
    found = minimize_scalar(
        lambda log_h: score(math.exp(log_h)), bounds=(math.log(1e-3), math.log(10.0)), options={"xatol": 1e-9}
    )
    return math.exp(float(found.x))


def _mean_score(sample: Array, h: float, bounds: tuple[float, float], outcomes: Array) -> float:
    return float(np.mean(log_score(KernelDensity(sample, bandwidth=h, bounds=bounds), outcomes)))


def _small(miss: float) -> str:
    """Write rounding errors as a power of ten that bounds them, because machines differ in their digits."""
    return f"{miss:.1e}" if miss > 1e-6 else f"below 1e{math.ceil(math.log10(max(miss, 1e-16)))}"


def _worst(name: str, misses: list[float], limit: float) -> Verdict:
    return Verdict(f"{name}: {_small(max(misses))} in the worst of {len(misses)} cases", max(misses) <= limit)


@cache
def proposition_1_score() -> Verdict:
    """Judge whether the bounded score on [A, B] is that on [-1, 1] plus log2 a."""
    misses = []
    for n in _SIZES:
        sample, draws = _bounded_sample(n)
        for low, high in _INTERVALS:
            middle, a = 0.5 * (low + high), 0.5 * (high - low)
            for h in (0.003, 0.1, 1.0):
                here = _mean_score(sample, h, (-1.0, 1.0), draws)
                there = _mean_score(middle + a * sample, a * h, (low, high), middle + a * draws)
                misses.append(abs(there - here - math.log2(a)) / max(1.0, abs(here)))
    return _worst("relative miss of the shift log2 a", misses, TOLERANCE)


@cache
def proposition_1_minimisers() -> Verdict:
    """Judge whether the best bandwidth scales by a."""
    misses = []
    for n in _SIZES:
        sample, draws = _bounded_sample(n)
        best = _minimiser(lambda h, x=sample, y=draws: _mean_score(x, h, (-1.0, 1.0), y))  # type: ignore[misc]
        for low, high in _INTERVALS:
            middle, a = 0.5 * (low + high), 0.5 * (high - low)
            x, y = middle + a * sample, middle + a * draws
            found = _minimiser(lambda h, x=x, y=y, a=a, ends=(low, high): _mean_score(x, a * h, ends, y))  # type: ignore[misc]
            misses.append(abs(found / best - 1.0))
    return _worst("relative miss of the minimising bandwidth's factor a", misses, MINIMISER_TOLERANCE)


def _normal_samples(n: int, count: int = 40) -> Array:
    return np.random.default_rng([_SEED, n, count]).standard_normal((count, n))


def _bandwidths(samples: Array, method: str) -> Array:
    return np.asarray(bandwidth(samples, axis=-1, method=method), np.float64)


def _normal_scores(samples: Array, h: Array, shift: float, scale: float) -> Array:
    return np.array(
        [
            expected_score_under_normal(KernelDensity(x, bandwidth=float(width)), mean=shift, sd=scale)
            for x, width in zip(samples, h, strict=True)
        ]
    )


@cache
def appendix_b_score() -> Verdict:
    """Judge whether the score of the moved sample with the scaled bandwidth is the old one plus log2 c."""
    misses = []
    for n in _SIZES:
        samples = _normal_samples(n, 5)
        for h in (0.05, 0.5):
            widths = np.full(len(samples), h)
            here = _normal_scores(samples, widths, 0.0, 1.0)
            for shift, scale in _MOVES:
                there = _normal_scores(shift + scale * samples, scale * widths, shift, scale)
                misses += (np.abs(there - here - math.log2(scale)) / np.maximum(1.0, np.abs(here))).tolist()
    return _worst("relative miss of the shift log2 c", misses, TOLERANCE)


@cache
def appendix_b_minimisers() -> Verdict:
    """Judge whether the best bandwidth of the moved sample is c times the old one."""
    misses = []
    for n in _SIZES:
        x = _normal_samples(n, 1)[0]
        best = _minimiser(lambda h, x=x: expected_score_under_normal(KernelDensity(x, bandwidth=h)))  # type: ignore[misc]
        for shift, scale in _MOVES:
            moved = shift + scale * x
            found = _minimiser(
                lambda h, x=moved, c=scale, d=shift: expected_score_under_normal(  # type: ignore[misc]
                    KernelDensity(x, bandwidth=c * h), mean=d, sd=c
                )
            )
            misses.append(abs(found / best - 1.0))
    return _worst("relative miss of the minimising bandwidth's factor c", misses, MINIMISER_TOLERANCE)


def _move_misses(method: str) -> list[float]:
    """Return relative misses of h(delta + c S) = c h(S)."""
    misses: list[float] = []
    for n in _SIZES:
        samples = _normal_samples(n)
        here = _bandwidths(samples, method)
        for shift, scale in _MOVES:
            misses += np.abs(_bandwidths(shift + scale * samples, method) / (scale * here) - 1.0).tolist()
    return misses


def move_limit(method: str) -> float:
    """Return the largest relative miss of equivariance that is accepted."""
    return NEGLIGIBLE if method == "sheather-jones-r" else TOLERANCE


@cache
def moves_with_data(method: str) -> Verdict:
    """Judge whether a selector is translation invariant and scale equivariant."""
    misses = _move_misses(method)
    verdict = _worst("relative miss of h(δ + cS) = c h(S)", misses, move_limit(method))
    return Verdict(f"{verdict.number}, {_small(float(np.median(misses)))} in the middle", verdict.holds)


@cache
def appendix_b_differences() -> Verdict:
    """Judge whether the difference of any two selectors' scores is the same after a move of the data."""
    misses: dict[str, float] = dict.fromkeys(GAUSSIAN_METHODS, 0.0)
    for n, method in product(_SIZES, GAUSSIAN_METHODS):
        samples = _normal_samples(n, 5)
        here = _normal_scores(samples, _bandwidths(samples, method), 0.0, 1.0)
        for shift, scale in _MOVES:
            moved = shift + scale * samples
            there = _normal_scores(moved, _bandwidths(moved, method), shift, scale)
            miss = np.abs(there - here - math.log2(scale)) / np.maximum(1.0, np.abs(here))
            misses[method] = max(misses[method], float(miss.max()))
    listed = ", ".join(f"{METHODS[method].label} {_small(miss)}" for method, miss in misses.items())
    holds = all(miss <= move_limit(method) for method, miss in misses.items())
    return Verdict(f"largest relative change of the score beyond log2 c: {listed}", holds)


@cache
def silverman_formula() -> Verdict:
    """Judge whether `silverman` is the formula of Appendix A, computed independently here."""
    misses: list[float] = []
    for n in _SIZES:
        samples = _normal_samples(n)
        upper, lower = np.quantile(samples, [0.75, 0.25], axis=1)
        formula = 0.9 * np.minimum(samples.std(axis=1, ddof=1), (upper - lower) / 1.34) * n**-0.2
        misses += np.abs(_bandwidths(samples, "silverman") / formula - 1.0).tolist()
    return _worst("relative difference from 0.9 min(sd, IQR/1.34) n^(-1/5)", misses, TOLERANCE)


def _lscv_by_the_formula(x: Array) -> float:
    """Minimise the paper's criterion over its 60 candidates, by sums over all pairs."""
    n, apart = x.size, x[:, None] - x[None, :]
    grid = 0.2 * bandwidth(x, method="silverman") * 25.0 ** (np.arange(60) / 59.0)

    def criterion(h: float) -> float:
        squares = np.exp(-((apart / h) ** 2) / 4.0).sum() / (math.sqrt(4.0 * math.pi) * n**2 * h)
        others = (np.exp(-((apart / h) ** 2) / 2.0).sum() - n) / math.sqrt(2.0 * math.pi)
        return float(squares - 2.0 * others / (n * (n - 1) * h))

    return float(grid[np.argmin([criterion(float(h)) for h in grid])])


@cache
def lscv_grid() -> Verdict:
    """Judge whether `lscv` minimises over the grid relative to Silverman's bandwidth, computed independently here."""
    misses: list[float] = []
    for n in _SIZES:
        samples = _normal_samples(n, 10)
        formula = np.array([_lscv_by_the_formula(x) for x in samples])
        misses += np.abs(_bandwidths(samples, "lscv") / formula - 1.0).tolist()
    return _worst("relative difference from the sums over all pairs on the grid of 60", misses, TOLERANCE)


@cache
def rank_identity() -> Verdict:
    """Judge whether a new observation leaves the sample's range with probability 2/(n + 1)."""
    count, listed, sure = 40_000, [], True
    for n in _SIZES:
        values = np.random.default_rng([_SEED, n, count]).standard_normal((count, n + 1))
        new, old = values[:, -1], values[:, :-1]
        fraction = float(np.mean((new < old.min(axis=1)) | (new > old.max(axis=1))))
        exact = 2.0 / (n + 1.0)
        sure &= abs(fraction - exact) <= 3.0 * math.sqrt(exact * (1.0 - exact) / count)
        listed.append(f"{100 * fraction:.2f} % for {100 * exact:.2f} % (n = {n})")
    return Verdict(f"of {count} normal samples: {', '.join(listed)}", sure)


@cache
def undersmoothing() -> Verdict:
    """Judge whether the classical selectors' worst scores in tiny normal samples come with tiny bandwidths."""
    n, count, listed, holds = 5, 1000, [], True
    samples = _normal_samples(n, count)
    silverman = _bandwidths(samples, "silverman")
    for method in CLASSICAL:
        h = _bandwidths(samples, method)
        h = np.where(np.isnan(h), silverman, h)
        excess = _normal_scores(samples, h, 0.0, 1.0) - 0.5 * math.log2(2.0 * math.pi * math.e)
        worst = np.argsort(excess)[-count // 100 :]
        fraction, usual, small = excess[worst].sum() / excess.sum(), np.median(h), np.median(h[worst])
        holds &= bool(fraction > 0.5 and small < 0.5 * usual)
        listed.append(f"{METHODS[method].label} {100 * fraction:.0f} % (h {small:.3f} there, {usual:.3f} in all)")
    return Verdict(
        f"of {count} fresh samples of {n}, the worst hundredth carries of the whole excess: {', '.join(listed)}", holds
    )
