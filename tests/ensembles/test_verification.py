import math
from itertools import pairwise

import numpy as np
import pytest
import scoringrules
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scores.probability import crps_cdf, tail_tw_crps_for_ensemble

import amortized_kde as akde
from amortized_kde.ensembles import (
    brier_scores,
    crps,
    log_score_parts,
    log_scores,
    pit,
    probabilities,
    quantiles,
    threshold_weighted_crps,
)
from amortized_kde.errors import BadRowsWarning, InvalidBoundsError, InvalidParameterError, InvalidSampleError


def slow_crps(density, y):
    """The integral of squares, on panels around every point at every bandwidth, and split at the outcome."""
    low, high = density.ppf(1e-13), density.isf(1e-13)
    steps = density.bandwidths[:, None] * np.arange(-6.0, 7.0, 1.5)
    edges = np.concatenate([[low, high, y], (density.points[:, None, None] + steps).ravel()])
    edges = np.unique(np.clip(edges, min(low, y), max(high, y)))
    nodes, weights = np.polynomial.legendre.leggauss(5)
    half, middle = 0.5 * np.diff(edges)[:, None], 0.5 * (edges[1:] + edges[:-1])[:, None]
    t = (middle + half * nodes).ravel()
    squares = np.where(t < y, density.cdf(t), density.sf(t)) ** 2
    return float(np.sum(half * weights * squares.reshape(half.size, -1)))


def test_log_scores_are_those_of_every_cell(forecasts):
    found = log_scores(forecasts.members, forecasts.obs, **forecasts.options)
    np.testing.assert_allclose(found, forecasts.each(akde.log_score), rtol=1e-12)


@pytest.mark.parametrize("resolution", [0.1, 2.0])
def test_rounded_observations_are_scored_by_their_cell(forecasts, resolution):
    def score(density, y):
        ends = np.clip([y - 0.5 * resolution, y + 0.5 * resolution], *density.bounds)
        low, high = density.cdf(ends) if density.cdf(y) < 0.5 else -density.sf(ends)
        return -np.log2((high - low) / np.diff(ends)[0])

    found = log_scores(forecasts.members, forecasts.obs, **forecasts.options, resolution=resolution)
    np.testing.assert_allclose(found, forecasts.each(score), rtol=1e-9)


def test_cells_keep_their_digits_in_the_tails_and_end_at_the_bounds():
    members = [[0.0, 1.0, 2.0]] * 4
    y = [-20.0, 22.0, 60.0, 0.0]
    exact = log_scores(members, y, bandwidth=1.0, bounds=(None, 70))
    # Over a cell of a thousandth of the bandwidth the density is nearly linear; at 60, it underflows in the cdf.
    np.testing.assert_allclose(
        log_scores(members, y, bandwidth=1.0, bounds=(None, 70), resolution=1e-3), exact, rtol=1e-5
    )
    # A cell that a bound cuts in half has half its width.
    at_bound = log_scores([[0.0, 1.0, 2.0]], [0.0], bandwidth=1.0, bounds=(0, None), resolution=1e-3)
    np.testing.assert_allclose(at_bound, log_scores([[0.0, 1.0, 2.0]], [0.0], bandwidth=1.0, bounds=(0, None)), 1e-3)
    assert log_scores([[0.0, 1.0]], [-3.0], bandwidth=1.0, bounds=(0, None), resolution=1.0) == math.inf


def test_rounded_rain_scores_add_up():
    rain = [[0.0, 0.0, 0.4, 2.0], [0.0, 1.0, 3.0, 4.0]]
    options = {"bounds": (0, None), "bandwidth": 1.0, "atoms": (0,), "resolution": 0.5}
    parts = log_score_parts(rain, [0.0, 2.0], **options)
    np.testing.assert_allclose(parts.occurrence + parts.amount, log_scores(rain, [0.0, 2.0], **options))
    assert parts.amount[0] == 0.0


@pytest.mark.parametrize("resolution", [-1.0, math.nan, math.inf, "1", True])
def test_a_resolution_that_is_no_unit(resolution):
    with pytest.raises(InvalidParameterError, match="resolution must be"):
        log_scores([[0.0, 1.0]], [0.5], resolution=resolution)


def test_transforms_are_those_of_every_cell(forecasts):
    found = pit(forecasts.members, forecasts.obs, **forecasts.options)
    np.testing.assert_allclose(found, forecasts.each(lambda d, y: d.cdf(y)), rtol=1e-12)


