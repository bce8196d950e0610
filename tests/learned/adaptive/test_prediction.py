"""The default models: what they answer for samples of all kinds, and when they say that they do not know."""

import importlib
import math
import warnings

import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde.data.reading import read_sample, read_samples
from amortized_kde.errors import BadRowsWarning, DegenerateSampleError, UnlikeTrainingWarning
from amortized_kde.learned.adaptive.prediction import ladder_at_anchors, ladder_of_one, ways_unlike
from amortized_kde.learned.store import load_model
from amortized_kde.selection import smooth


def answer(rows, bounds=(-math.inf, math.inf)):
    samples = read_samples(rows, axis=-1)
    lower, upper = (np.full(len(samples), end) for end in bounds)
    return smooth(load_model("adaptive"), samples, lower, upper)


def test_amortized_is_adaptive_in_fit_and_single_in_bandwidth():
    x = np.random.default_rng(0).normal(size=60)
    assert akde.bandwidth(x) == akde.bandwidth(x, method="amortized:single")
    d = akde.fit(x)
    assert d.bandwidths.size > 1
    assert np.array_equal(d.logpdf(x), akde.fit(x, method="amortized:adaptive").logpdf(x))
    assert akde.fit(x, method="amortized:single").bandwidths.size == 1


@pytest.mark.parametrize("n", [3, 200, 900])
def test_every_point_has_shares_that_sum_to_one(n):
    x = np.random.default_rng(n).normal(size=n)
    found = answer([x])
    rungs, shares = ladder_of_one(found, read_sample(x))
    assert shares.shape == (rungs.size, n)
    assert np.all(np.diff(rungs) > 0)
    np.testing.assert_allclose(shares.sum(axis=0), 1.0)
    assert found.masses.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["amortized:adaptive", "amortized:single"])
def test_beyond_the_trained_sizes_the_answer_goes_on_without_a_jump(method):
    rows, sizes = np.random.default_rng(11).normal(size=(24, 4300)), np.array([4096, 4097, 4300])
    logs = np.array([[np.log(akde.bandwidth(x[:n], method=method)) for n in sizes] for x in rows])
    # A geometric mean, for one sample's bandwidth moves by some per cent with every value.
    np.testing.assert_allclose(np.exp(np.mean(logs - logs[:, :1], axis=0)), 1.0, rtol=0.05)
    # From there on it stays near the bandwidth that is best for normal values.
    x, sizes = np.random.default_rng(12).normal(size=300_000), np.array([4096, 20_000, 300_000])
    h = np.array([akde.bandwidth(x[:n], method=method) for n in sizes])
    np.testing.assert_allclose(h, 1.06 * sizes**-0.2, rtol=0.15)


def test_what_is_described_wholly_is_answered_as_it_was_trained(monkeypatch):
    def refuse(*given):
        raise AssertionError("carried over")

    monkeypatch.setattr(importlib.import_module("amortized_kde.learned.adaptive.prediction"), "averaged_shares", refuse)
    rng = np.random.default_rng(15)
    for n in (100, 1000, 4096):
        akde.fit(rng.gamma(2.0, size=n), weights=rng.random(n))
    with pytest.raises(AssertionError, match="carried over"):
        akde.fit(rng.gamma(2.0, size=4200))


def test_shares_at_anchors_are_those_of_all_points():
    x = np.sort(np.random.default_rng(13).standard_t(3, 9001))
    found = answer([x])
    rungs, shares, ranks = ladder_at_anchors(found, x.size)
    every, everywhere = ladder_of_one(found, read_sample(x))
    assert np.array_equal(rungs, every)
    assert (ranks[0], ranks[-1]) == (0, x.size - 1)
    between = [np.interp(np.arange(x.size), ranks, row) for row in shares]
    np.testing.assert_allclose(between, everywhere, atol=1e-15)


def test_all_values_of_a_large_sample_have_shares():
    x = np.sort(np.random.default_rng(12).standard_t(3, 9001))
    found = answer([x])
    assert found.masses.sum() == pytest.approx(1.0)
    _, shares = ladder_of_one(found, read_sample(x))
    assert shares.shape[1] == 9001
    d = akde.fit(x, method="amortized:adaptive")
    assert d.bandwidth == pytest.approx(akde.bandwidth(x, method="amortized:adaptive"), rel=1e-9)
    assert akde.fit(-x).logpdf(-x[::500]) == pytest.approx(d.logpdf(x[::500]), rel=1e-7)


@pytest.mark.parametrize("bounds", [(0.0, None), (None, 10.0), (0.0, 10.0)])
def test_one_value_has_a_density_where_a_bound_gives_a_scale(bounds):
    d = akde.fit([3.0], bounds=bounds)
    assert math.isfinite(d.logpdf(3.0))
    assert d.cdf(3.0) == pytest.approx(0.5, abs=0.49)


def test_without_a_scale_there_is_a_sentence():
    for x in ([3.0], [2.0, 2.0]):
        with pytest.raises(DegenerateSampleError, match="no answer"):
            akde.fit(x)
    with pytest.warns(BadRowsWarning, match="1 of 2"):
        h = akde.bandwidth([[1.0, 1.0, 1.0], [1.0, 2.0, 4.0]], axis=-1, method="amortized:adaptive")
    assert math.isnan(h[0])
    assert h[1] > 0


