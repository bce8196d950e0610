"""Calibrated members: the formula, bounds, atoms, names, places; densities of a mixture; cards that are not trusted."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

import amortized_kde as akde
from amortized_kde.ensembles import (
    Calibration,
    atom_probabilities,
    calibrated,
    crps,
    densities,
    log_score_parts,
    log_scores,
    pit,
    probabilities,
    quantiles,
    read_calibration,
)
from amortized_kde.ensembles.calibration import KERNELS, Power
from amortized_kde.errors import InvalidParameterError, InvalidSampleError, UnreadableFileError

ROWS = np.random.default_rng(2).normal(10.0, 3.0, (6, 7))
RAIN = np.where(np.random.default_rng(3).random((5, 9)) < 0.4, 0.0, np.random.default_rng(4).gamma(1.0, 3.0, (5, 9)))
SEEN = np.array([0.0, 1.5, 0.2, 7.0, 0.0])
DATES = {"day_of_year": np.arange(40.0, 45.0)}
WET = Calibration(
    bounds=(0.0, None),
    atoms=(0.0,),
    resolution=0.1,
    power=0.5,
    centre=1.0,
    width=1.2,
    location={"1": 1.1, "mean": 0.9, "sin1": 0.2, "log spread": 0.1},
    log_spread={"cos1": 0.1},
    floor=0.5,
    slope=0.6,
    occurrence=({"1": -1.0, "mean": -1.0, "atom share": 2.0},),
    kernel="logistic",
    share=0.3,
    stretch=0.9,
)


@pytest.fixture
def stored(tmp_path):
    """A function that writes the shipped network with a calibration, and returns the method."""

    def write(card, name="model"):
        folder = tmp_path / name
        shipped = Path(akde.__file__).parent / "learned" / "adaptive" / "weights" / "adaptive"
        shutil.copytree(shipped, folder)
        whole = json.loads((folder / "card.json").read_text())
        (folder / "card.json").write_text(json.dumps({**whole, "calibration": card}))
        return f"amortized:{folder}"

    return write


@given(a=st.floats(-5, 5), b=st.floats(0.2, 2), c=st.floats(0, 3), d=st.floats(0.1, 3), k=st.floats(0.5, 2))
def test_members_are_moved_by_the_formula(a, b, c, d, k):
    found = calibrated(ROWS, Calibration(location={"1": a, "mean": b}, floor=c, slope=d, stretch=k))
    m, s = ROWS.mean(axis=1, keepdims=True), ROWS.std(axis=1, ddof=1, keepdims=True)
    np.testing.assert_allclose(found, a + b * m + k * np.sqrt(c**2 + d**2 * s**2) / s * (ROWS - m), atol=1e-10)


def test_terms_are_what_their_names_say():
    chosen = Calibration(
        centre=9.0,
        width=2.0,
        covariates={"height": (100.0, 50.0)},
        location={"1": 1.0, "mean^2": 0.5, "skew": 2.0, "mean*sin1": 3.0, "covariate height": 4.0},
        floor=1.0,
        slope=0.0,
    )
    given = {"day_of_year": np.full(6, 100.0), "height": np.full(6, 200.0)}
    assert chosen.needs == ("day_of_year", "height")
    m = (ROWS.mean(axis=1) - 9.0) / 2.0
    skew = (np.median(ROWS, axis=1) - ROWS.mean(axis=1)) / 2.0
    expected = 1.0 + 0.5 * m**2 + 2.0 * skew + 3.0 * m * np.sin(2 * np.pi * 100.0 / 365.2425) + 4.0 * 2.0
    np.testing.assert_allclose(calibrated(ROWS, chosen, given).mean(axis=1), expected, rtol=1e-10)


def test_missing_members_count_as_absent_and_stay_missing():
    x = np.concatenate([ROWS, np.full((6, 2), np.nan)], axis=1)
    chosen = Calibration(location={"1": 1.0, "mean": 0.9, "skew": 0.3}, floor=1.0, slope=0.5)
    found = calibrated(x, chosen)
    np.testing.assert_allclose(found[:, :7], calibrated(ROWS, chosen), rtol=1e-12)
    assert np.isnan(found[:, 7:]).all()


def test_named_members_have_their_own_bias_and_weight():
    chosen = Calibration(members={"a": 2.0, "b": -2.0}, location={"mean": 1.0, "member b": 0.5}, floor=1.0, slope=0.0)
    x = np.array([[5.0, 1.0], [5.0, np.nan]])
    # Both are 3 without their bias; the second lacks b, and its mean is that of a.
    np.testing.assert_allclose(np.nanmean(calibrated(x, chosen), axis=1), [3.0, 3.0])
    shifted = np.array([[5.0, 3.0]])
    np.testing.assert_allclose(calibrated(shifted, chosen).mean(), 4.0 + 0.5 * 1.0)
    with pytest.raises(InvalidSampleError, match="3 members, but the model was trained with the 2 members a, b"):
        calibrated(np.zeros((1, 3)), chosen)


def test_a_place_has_its_own_correction_and_an_unknown_one_none():
    chosen = Calibration(places={"x=1": (3.0, np.log(2.0))}, floor=1.0, slope=0.0)
    found = calibrated(ROWS[:2], chosen, {"place": ["x=1", "x=9"]})
    plain = calibrated(ROWS[:2], dataclasses.replace(chosen, places={}))
    np.testing.assert_allclose(found[1], plain[1])
    np.testing.assert_allclose(found[0].mean(), plain[0].mean() + 3.0)
    np.testing.assert_allclose(found[0].std(), 2.0 * plain[0].std())


def test_atoms_stay_and_bounds_hold():
    found = calibrated(RAIN, WET, DATES)
    assert (found >= 0.0).all()
    np.testing.assert_array_equal(found[RAIN == 0.0], 0.0)
    assert (found[RAIN > 0.0] != RAIN[RAIN > 0.0]).all()


def test_every_kernel_has_variance_1():
    for weights, sds in KERNELS.values():
        np.testing.assert_allclose([sum(weights), np.dot(weights, np.square(sds))], 1.0, atol=1e-6)


@given(st.floats(0.0, 1e6))
def test_the_power_scale_goes_there_and_back(x):
    scale = Power(0.5, 0.0)
    assert scale.back(scale.forward(np.array(x))) == pytest.approx(x, rel=1e-12)


def test_a_kernel_alone_is_emos(stored):
    chosen = Calibration(location={"1": 0.5, "mean": 0.9}, floor=1.0, slope=0.7, share=1.0)
    mu = 0.5 + 0.9 * ROWS.mean(axis=1)
    sigma = np.sqrt(1.0 + 0.49 * ROWS.var(axis=1, ddof=1))
    y, method = mu + np.linspace(-2.0, 2.0, 6), stored(chosen.as_card())
    np.testing.assert_allclose(log_scores(ROWS, y, method=method), -norm.logpdf(y, mu, sigma) / np.log(2), rtol=1e-10)
    np.testing.assert_allclose(pit(ROWS, y, method=method), norm.cdf(y, mu, sigma), rtol=1e-9)
    np.testing.assert_allclose(quantiles(ROWS, [0.9], method=method)[:, 0], norm.ppf(0.9, mu, sigma), rtol=1e-9)


def test_the_members_alone_are_the_density_of_the_moved_members(stored):
    chosen = Calibration(location={"1": 0.5, "mean": 0.9}, floor=1.0, slope=0.7, stretch=0.9)
    y = ROWS.mean(axis=1)
    found = log_scores(ROWS, y, method=stored(chosen.as_card()))
    np.testing.assert_allclose(found, log_scores(calibrated(ROWS, chosen), y), rtol=1e-9)


def test_parts_of_the_mixture_add_up(stored):
    y = RAIN.mean(axis=1)
    parts = [
        densities(RAIN, y[:, None], method=stored({**WET.as_card(), "share": share}, str(share)), covariates=DATES)
        for share in (0.0, 1.0, 0.3)
    ]
    np.testing.assert_allclose(0.7 * parts[0] + 0.3 * parts[1], parts[2], rtol=1e-9)


def test_rain_is_one_distribution(stored):
    """Mass, distribution function, quantiles, scores and CRPS agree with integrals of the density."""
    options = {"method": stored(WET.as_card()), "covariates": DATES}
    dry = atom_probabilities(RAIN, (0,), **options)[:, 0]
    np.testing.assert_allclose(quantiles(RAIN, 0.9 * dry[:, None], **options)[:, 0], 0.0)
    for k in range(2):
        one = {"method": options["method"], "covariates": {"day_of_year": DATES["day_of_year"][k]}}
        x = RAIN[k]
        # On the square root the density has no peak at 0.
        mass = quad(lambda v, x=x, one=one: 2 * v * densities(x, v * v, **one), 0.0, 60.0, limit=400)[0]
        assert mass + dry[k] == pytest.approx(float(probabilities(x, 3600.0, **one)), abs=1e-6)
        below = quad(lambda v, x=x, one=one: 2 * v * densities(x, v * v, **one), 0.0, 1.5, limit=400)[0]
        assert dry[k] + below == pytest.approx(float(probabilities(x, 2.25, **one)), abs=1e-6)
        assert float(probabilities(x, quantiles(x, 0.95, **one), **one)) == pytest.approx(0.95, abs=1e-9)

        def gap(t, x=x, one=one, y=SEEN[k]):
            return 2 * t * (float(probabilities(x, t * t, **one)) - (t * t >= y)) ** 2

        root = np.sqrt(SEEN[k])
        exact = quad(gap, 0.0, root, limit=200)[0] + quad(gap, root, 60.0, limit=400)[0]
        assert float(crps(x, SEEN[k], **one)) == pytest.approx(exact, rel=1e-3)
    parts = log_score_parts(RAIN, SEEN, **options)
    np.testing.assert_allclose(parts.occurrence[[0, 4]], -np.log2(dry[[0, 4]]))
    np.testing.assert_allclose(parts.occurrence + parts.amount, log_scores(RAIN, SEEN, **options))
    assert np.isfinite(parts.amount).all()


def test_an_ensemble_at_its_atom_has_the_density_of_the_kernel(stored):
    x = np.zeros((1, 9))
    found = log_scores(x, [2.0], method=stored(WET.as_card()), covariates={"day_of_year": 1.0})
    assert np.isfinite(found).all()


def test_what_a_model_needs_and_was_trained_with_is_asked_for(stored):
    method = stored(WET.as_card())
    with pytest.raises(InvalidParameterError, match="trained with the covariate 'day_of_year', which is missing here"):
        log_scores(RAIN, SEEN, method=method)
    with pytest.raises(InvalidParameterError, match=r"trained with the bounds \(0.0, None\), not \(0, 5\)"):
        log_scores(RAIN, SEEN, method=method, bounds=(0, 5))
    with pytest.raises(InvalidParameterError, match=r"trained with the atoms \(0.0,\), not \(1,\)"):
        log_scores(RAIN, SEEN, method=method, atoms=(1,))
    with pytest.raises(InvalidSampleError, match="'day_of_year' has missing or infinite values"):
        log_scores(RAIN, SEEN, method=method, covariates={"day_of_year": np.nan})
    with pytest.raises(InvalidSampleError, match=r"'day_of_year' has shape \(4,\), but the ensembles have shape"):
        log_scores(RAIN, SEEN, method=method, covariates={"day_of_year": np.ones(4)})
    for function in (akde.fit, akde.bandwidth):
        with pytest.raises(InvalidParameterError, match="calibrates forecasts before it estimates their densities"):
            function(RAIN[0], method=method)


def test_a_card_is_read_as_it_was_written(stored):
    assert read_calibration(stored(json.loads(json.dumps(WET.as_card())))) == WET


DAMAGE = {
    "share": 1.5,
    "width": 0.0,
    "kernel": "epanechnikov",
    "location": {"mean": "much"},
    "log_spread": {"__import__": 1.0},
    "power": float("nan"),
    "occurrence": [{"1": 1.0}, {"1": 1.0}],
    "bounds": [3.0, 1.0],
    "places": {"x=1": [1.0]},
    "floor": None,
}


@pytest.mark.parametrize("part", DAMAGE)
def test_a_damaged_card_is_refused(stored, part):
    with pytest.raises(UnreadableFileError, match=r"calibration in the card of .* is damaged"):
        read_calibration(stored({**WET.as_card(), part: DAMAGE[part]}))


def test_a_model_without_a_calibration(tmp_path):
    shipped = Path(akde.__file__).parent / "learned" / "adaptive" / "weights" / "single"
    shutil.copytree(shipped, tmp_path / "single")
    with pytest.raises(InvalidParameterError, match="trained without a calibration"):
        calibrated(ROWS, tmp_path / "single")