def test_ranked_scores_are_those_of_every_cell(forecasts):
    found = crps(forecasts.members, forecasts.obs, **forecasts.options)
    # Of adaptive densities, in which fine steps go unresolved, to 1e-6; others to 1e-8.
    tolerance = 1e-6 if forecasts.adaptive else 1e-8
    cells = [(0, 1), (1, 0)]
    expected = [slow_crps(forecasts.densities[cell], forecasts.obs[cell]) for cell in cells]
    np.testing.assert_allclose([found[cell] for cell in cells], expected, rtol=tolerance)


def test_ranked_scores_beyond_the_bounds(forecasts):
    cell = (0, 1)
    options = {**forecasts.options}
    if "bandwidth" in options:
        options["bandwidth"] = options["bandwidth"][cell]
    for y in (-3.0, -0.3, -0.01, 0.0, 40.0, 40.5, 60.0):
        found = crps(forecasts.members[cell], y, **options)
        assert found == pytest.approx(slow_crps(forecasts.densities[cell], y), rel=1e-6)


def test_threshold_weighted_scores_add_up(forecasts):
    cuts = [None, *sorted([0.5, 3.0, forecasts.obs[1, 0], 50.0]), None]
    asked = forecasts.members, forecasts.obs
    parts = [threshold_weighted_crps(*asked, pair, **forecasts.options) for pair in pairwise(cuts)]
    assert np.all(np.array(parts) >= 0.0)
    np.testing.assert_allclose(np.sum(parts, axis=0), crps(*asked, **forecasts.options), rtol=2e-6)


def test_threshold_weighted_scores_are_integrals_of_brier_scores(forecasts):
    a, b = 1.0, 4.0
    nodes, weights = np.polynomial.legendre.leggauss(40)
    # The integrand jumps at the observation.
    middle = np.clip(forecasts.obs, a, b)[..., None]
    expected = 0.0
    for low, high in ((a, middle), (middle, b)):
        at = low + 0.5 * (high - low) * (1.0 + nodes)
        scores = brier_scores(forecasts.members, forecasts.obs, at, **forecasts.options)
        expected = expected + np.sum(scores * weights, axis=-1) * np.reshape(0.5 * (high - low), forecasts.obs.shape)
    found = threshold_weighted_crps(forecasts.members, forecasts.obs, (a, b), **forecasts.options)
    np.testing.assert_allclose(found, expected, atol=2e-4 if forecasts.adaptive else 1e-6)


def test_threshold_weighted_scores_are_those_of_other_libraries():
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(6, 20)), rng.normal(size=6)
    # With a tiny bandwidth the density is that of the members alone.
    found = threshold_weighted_crps(x, y, (0.3, None), bandwidth=1e-7)
    theirs = scoringrules.twcrps_ensemble(y, x, a=0.3, backend="numpy")
    np.testing.assert_allclose(found, theirs, atol=1e-7)
    labelled = xr.DataArray(x, dims=("time", "member")), xr.DataArray(y, dims="time")
    tails = tail_tw_crps_for_ensemble(*labelled, "member", 0.3, preserve_dims="all")
    np.testing.assert_allclose(found, tails, atol=1e-7)
    found = threshold_weighted_crps(x, y, (-0.5, 1.0), bandwidth=1e-7)
    theirs = scoringrules.twcrps_ensemble(y, x, a=-0.5, b=1.0, backend="numpy")
    np.testing.assert_allclose(found, theirs, atol=1e-7)


def test_brier_scores_are_those_of_other_libraries():
    rng = np.random.default_rng(8)
    x, y, levels = rng.normal(size=(5, 20)), rng.normal(size=5), np.array([-0.5, 0.0, 1.0])
    y[2] = math.nan
    found = brier_scores(x, y, levels, bandwidth=0.5)
    p = probabilities(x, levels, above=True, bandwidth=0.5)
    known = ~np.isnan(y)
    theirs = scoringrules.brier_score((y[:, None] > levels)[known], p[known], backend="numpy")
    np.testing.assert_allclose(found[known], theirs, rtol=1e-14)
    assert np.isnan(found[2]).all()
    assert brier_scores(x, y, 0.0, bandwidth=0.5).tolist()[:2] == found[:2, 1].tolist()


