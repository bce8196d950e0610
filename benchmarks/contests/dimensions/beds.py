"""Beds of tests with known truth: samples of n rows, bounds, and held-out draws with their exact log-density.

A test belongs to a bed, a dimension and a number k; its density depends on these alone, its sample on n too. Tests of
one bed and dimension go through the families in turn, so that every family has the same number of tests.

=========== ============= ==================================================================================
wand-jones  d = 2         the twelve mixtures of Wand and Jones (1993)
mixtures    d = 2 3 5 8   4 components, Dirichlet(2) weights, means 1.5 N(0, I), covariances AA'/4 + 0.05 I
others      d = 2 3 5 8   ten families that are no mixtures of few normals (`FAMILIES`)
bounded     d = 2 3 5 8   Gaussian copulas with exponential and uniform margins; all bounds are given
=========== ============= ==================================================================================
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from amortized_kde._types import Array
from contests.dimensions.truths import Banana, Copula, Funnel, Limits, NormalMixture, Ring, StudentT, Truth
from contests.dimensions.wand_jones import TABLE, wand_jones

DIMENSIONS = (2, 3, 5, 8)
# Held-out draws of a test; the standard error of one test's KL is then some hundredths of a bit.
DRAWS = 1000
Generator = np.random.Generator
Family = Callable[[int, Generator], Truth]


@dataclass(frozen=True, eq=False)
class Task:
    """One test: rows to fit, held-out rows to score, and what is known of them.

    Attributes
    ----------
    bed, family : str
    k : int
        Number of the test among those of its bed and dimension.
    sample : array of shape (n, d)
    points : array of shape (m, d)
    log_truth : array of shape (m,)
        Natural log-density of the truth at the points; for real data that of the reference, the predictive-t normal.
    bounds : one pair for each column, or None
    """

    bed: str
    family: str
    k: int
    sample: Array
    points: Array
    log_truth: Array
    bounds: Limits | None = None

    @property
    def key(self) -> str:
        """Dimension or data set, and number: what tells the tests of one bed and size apart."""
        return f"{self.family} d={self.sample.shape[1]} k={self.k}"


@dataclass(frozen=True)
class Bed:
    """Families by dimension, with the bounds that methods are given, if any."""

    families: Callable[[int], dict[str, Family]]
    dimensions: Sequence[int]
    bounds: Callable[[Truth], Limits] | None = None


def random_mixture(d: int, rng: Generator) -> NormalMixture:
    """Draw a mixture of the bed ``mixtures`` (issue 25): not the generator that the model is trained on."""
    shapes = rng.normal(size=(4, d, d))
    return NormalMixture(
        rng.dirichlet(np.full(4, 2.0)),
        1.5 * rng.normal(size=(4, d)),
        shapes @ shapes.transpose(0, 2, 1) / 4.0 + 0.05 * np.eye(d),
    )


def random_correlations(d: int, rng: Generator) -> Array:
    """Draw correlations of d + 2 normal rows: typical absolute values are 0.4 in d = 2 and 0.3 in d = 8."""
    a = rng.normal(size=(d, d + 2))
    covariance = a @ a.T
    scale = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(scale, scale))


def _copula(*margins: Any, dof: float = np.inf) -> Family:
    """A copula whose columns take the margins in turn."""

    def truth(d: int, rng: Generator) -> Truth:
        return Copula(random_correlations(d, rng), [margins[j % len(margins)] for j in range(d)], dof)

    return truth


_EXPONENTIAL, _UNIFORM, _GAMMA, _NORMAL = stats.expon(), stats.uniform(), stats.gamma(2.0), stats.norm()
_T3, _LOGNORMAL = stats.t(3.0), stats.lognorm(0.7)

FAMILIES: dict[str, Family] = {
    "banana": lambda d, rng: Banana(d, curvature=rng.uniform(0.5, 1.5), noise=rng.uniform(0.2, 0.6)),
    "ring": lambda d, rng: Ring(d, radius=2.0, width=rng.uniform(0.15, 0.4)),
    "funnel": lambda d, rng: Funnel(d, sd=rng.uniform(1.0, 2.0)),
    "t3": lambda d, rng: StudentT(random_correlations(d, rng), 3.0),
    "gamma margins": _copula(_GAMMA),
    "exponential margins": _copula(_EXPONENTIAL),
    "t3 margins": _copula(_T3),
    "uniform margins": _copula(_UNIFORM),
    "t copula": _copula(_NORMAL, dof=3.0),
    "mixed margins": _copula(_LOGNORMAL, _UNIFORM, _NORMAL, _GAMMA, _T3),
}

BOUNDED: dict[str, Family] = {
    "exponential margins": _copula(_EXPONENTIAL),
    "uniform margins": _copula(_UNIFORM),
    "both margins": _copula(_EXPONENTIAL, _UNIFORM),
}


def _support(truth: Truth) -> Limits:
    """The bounds of a copula's margins, as a user would give them."""
    ends = (margin.support() for margin in truth.margins) if isinstance(truth, Copula) else ()
    return tuple(tuple(float(end) if np.isfinite(end) else None for end in pair) for pair in ends)  # type: ignore[misc]


def _wand_jones(name: str) -> Family:
    return lambda d, rng: wand_jones(name)


BEDS: dict[str, Bed] = {
    "wand-jones": Bed(lambda d: {name: _wand_jones(name) for name in TABLE}, (2,)),
    "mixtures": Bed(lambda d: {"mixture": random_mixture}, DIMENSIONS),
    "others": Bed(lambda d: FAMILIES, DIMENSIONS),
    "bounded": Bed(lambda d: BOUNDED, DIMENSIONS, _support),
}


def make_tasks(bed: str, n: int, count: int, dimensions: Sequence[int] | None = None) -> list[Task]:
    """Return at least `count` tests of a bed, every dimension and every family in it equally often."""
    chosen = [d for d in BEDS[bed].dimensions if dimensions is None or d in dimensions]
    tasks = []
    for d in chosen:
        families = len(BEDS[bed].families(d))
        tasks += [make_task(bed, d, n, k) for k in range(-(-count // (families * len(chosen))) * families)]
    return tasks


def make_task(bed: str, d: int, n: int, k: int) -> Task:
    """Return test k of a bed in d dimensions with a sample of n rows.

    Examples
    --------
    >>> task = make_task("others", 3, 20, 1)
    >>> task.family, task.sample.shape, task.points.shape
    ('ring', (20, 3), (1000, 3))
    """
    kind = BEDS[bed]
    families = kind.families(d)
    family = list(families)[k % len(families)]
    truth = families[family](d, np.random.default_rng([digits(bed), d, k]))
    rng = np.random.default_rng([digits(bed), d, k, n])
    sample, points = truth.draw(n, rng), truth.draw(DRAWS, rng)
    limits = None if kind.bounds is None else kind.bounds(truth)
    return Task(bed, family, k, sample, points, truth.log_density(points), limits)


def digits(name: str) -> int:
    """A seed from a name, the same on every machine."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
