import math

import numpy as np
import pytest
import xarray as xr
import xskillscore
from hypothesis import given
from hypothesis import strategies as st
from scores.probability import rank_histogram as other_rank_histogram

from amortized_kde.ensembles import probabilities, rank_histogram, ranks, reliability, reliability_of
from amortized_kde.errors import InvalidParameterError, InvalidSampleError


def some_forecasts(cells=400, n=15, seed=0):
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=cells)
    return centre[:, None] + rng.normal(size=(cells, n)), centre + rng.normal(size=cells)


def test_reliability_is_that_of_another_library():
    rng = np.random.default_rng(1)
    p = rng.random(1000)
    hit = rng.random(1000) < p**2
    for bins in (5, 7, [0.0, 0.1, 0.5, 1.0]):
        found = reliability_of(p, hit, bins=bins)
        theirs = xskillscore.reliability(xr.DataArray(hit), xr.DataArray(p), probability_bin_edges=found.edges)
        np.testing.assert_allclose(found.observed, theirs, rtol=1e-14)
        np.testing.assert_array_equal(found.counts, theirs.samples)
        inside = [(found.edges[k] <= p) & (p < found.edges[k + 1]) for k in range(found.counts.size)]
        np.testing.assert_allclose(found.forecast, [p[here].mean() for here in inside], rtol=1e-12)


def test_edges_belong_to_the_bin_above_and_one_to_the_last():
    found = reliability_of([0.0, 0.5, 1.0, 1.0], [0, 1, 1, 0], bins=2)
    assert found.counts.tolist() == [1, 3]
    assert found.forecast.tolist() == [0.0, 2.5 / 3.0]
    shares = np.arange(21) / 20
    assert reliability_of(shares, shares > 0.5, bins=10).counts.tolist() == [2] * 9 + [3]
    empty = reliability_of([0.9], [True], bins=2)
    assert math.isnan(empty.observed[0])
    assert math.isnan(empty.forecast[0])


def test_missing_forecasts_and_outcomes_are_left_out():
    found = reliability_of([0.2, math.nan, 0.3, 0.4], [1.0, 1.0, math.nan, 0.0], bins=1)
    assert (found.counts.tolist(), found.observed.tolist()) == ([2], [0.5])


def test_reliability_of_ensembles_is_that_of_their_probabilities():
    x, y = some_forecasts()
    y[3] = math.nan
    found = reliability(x, y, [0.0, 1.0], bins=5, method="silverman")
    assert found.observed.shape == (2, 5)
    for k, level in enumerate((0.0, 1.0)):
        p = probabilities(x, level, above=True, method="silverman")
        one = reliability_of(p, np.where(np.isnan(y), math.nan, y > level), bins=5)
        alone = reliability(x, y, level, bins=5, method="silverman")
        for part, single, all_levels in zip(one, alone, found, strict=True):
            np.testing.assert_array_equal(part, single)
            np.testing.assert_array_equal(part, all_levels[k] if all_levels.ndim == 2 else all_levels)
    folded = reliability(x.reshape(20, 20, 15), y.reshape(20, 20), 0.0, bins=5, method="silverman")
    np.testing.assert_array_equal(folded.observed, found.observed[0])


def test_a_diagram_is_drawn():
    x, y = some_forecasts()
    ax = reliability(x, y, [0.0, 1.0], method="silverman").plot(labels=("above 0", "above 1"))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["above 0", "above 1"]
    assert len(ax.containers) == 2


def test_ranks_without_ties_are_counts():
    x, y = some_forecasts(50, 7)
    expected = [1 + sum(member < outcome for member in row) for row, outcome in zip(x, y, strict=True)]
    assert ranks(x, y).tolist() == expected
    assert rank_histogram(x, y).tolist() == [expected.count(rank) for rank in range(1, 9)]


def test_the_histogram_is_that_of_another_library():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(3000, 9)), rng.normal(size=3000)
    theirs = other_rank_histogram(xr.DataArray(x, dims=("time", "member")), xr.DataArray(y, dims="time"), "member")
    np.testing.assert_allclose(rank_histogram(x, y) / 3000, theirs, rtol=1e-12)
    # With ties theirs are expectations, ours are draws.
    rain, seen = rng.poisson(1.0, (3000, 9)) * 1.0, rng.poisson(1.0, 3000) * 1.0
    theirs = other_rank_histogram(
        xr.DataArray(rain, dims=("time", "member")), xr.DataArray(seen, dims="time"), "member"
    )
    draws = np.mean([rank_histogram(rain, seen, seed=seed) / 3000 for seed in range(50)], axis=0)
    np.testing.assert_allclose(draws, theirs, atol=5.0 * math.sqrt(0.1 / 3000 / 50))


@given(st.integers(0, 2**32), st.integers(0, 5), st.integers(0, 5), st.integers(0, 5))
def test_tied_ranks_are_possible_ones(seed, below, equal, above):
    x = [[-1.0] * below + [0.0] * equal + [1.0] * above + [2.0]]
    found = ranks(x, [0.0], seed=seed)[0]
    assert below + 1 <= found <= below + equal + 1
    assert found == ranks(x, [0.0], seed=seed)[0]


def test_ties_in_single_precision():
    x = np.array([[0.1, 0.2, 0.3]], np.float32)
    assert {ranks(x, [0.2], seed=seed)[0] for seed in range(30)} == {2.0, 3.0}


def test_cells_with_missing_values_have_no_rank():
    x, y = np.array([[1.0, 2.0], [1.0, math.nan], [1.0, 2.0]]), [3.0, 3.0, math.nan]
    assert np.isnan(ranks(x, y)).tolist() == [False, True, True]
    assert rank_histogram(x, y).tolist() == [0, 0, 1]
    assert ranks(x[0], 1.5).shape == ()
    assert rank_histogram(np.empty((0, 3)), []).tolist() == [0, 0, 0, 0]


def test_bad_input():
    with pytest.raises(InvalidSampleError, match=r"probabilities must lie in \[0, 1\]"):
        reliability_of([1.2], [1])
    with pytest.raises(InvalidSampleError, match="outcomes must be true or false"):
        reliability_of([0.2], [3.5])
    with pytest.raises(InvalidSampleError, match=r"outcomes have shape \(3,\), but probabilities have \(2,\)"):
        reliability_of([0.2, 0.3], [1, 0, 1])
    for bins in (0, True, [0.0, 0.5], [0.0, 0.5, 0.5, 1.0], 2.5):
        with pytest.raises(InvalidParameterError, match="bins must be a number of at least 1, or edges"):
            reliability_of([0.2], [1], bins=bins)
    with pytest.raises(InvalidSampleError, match="give one number or a list for all ensembles"):
        reliability([[1.0, 2.0]], [1.0], [[1.0]], bandwidth=1.0)
    with pytest.raises(InvalidSampleError, match="members along the last axis"):
        ranks(3.0, 2.0)
    with pytest.raises(InvalidSampleError, match=r"obs has shape \(3,\)"):
        ranks([[1.0, 2.0]], [1.0, 2.0, 3.0])
    with pytest.raises(InvalidParameterError, match="seed must be a whole number"):
        rank_histogram([[1.0, 2.0]], [1.0], seed=-1)