def test_the_threshold_of_an_event_does_not_belong_to_it():
    rain = [[0.0, 0.0, 0.0, 2.0]]
    options = {"bounds": (0, None), "bandwidth": 1.0, "atoms": (0,)}
    assert brier_scores(rain, [0.0], 0.0, **options)[0] == pytest.approx(0.3**2)
    assert brier_scores(rain, [0.1], 0.0, **options)[0] == pytest.approx(0.7**2)


def test_distribution_functions_on_thresholds_are_what_other_tools_take():
    rng = np.random.default_rng(9)
    x, y = rng.gamma(2.0, size=(4, 20)), rng.gamma(2.0, size=4)
    levels = np.linspace(0.0, 25.0, 5001)
    cdf = xr.DataArray(
        probabilities(x, levels, bounds=(0, None), method="silverman"),
        dims=("time", "threshold"),
        coords={"threshold": levels},
    )
    theirs = crps_cdf(cdf, xr.DataArray(y, dims="time"), preserve_dims=["time"])
    np.testing.assert_allclose(crps(x, y, bounds=(0, None), method="silverman"), theirs["total"], rtol=1e-5)


@pytest.mark.filterwarnings("ignore::amortized_kde.errors.UnlikeTrainingWarning")
@pytest.mark.parametrize("make", ["two scales", "outlier", "ties", "three"])
@pytest.mark.parametrize("method", ["amortized", "silverman"])
def test_ranked_scores_of_awkward_ensembles(make, method):
    rng = np.random.default_rng(4)
    x = {
        "two scales": np.concatenate([rng.normal(0.0, 1e-3, 20), rng.normal(5.0, 1.0, 20)]),
        "outlier": np.append(rng.normal(size=30), 1e3),
        "ties": rng.normal(size=40).round(1),
        "three": np.array([1.0, 2.0, 4.0]),
    }[make]
    density = akde.fit(x, method=method)
    for y in (x[1], x.max() + 10.0):
        assert crps([x], [y], method=method)[0] == pytest.approx(slow_crps(density, y), rel=2e-6)


def test_closed_form_and_quadrature_agree():
    rng = np.random.default_rng(6)
    x, y, h = rng.normal(size=(5, 30)), rng.normal(size=5), rng.uniform(0.1, 1.0, 5)
    # Bounds so far away that they cut nothing off.
    np.testing.assert_allclose(crps(x, y, bandwidth=h), crps(x, y, bandwidth=h, bounds=(-100, 100)), rtol=1e-8)


def test_ranked_scores_are_those_of_another_library():
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(3, 20)), rng.normal(size=3)
    theirs = scoringrules.crps_mixnorm(y, x, np.full((3, 20), 0.4), backend="numpy")
    np.testing.assert_allclose(crps(x, y, bandwidth=0.4), theirs, rtol=1e-12)


def test_ranked_scores_at_atoms():
    rain = np.array([0.0, 0.0, 0.4, 1.0, 3.0])
    wet, p = akde.KernelDensity(rain[2:], 0.5, bounds=(0, None)), 2.5 / 6
    t = (np.arange(400_000) + 0.5) * 5e-5
    distribution = p + (1.0 - p) * wet.cdf(t)
    for y in (0.0, 2.0):
        expected = np.sum((distribution - (y <= t)) ** 2) * 5e-5
        found = crps([rain], [y], bounds=(0, None), bandwidth=0.5, atoms=(0,))[0]
        assert found == pytest.approx(expected, rel=1e-7)
    # Below its bound an outcome costs its distance and what the distribution costs there.
    far = crps([rain], [-7.0], bounds=(0, None), bandwidth=0.5, atoms=(0,))[0]
    assert far == pytest.approx(7.0 + np.sum((1.0 - distribution) ** 2) * 5e-5, rel=1e-7)


def test_parts_add_up_and_follow_the_formula():
    rain = [[0.0, 0.0, 0.0, 1.0, 2.5], [0.0, np.nan, 0.3, 1.0, 4.0]]
    options = {"bounds": (0, None), "method": "amortized", "atoms": (0,)}
    for y in (0.0, 1.3):
        parts = log_score_parts(rain, y, **options)
        np.testing.assert_allclose(parts.occurrence + parts.amount, log_scores(rain, y, **options), rtol=1e-15)
        for row, p, occurrence, amount in zip(rain, (3.5 / 6, 1.5 / 5), *parts, strict=True):
            members = np.array(row)
            wet = akde.fit(members[members > 0.0], bounds=(0, None))
            assert occurrence == pytest.approx(-math.log2(p if y == 0.0 else 1.0 - p), rel=1e-14)
            assert amount == (0.0 if y == 0.0 else pytest.approx(akde.log_score(wet, y), rel=1e-12))