def test_a_sample_unlike_the_training_world_gets_a_warning_and_an_answer():
    rng = np.random.default_rng(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        akde.fit(rng.normal(size=200))
        akde.fit(rng.lognormal(0.0, 2.0, 200), bounds=(0, None))
    strange = np.append(rng.normal(size=200), 1e15)
    with pytest.warns(UnlikeTrainingWarning, match="unlike the model's training data"):
        d = akde.fit(strange)
    assert np.isfinite(d.logpdf(strange)).all()
    with pytest.warns(UnlikeTrainingWarning, match="1 of 2 samples"):
        akde.bandwidth([rng.normal(size=201), strange], axis=-1)


def test_clusters_narrower_than_the_finest_bandwidth_get_a_warning_but_ties_do_not():
    x = np.random.default_rng(3).normal(size=100)
    with pytest.warns(UnlikeTrainingWarning, match="clusters of it"):
        akde.fit(np.concatenate([x[:50], x[50:] + 1e7]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        akde.fit(np.repeat([0.0, 1.0], 50))


def test_data_over_decades_get_a_warning_that_names_the_remedy():
    rng = np.random.default_rng(4)
    x = 10.0 ** rng.uniform(-6.0, 6.0, 500)
    for values, bounds in ((x, (0, None)), (x, None), (-x, None), (7.0 - x, (None, 7.0))):
        with pytest.warns(UnlikeTrainingWarning, match="span decades: fit their logarithms"):
            akde.fit(values, bounds=bounds)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        akde.fit(np.log10(x))
        akde.fit(x[(x > 1e-1) & (x < 10.0)], bounds=(0, None))
        # Both signs, and a bound elsewhere: these are not decades from anywhere.
        akde.fit(np.concatenate([x[:5], -x[5:10]]) * 1e-3 + rng.normal(size=10))


def test_moments_are_sane_with_bounds_far_away():
    rng = np.random.default_rng(5)
    for _ in range(10):
        x = rng.normal(2.0, 0.4, 60)
        d = akde.fit(x, bounds=(0, 1e9))
        assert abs(d.mean() - x.mean()) < 0.05 * x.std()
        assert 0.95 < d.std() / x.std(ddof=1) < 1.25
    percentages = rng.normal(8.0, 0.9, 10)
    assert akde.fit(percentages, bounds=(0, 100)).std() < 2.0 * percentages.std(ddof=1)


def test_a_handful_of_values_gets_no_needles():
    d = akde.fit([170, 165, 180, 172, 168, 175])
    y = d.pdf(np.union1d(np.linspace(160.0, 185.0, 2001), d.points))
    assert np.sum((y[1:-1] > y[:-2]) & (y[1:-1] >= y[2:])) == 1


def test_ways_are_read_off_the_flags():
    flags = np.zeros(8, bool)
    assert ways_unlike(flags) == []
    flags[[0, 2]] = True
    assert len(ways_unlike(flags)) == 2


def test_truncated_at_the_working_domain():
    x = np.random.default_rng(4).normal(size=30)
    d = akde.fit(x, truncate=True)
    assert d.bounds == d.domain
    assert d.cdf(d.domain[1]) == 1.0


def test_mass_stays_inside_the_bounds():
    x = np.random.default_rng(5).exponential(size=80)
    d = akde.fit(x, bounds=(0, None))
    grid = np.linspace(0.0, 60.0, 200_001)
    assert np.trapezoid(d.pdf(grid), grid) + d.sf(60.0) == pytest.approx(1.0, abs=1e-4)
    assert d.pdf(-0.1) == 0.0


@pytest.mark.parametrize("n", [40, 900, 9000])
def test_tied_points_of_unequal_weights_have_equal_shares(n):
    rng = np.random.default_rng(n)
    x, w = np.round(rng.normal(size=n), 1), rng.gamma(0.7, 1.0, n)
    d = akde.fit(x, weights=w)
    for value in np.unique(d.points)[::7]:
        shares = d.shares[:, d.points == value]
        np.testing.assert_allclose(shares, shares[:, :1] + np.zeros(shares.shape[1]), rtol=1e-12, atol=1e-15)
    assert d.bandwidth == pytest.approx(akde.bandwidth(x, weights=w, method="amortized:adaptive"), rel=1e-9)


def test_beyond_the_trained_sizes_weights_count_by_their_effective_size():
    rng = np.random.default_rng(13)
    x, w = rng.normal(size=40_000), rng.gamma(1.0, 1.0, 40_000)
    for method in ("amortized:single", "amortized:adaptive"):
        weighted, half = akde.bandwidth(x, weights=w, method=method), akde.bandwidth(x[:20_000], method=method)
        assert weighted == pytest.approx(half, rel=0.1)
    assert akde.fit(x, weights=w).epsilon == pytest.approx(akde.fit(x[:20_000]).epsilon, rel=0.5)


def test_tiny_and_ordinary_samples_of_one_batch_are_those_of_each():
    x = np.random.default_rng(8).normal(size=(2, 20))
    x[1] *= 1e-310
    together = akde.bandwidth(x, axis=-1)
    assert together[0] == akde.bandwidth(x[0])
    assert together[1] == akde.bandwidth(x[1]) > 0.0
