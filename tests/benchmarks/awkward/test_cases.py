import numpy as np
import pytest
from scipy import integrate, stats

from contests.awkward.cases import _Cauchy, _Rain, awkward_cases
from contests.awkward.judges import AgainstTruth

CASES = {case.name: case for case in awkward_cases()}
WITH_TRUTH = [name for name, case in CASES.items() if isinstance(case.judge, AgainstTruth) and "zeros" not in name]


def test_names_are_unique_and_samples_repeatable():
    again = awkward_cases()
    assert len(CASES) == len(again)
    for case in again:
        np.testing.assert_array_equal(np.ma.getdata(case.sample), np.ma.getdata(CASES[case.name].sample))


def test_the_law_that_is_not_scipys_own_is_cauchys():
    p = (np.arange(200) + 0.5) / 200
    x = _Cauchy.ppf(p)
    np.testing.assert_allclose(x, stats.cauchy.ppf(p), rtol=1e-9)
    np.testing.assert_allclose(_Cauchy.logpdf(x), stats.cauchy.logpdf(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", WITH_TRUTH)
def test_quantiles_and_log_densities_belong_together(name):
    judge = CASES[name].judge
    central = 1.0 if name.startswith(("Cauchy", "five decades")) else 0.98
    slopes = np.gradient(judge.quantiles, central / judge.quantiles.size)
    np.testing.assert_allclose((np.exp(judge.log_truth) * slopes)[200:-200], 1.0, rtol=1e-3)


@pytest.mark.parametrize("name", WITH_TRUTH)
def test_samples_follow_the_density_that_judges_them(name):
    case = CASES[name]
    levels = np.searchsorted(case.judge.quantiles, case.sample) / case.judge.quantiles.size
    # Values rounded to whole numbers follow it only to half a unit.
    assert stats.kstest(levels, "uniform").statistic < (0.2 if "rounded" in name else 0.1)


def test_the_density_of_rain_is_the_derivative_of_its_quantiles():
    def density(x):
        return float(np.exp(_Rain.logpdf(np.array(x))))

    for p in (0.2, 0.55, 0.7, 0.95):
        x = float(_Rain.ppf(np.array(p)))
        mass, _ = integrate.quad(density, -0.05, x, points=[0.0, 0.05] if x > 0.05 else [0.0], limit=200)
        assert mass == pytest.approx(p, abs=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_judges_ask_for_points_inside_the_bounds_where_they_score(name):
    case = CASES[name]
    if case.bounds is not None and case.judge.twin is None:
        low, high = (
            side if side is not None else sign * np.inf for side, sign in zip(case.bounds, (-1, 1), strict=True)
        )
        asked = case.judge.points[: getattr(case.judge, "quantiles", case.judge.points).size]
        assert np.all((asked >= low) & (asked <= high))