def test_no_atom_costs_nothing():
    x = np.random.default_rng(1).normal(size=(4, 9))
    assert np.array_equal(log_score_parts(x, 0.1).occurrence, np.zeros(4))


@given(st.integers(0, 20), st.integers(1, 20))
def test_probabilities_of_atoms_are_the_best_guaranteed(hits, others):
    x = [[0.0] * hits + list(range(1, others + 1))]
    at, elsewhere = (log_score_parts(x, y, bandwidth=1.0, atoms=(0,)).occurrence[0] for y in (0.0, 1.5))
    assert 2.0**-at + 2.0**-elsewhere == pytest.approx(1.0, rel=1e-14)
    assert 0.0 < at < math.inf
    assert 0.0 < elsewhere < math.inf


def test_transforms_at_atoms_are_spread_over_the_jump():
    rng = np.random.default_rng(8)
    # Truth and members of one law: 60 % dry, the rest exponential.
    rain = np.where(rng.random((4000, 31)) < 0.6, 0.0, rng.exponential(size=(4000, 31)))
    x, y = rain[:, :30], rain[:, 30]
    options = {"bounds": (0, None), "method": "silverman", "atoms": (0,), "climatology": rain[rain > 0.0]}
    found = pit(x, y, seed=3, **options)
    counts = np.histogram(found, bins=10, range=(0.0, 1.0))[0]
    assert np.all(np.abs(counts - 400) < 5.0 * math.sqrt(400))
    assert np.array_equal(pit(x[:50], y[:50], seed=3, **options), found[:50])
    other = pit(x[:50], y[:50], seed=4, **options)
    assert np.array_equal(other[y[:50] > 0.0], found[:50][y[:50] > 0.0])
    assert not np.any(other[y[:50] == 0.0] == found[:50][y[:50] == 0.0])


@given(st.integers(0, 2**63), st.lists(st.sampled_from([0.0, 100.0]), min_size=1, max_size=8))
def test_transforms_at_atoms_are_never_0_or_1(seed, members):
    options = {"bounds": (0, 100), "atoms": (0, 100), "bandwidth": 1.0, "climatology": [20.0, 60.0]}
    found = pit([members] * 2, [0.0, 100.0], seed=seed, **options)
    p = (members.count(0.0) + 0.5) / (len(members) + 1.5)
    assert 0.0 < found[0] < p
    assert 1.0 - (members.count(100.0) + 0.5) / (len(members) + 1.5) < found[1] < 1.0


def test_extreme_draws_stay_inside(monkeypatch):
    options = {"bounds": (0, 100), "atoms": (0, 100), "bandwidth": 1.0}
    for end in (0.0, 1.0):
        monkeypatch.setattr("amortized_kde.ensembles.answers.uniforms_at", lambda words, cells, u=end: np.full(2, u))
        found = pit([[0.0, 50.0, 100.0]] * 2, [0.0, 100.0], **options)
        assert np.all((found > 0.0) & (found < 1.0))


def test_missing_members_are_as_if_dropped_and_order_is_nothing():
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(1, 30)), [0.3]
    holes = np.full((1, 50), np.nan)
    holes[0, rng.permutation(50)[:30]] = rng.permutation(x[0])
    for chosen in ({"method": "amortized"}, {"method": "silverman"}, {"bandwidth": 0.4}):
        for score in (log_scores, crps, pit):
            np.testing.assert_allclose(score(holes, y, **chosen), score(x, y, **chosen), rtol=1e-12)
        np.testing.assert_allclose(quantiles(holes, 0.2, **chosen), quantiles(x, 0.2, **chosen), rtol=1e-12)


def test_cells_without_an_answer_are_nan_and_counted():
    x = [[1.0, 2.0, 4.0], [math.nan] * 3, [1.0, math.inf, 2.0], [-1.0, 2.0, 3.0], [3.0, 3.0, 3.0], [1.0, 2.0, 3.0]]
    y = [2.0, 2.0, 2.0, 2.0, 2.0, math.nan]
    for score in (log_scores, crps, pit):
        with pytest.warns(BadRowsWarning) as record:
            found = score(x, y, bounds=(0, None), method="silverman")
        assert record[0].filename == __file__
        assert "4 of 6 samples have no answer" in str(record[0].message)
        for reason in ("infinite value", "empty or all missing", "outside the bounds", "all values are equal"):
            assert f"1 × {reason}" in str(record[0].message)
        assert np.isnan(found).tolist() == [False, True, True, True, True, True]
    with pytest.warns(BadRowsWarning, match="1 of 2 ensembles have no answer .NaN.: their bandwidth"):
        assert np.isnan(log_scores([[1.0, 2.0]] * 2, 1.0, bandwidth=[0.5, -1.0])).tolist() == [False, True]


