import numpy as np
import pytest
from scipy import integrate, stats

from contests.awkward import truths
from contests.awkward.cases import awkward_cases

CASES = {case.name: case for case in awkward_cases()}
LAWS = {
    "cauchy": stats.cauchy(),
    "normal": stats.norm(scale=1.5),
    "wide": stats.lognorm(2.0),
    "exponential": stats.expon(),
    "arcsine": stats.arcsine(),
}


def test_names_are_unique_and_samples_repeatable():
    again = awkward_cases()
    assert len(CASES) == len(again)
    for case in again:
        np.testing.assert_array_equal(np.ma.getdata(case.sample), np.ma.getdata(CASES[case.name].sample))


@pytest.mark.parametrize("name", LAWS)
def test_quantiles_and_log_densities_are_those_of_the_laws(name):
    p = truths.midpoints(0.0, 1.0, 200)
    x = getattr(truths, name)(p)
    np.testing.assert_allclose(x, LAWS[name].ppf(p), rtol=1e-9)
    np.testing.assert_allclose(getattr(truths, f"{name}_log")(x), LAWS[name].logpdf(x), rtol=1e-9, atol=1e-9)


def test_the_density_of_rain_is_the_derivative_of_its_quantiles():
    def density(x):
        return float(np.exp(truths.rain_log(np.array(x))))

    for p in (0.2, 0.55, 0.7, 0.95):
        x = float(truths.rain(np.array(p)))
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
