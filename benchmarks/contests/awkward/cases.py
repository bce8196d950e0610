"""The awkward samples, each with the judge of what a library returns for it.

A new case is one row here. Its name says what is awkward about it.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from amortized_kde._types import Array
from contests.awkward.judges import (
    AgainstTruth,
    AgainstTwin,
    FarAway,
    IsDensity,
    Judge,
    Twin,
    Unusable,
)

Limits = tuple[float | None, float | None] | None
SEED = 20260701
GROUPS = {
    "shapes": "Far away, heavy tails, ties, outliers",
    "units": "Where zero lies, and in which unit",
    "few": "Hardly any values",
    "unusable": "Not a sample",
    "bounds": "Bounds",
}
# Factors of the density. A density that follows a shift and a change of unit differs by rounding, on a grid by more.
SAME = 1.02
# One value in a hundred may change the density at the others, but not to half or double.
NEARLY = 2.0
# The zeros of the rain sample are spread over a tenth.
RAIN_STEP = 0.1


@dataclass(frozen=True, eq=False)
class Case:
    """A sample with its bounds and its judge.

    `only_bounded` cases are for libraries that take bounds, `python_only` ones have samples that R cannot represent.
    """

    name: str
    group: str
    sample: Any
    judge: Judge
    bounds: Limits = None
    only_bounded: bool = False
    python_only: bool = False


def awkward_cases() -> tuple[Case, ...]:
    """Return all cases, group by group.

    Examples
    --------
    >>> {case.group for case in awkward_cases()} == set(GROUPS)
    True
    """
    plain = np.random.default_rng(SEED).normal(size=100)
    return (*_shapes(plain), *_units(plain), *_few(), *_unusable(plain), *_bounds())


def _shapes(plain: Array) -> tuple[Case, ...]:
    rng = np.random.default_rng(SEED + 1)
    rain = np.where(rng.random(200) < 0.6, 0.0, rng.gamma(2.0, 2.0, 200))
    return (
        Case("an outcome 40 sd away", "shapes", plain, FarAway(np.array([40.0, 60.0]))),
        Case("Cauchy's tails, n = 200", "shapes", rng.standard_cauchy(200), _truth(_Cauchy)),
        Case("five decades, n = 200", "shapes", np.exp(2.0 * rng.normal(size=200)), _truth(stats.lognorm(2.0))),
        Case(
            "rounded to whole numbers, sd 1.5, n = 500",
            "shapes",
            np.round(1.5 * rng.normal(size=500)),
            _truth(stats.norm(0.0, 1.5), central=0.98),
        ),
        Case(
            "60 % zeros, tenths else, n = 200",
            "shapes",
            np.round(rain, 1),
            _truth(_Rain, central=0.98),
        ),
        _outlier(plain, 1e3),
        _outlier(plain, 1e6),
        _clusters(plain, 1e6),
    )


def _outlier(plain: Array, where: float) -> Case:
    body = np.quantile(plain[1:], [0.1, 0.3, 0.5, 0.7, 0.9])
    sample = np.concatenate([[where], plain[1:]])
    judge = AgainstTwin(body, Twin(plain[1:], body), 0.0, NEARLY)
    power = {1e3: "10³", 1e6: "10⁶"}[where]
    return Case(f"one of 100 values {power} sd away", "shapes", sample, judge)


def _clusters(plain: Array, apart: float) -> Case:
    body = np.quantile(plain, [0.1, 0.3, 0.5, 0.7, 0.9])
    judge = AgainstTwin(body, Twin(plain, body), math.log(2.0), NEARLY)
    return Case("two clusters 10⁶ sd apart", "shapes", np.concatenate([plain, apart + plain]), judge)


def _units(plain: Array) -> tuple[Case, ...]:
    whole = np.round(40.0 * np.clip(plain, -3.0, 3.0))
    return (
        _moved(plain, "shifted by 10⁹", 1e9, 1.0),
        _moved(plain, "in units of 10⁻⁹", 0.0, 1e-9),
        _moved(plain, "in units of 10⁹", 0.0, 1e9),
        _moved(plain, "in units of 10⁻³⁰⁶", 0.0, 1e-306),
        _moved(plain, "in units of 10⁻²⁰⁰", 0.0, 1e-200),
        _moved(plain, "in units of 10²⁰⁰", 0.0, 1e200),
        Case(
            "whole numbers stored as int8",
            "units",
            whole.astype(np.int8),
            AgainstTwin(_middle(whole), Twin(whole, _middle(whole)), 0.0, SAME),
            python_only=True,
        ),
    )


def _moved(plain: Array, name: str, shift: float, unit: float) -> Case:
    at = _middle(plain)
    return Case(
        name, "units", shift + unit * plain, AgainstTwin(shift + unit * at, Twin(plain, at), math.log(unit), SAME)
    )


def _middle(sample: Array) -> Array:
    return np.asarray(np.quantile(sample, np.linspace(0.05, 0.95, 19)))


def _few() -> tuple[Case, ...]:
    two, three, one, equal = np.array([1.0, 2.5]), np.array([1.0, 2.0, 2.5]), np.array([0.3]), np.full(20, 0.3)
    other = np.append(np.full(19, 0.3), 0.7)
    too_few = r"one value|two values|single|multiple elements|at least 2|scale|more data"
    no_scale = r"equal|ident|constant|same value|single value|singular|scale"
    return (
        Case("3 values", "few", three, _density(three)),
        Case("2 values", "few", two, _density(two)),
        Case("19 equal values and another", "few", other, _density(other)),
        Case("1 value", "few", one, Unusable(one, too_few)),
        Case("20 equal values", "few", equal, Unusable(equal, no_scale)),
        Case("1 value between 0 and 1", "few", one, _density(one, (0.0, 1.0)), bounds=(0.0, 1.0)),
        Case("20 equal values between 0 and 1", "few", equal, _density(one, (0.0, 1.0)), bounds=(0.0, 1.0)),
    )


def _unusable(plain: Array) -> tuple[Case, ...]:
    at, clean = _middle(plain), Twin(plain, _middle(plain))
    missing, numbers = r"nan|missing|mask|none", r"number|numeric|convert string|text"
    code = np.concatenate([plain, [-999.0, -999.0, -999.0]])
    table = np.column_stack([plain, plain[::-1]])
    return (
        Case("a NaN among 100 values", "unusable", np.append(plain, np.nan), Unusable(at, missing, clean)),
        Case("an infinity among 100", "unusable", np.append(plain, np.inf), Unusable(at, r"inf|finite", clean)),
        Case("a None among 100", "unusable", np.array([*plain, None], dtype=object), Unusable(at, missing, clean)),
        Case(
            "a masked array, −999 masked",
            "unusable",
            np.ma.masked_equal(code, -999.0),
            Unusable(at, missing, clean),
            python_only=True,
        ),
        Case(
            "nothing at all", "unusable", np.array([]), Unusable(at, r"empty|at least|no data|multiple elements|need")
        ),
        Case('text: "1.2", "n/a", "3.4"', "unusable", np.array(["1.2", "n/a", "3.4"]), Unusable(at, numbers)),
        Case("a table of 100 × 2", "unusable", table, Unusable(at, r"dim|shape|1d|2d|column|feature|deep")),
    )


def _bounds() -> tuple[Case, ...]:
    rng = np.random.default_rng(SEED + 2)
    exponential, arcsine = rng.exponential(size=200), np.sin(0.5 * math.pi * rng.random(200)) ** 2
    outwards = np.geomspace(1e-9, 20.0, 4000)
    inside, middle = np.array([0.5]), np.quantile(exponential, [0.1, 0.3, 0.5, 0.7, 0.9])
    return (
        Case(
            "exponential, lower bound 0, n = 200",
            "bounds",
            exponential,
            _truth(stats.expon, central=0.98, outside=(-outwards[::-1],)),
            bounds=(0.0, None),
        ),
        Case(
            "arcsine law on 0 to 1, n = 200",
            "bounds",
            arcsine,
            _truth(stats.arcsine, central=0.98, outside=(-outwards[::-1], 1.0 + outwards)),
            bounds=(0.0, 1.0),
        ),
        Case(
            "exponential, bounds 0 and 10⁹",
            "bounds",
            exponential,
            AgainstTwin(middle, Twin(exponential, middle, (0.0, None)), 0.0, NEARLY),
            bounds=(0.0, 1e9),
            only_bounded=True,
        ),
        Case(
            "a value outside the bounds",
            "bounds",
            np.append(arcsine, 1.5),
            Unusable(inside, r"outside|beyond|bound", Twin(arcsine, inside, (0.0, 1.0))),
            bounds=(0.0, 1.0),
            only_bounded=True,
        ),
    )


def _density(values: Array, limits: tuple[float, float] = (-100.0, 100.0)) -> IsDensity:
    """Judge on an even grid that is dense enough near the values to see any spike."""
    steps = np.geomspace(1e-12, limits[1] - limits[0], 2000)
    near = [value + sign * steps for value in np.unique(values) for sign in (-1.0, 1.0)]
    grid = np.unique(np.concatenate([np.linspace(*limits, 20_001), values, *near]))
    return IsDensity(values, grid[(grid >= limits[0]) & (grid <= limits[1])])


def _truth(truth: Any, *, central: float = 1.0, outside: tuple[Array, ...] = ()) -> AgainstTruth:
    """Judge at 2000 even quantiles of the central probability, which most samples span."""
    low, high = 0.5 - 0.5 * central, 0.5 + 0.5 * central
    x = truth.ppf(_midpoints(low, high, 2000))
    return AgainstTruth(x, truth.logpdf(x), outside)


def _midpoints(low: float, high: float, count: int) -> Array:
    return low + (np.arange(count) + 0.5) * (high - low) / count


class _Cauchy:
    """SciPy's quantiles round differently, which moves R's grid and so the points where its FFT returns 0."""

    logpdf = stats.cauchy.logpdf

    @staticmethod
    def ppf(p: Array) -> Array:
        return np.asarray(np.tan(math.pi * (p - 0.5)))


class _Rain:
    """Zeros, spread over their tenth, with probability 0.6; otherwise a gamma distribution of shape and scale 2."""

    @staticmethod
    def ppf(p: Array) -> Array:
        half = 0.5 * RAIN_STEP
        x = np.concatenate([_midpoints(-half, half, 2001), np.geomspace(half + 1e-5, 40.0, 8000)])
        zeros = np.clip((x + half) / RAIN_STEP, 0.0, 1.0)
        return np.asarray(np.interp(p, 0.6 * zeros + 0.4 * stats.gamma.cdf(x, 2.0, scale=2.0), x))

    @staticmethod
    def logpdf(x: Array) -> Array:
        zeros = (np.abs(x) <= 0.5 * RAIN_STEP) / RAIN_STEP
        return np.asarray(np.log(0.6 * zeros + 0.4 * stats.gamma.pdf(x, 2.0, scale=2.0)))