def test_observations_outside_the_bounds_score_infinity():
    x = [[0.2, 0.4, 0.5]] * 3
    assert log_scores(x, [-0.1, 0.3, 1.1], bounds=(0, 1)).tolist()[::2] == [math.inf, math.inf]
    assert pit(x, [-0.1, 0.3, 1.1], bounds=(0, 1)).tolist()[::2] == [0.0, 1.0]
    parts = log_score_parts(x, -0.1, bounds=(0, 1), atoms=(0,))
    assert np.all(parts.amount == math.inf)
    assert np.all(np.isfinite(parts.occurrence))


def test_far_observations_have_finite_scores():
    assert log_scores([[0.0, 1.0]], [1e5], bandwidth=1e-3)[0] == pytest.approx(
        akde.log_score(akde.KernelDensity([0.0, 1.0], 1e-3), 1e5), rel=1e-14
    )
    # In units in which bandwidths are tiny, too.
    shrunk = log_scores([[0.0, 1e-200]], [3e-200], bandwidth=1e-200)[0]
    assert shrunk == pytest.approx(log_scores([[0.0, 1.0]], [3.0], bandwidth=1.0)[0] - 200 * math.log2(10.0), rel=1e-12)


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_and_neighbours_change_no_bit(threads):
    rng = np.random.default_rng(11)
    x, y = rng.gamma(2.0, size=(700, 31)), rng.gamma(2.0, size=700)
    for chosen in ({"method": "amortized"}, {"method": "silverman"}, {"bandwidth": 0.3}):
        options = {"bounds": (0, None), **chosen}
        for score in (log_scores, crps, pit):
            if score is crps and chosen == {"method": "amortized"}:
                continue
            one = score(x, y, threads=1, **options)
            assert np.array_equal(score(x, y, threads=threads, **options), one)
            assert np.array_equal(score(x[300:302], y[300:302], **options), one[300:302])


def test_the_callers_arrays_stay():
    rng = np.random.default_rng(3)
    x, y = rng.permutation(np.arange(24.0)).reshape(3, 8), np.array([0.0, 1.0, 2.0])
    before = x.copy(), y.copy()
    for chosen in ({"method": "amortized"}, {"bandwidth": 0.5}):
        log_scores(x, y, atoms=(0,), **chosen)
        probabilities(x, y, **chosen)
        quantiles(x, [0.5], **chosen)
    assert np.array_equal(x, before[0])
    assert np.array_equal(y, before[1])
    x.flags.writeable = False
    log_scores(x, y, bandwidth=0.5)


def test_observations_broadcast():
    x = np.random.default_rng(1).normal(size=(2, 3, 7))
    found = log_scores(x, [0.1, 0.2, 0.3], bandwidth=0.4)
    assert np.array_equal(found[1], log_scores(x[1], [0.1, 0.2, 0.3], bandwidth=0.4))
    assert log_scores(x[0, 0], 0.1, bandwidth=0.4).shape == ()
    assert crps(np.empty((0, 5)), np.empty(0)).shape == (0,)


def test_bad_input():
    x = [[1.0, 2.0, 4.0], [2.0, 3.0, 5.0]]
    with pytest.raises(InvalidSampleError, match=r"obs has shape \(3,\), but the ensembles have shape \(2,\)"):
        log_scores(x, [1.0, 2.0, 3.0])
    with pytest.raises(InvalidSampleError, match="obs must hold real numbers"):
        crps(x, ["a", "b"])
    with pytest.raises(InvalidBoundsError):
        threshold_weighted_crps(x, [1.0, 2.0], (3.0, 1.0))
    with pytest.raises(InvalidSampleError, match="thresholds has shape"):
        brier_scores(x, [1.0, 2.0], np.zeros((3, 2)))
    for seed in (-1, 1.5, True):
        with pytest.raises(InvalidParameterError, match="seed must be a whole number"):
            pit(x, [1.0, 2.0], seed=seed)
