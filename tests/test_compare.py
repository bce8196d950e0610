"""The comparison of selectors against its slow obvious twin, and on samples where some of them have no answer."""

import math
import warnings

import numpy as np
import pytest

from amortized_kde import KernelDensity, bandwidth
from amortized_kde._compare import HeldOutScore, held_out_scores
from amortized_kde.errors import (
    DegenerateSampleError,
    FallbackWarning,
    InvalidBoundsError,
    InvalidParameterError,
    InvalidSampleError,
)

METHODS = ["silverman", "scott", "lcv"]


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(5)
    return np.concatenate([rng.gamma(2.0, 1.0, 31), rng.normal(9.0, 0.5, 16)])


def slow_twin(x, method, bounds, folds, seed):
    """Fold by fold and observation by observation, with the textbook formula."""
    ascending = sorted(x)
    fold = np.random.default_rng(seed).permutation(len(ascending)) % min(folds, len(ascending))
    low, high = (-math.inf if bounds[0] is None else bounds[0]), (math.inf if bounds[1] is None else bounds[1])
    scores = []
    for i, outcome in enumerate(ascending):
        train = [value for j, value in enumerate(ascending) if fold[j] != fold[i]]
        h = bandwidth(train, method=method, bounds=bounds)
        kernels = sum(math.exp(-0.5 * ((outcome - t) / h) ** 2) / (h * math.sqrt(2 * math.pi)) for t in train)
        inside = sum(
            0.5 * (math.erf((high - t) / h / math.sqrt(2)) - math.erf((low - t) / h / math.sqrt(2))) for t in train
        )
        scores.append(-math.log2(kernels / inside))
    return np.array(scores)


@pytest.mark.parametrize("bounds", [(None, None), (0.0, None), (0.0, 12.0)])
@pytest.mark.parametrize("folds", [10, 3, 1000])
def test_scores_agree_with_the_slow_twin(sample, bounds, folds):
    rows = held_out_scores(sample, METHODS, bounds=bounds, folds=folds, rng=7)
    twin = {method: slow_twin(sample, method, bounds, folds, 7) for method in METHODS}
    best = min(twin.values(), key=np.mean)
    assert [row.method for row in rows] == sorted(METHODS, key=lambda method: twin[method].mean())
    n = sample.size
    for row in rows:
        scores = twin[row.method]
        assert row.score.value == pytest.approx(scores.mean(), rel=1e-10)
        assert row.score.standard_error == pytest.approx(scores.std(ddof=1) / math.sqrt(n), rel=1e-10)
        assert row.difference.value == pytest.approx((scores - best).mean(), rel=1e-9, abs=1e-12)
        error = (scores - best).std(ddof=1) / math.sqrt(n)
        assert row.difference.standard_error == pytest.approx(error, rel=1e-9, abs=1e-12)
        assert row.bandwidth == bandwidth(sample, method=row.method, bounds=bounds)
        whole = KernelDensity(sample, row.bandwidth, bounds=bounds)
        assert row.modes == whole.modes(prominence=0.02).size
        assert row.density.logpdf(3.0) == whole.logpdf(3.0)
        assert (row.failure, row.note) == (None, None)


def test_the_order_of_the_sample_and_of_the_methods_does_not_matter(sample):
    there = held_out_scores(sample, METHODS)
    back = held_out_scores(sample[::-1], METHODS[::-1])
    assert there == back


def test_the_seed_deals_the_folds(sample):
    first, second, third = (held_out_scores(sample, METHODS, rng=seed) for seed in (0, 0, 1))
    assert first == second
    assert first[0].score != third[0].score


def test_threads_do_not_change_the_answer():
    # Enough work for a pool of threads.
    x = np.random.default_rng(2).normal(size=300)
    assert held_out_scores(x, METHODS, threads=1) == held_out_scores(x, METHODS, threads=2)


def test_the_sample_stays_as_it_was(sample):
    before = sample.copy()
    held_out_scores(sample, ["silverman"])
    assert np.array_equal(sample, before)


def test_a_method_named_twice_is_one_row(sample):
    assert len(held_out_scores(sample, ["silverman", "silverman"])) == 1


def test_a_single_value_has_neither_bandwidth_nor_score():
    (row,) = held_out_scores([3.0], ["silverman"])
    assert (row.bandwidth, row.score, row.difference, row.modes, row.density) == (None,) * 5
    assert "fewer than two values" in row.failure


def test_two_values_have_a_bandwidth_but_no_score():
    (row,) = held_out_scores([3.0, 5.0], ["silverman"])
    assert row.bandwidth == bandwidth([3.0, 5.0], method="silverman")
    assert (row.score, row.difference, row.modes) == (None, None, 2)
    assert row.failure.startswith("in 2 of 2 folds: ")


def test_few_values_are_left_out_one_by_one():
    x = [0.0, 1.0, 1.5, 4.0]
    (row,) = held_out_scores(x, ["silverman"])
    assert row.score.value == pytest.approx(slow_twin(x, "silverman", (None, None), 4, 0).mean(), rel=1e-12)


def test_a_method_that_fails_does_not_spoil_the_others(sample, monkeypatch):
    from amortized_kde import _compare

    honest = _compare.fit

    def fails_on_small_parts(x, *, method, **options):
        if method == "scott" and len(x) < sample.size:
            raise DegenerateSampleError("no answer on purpose.")
        return honest(x, method=method, **options)

    monkeypatch.setattr(_compare, "fit", fails_on_small_parts)
    rows = held_out_scores(sample, METHODS)
    assert [row.method for row in rows][-1] == "scott"
    assert rows[-1].failure == "in 10 of 10 folds: no answer on purpose."
    assert rows[-1].bandwidth is not None
    assert rows[:-1] == held_out_scores(sample, ["silverman", "lcv"])


def test_fallbacks_are_told_once_and_not_printed():
    # Ten of twelve are tied, so in every training part the interquartile range is 0.
    x = [1.0] * 10 + [2.0, 5.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (row,) = held_out_scores(x, ["silverman"])
    with pytest.warns(FallbackWarning) as caught:
        bandwidth(x, method="silverman")
    assert row.note == f"{caught[0].message} (11 of 11 fits)"
    assert row.score is not None


def test_bad_input_is_refused(sample):
    with pytest.raises(InvalidParameterError, match="Did you mean 'silverman'"):
        held_out_scores(sample, ["silvermann"])
    with pytest.raises(InvalidParameterError, match="nothing to compare"):
        held_out_scores(sample, [])
    for folds in (1, 2.5, True):
        with pytest.raises(InvalidParameterError, match="folds must be a whole number of at least 2"):
            held_out_scores(sample, METHODS, folds=folds)
    with pytest.raises(InvalidSampleError, match="NaN"):
        held_out_scores([1.0, math.nan], METHODS)
    with pytest.raises(InvalidBoundsError, match="outside the bounds"):
        held_out_scores(sample, METHODS, bounds=(5, None))
    with pytest.raises(InvalidParameterError, match="threads"):
        held_out_scores(sample, METHODS, threads=0)


def test_the_row_is_frozen(sample):
    (row,) = held_out_scores(sample, ["silverman"])
    assert isinstance(row, HeldOutScore)
    with pytest.raises(AttributeError):
        row.bandwidth = 1.0


def test_weighted_scores_are_those_of_weighted_fits(sample):
    w = np.random.default_rng(8).gamma(1.0, 1.0, sample.size)
    w[:3] = 0.0
    (row,) = held_out_scores(sample, ["silverman"], weights=w, folds=5, rng=7)
    order = np.argsort(sample)[w[np.argsort(sample)] > 0.0]
    x, v = sample[order], w[order] / w.sum()
    fold = np.random.default_rng(7).permutation(x.size) % 5
    scores = np.empty(x.size)
    for k in range(5):
        kept = fold != k
        h = bandwidth(x[kept], weights=v[kept], method="silverman")
        scores[~kept] = -KernelDensity(x[kept], h, weights=v[kept]).logpdf(x[~kept]) / math.log(2.0)
    assert row.score.value == pytest.approx(np.sum(v * scores), rel=1e-10)
    assert row.bandwidth == bandwidth(sample, weights=w, method="silverman")
    assert held_out_scores(sample, METHODS, weights=np.full(sample.size, 3.0)) == held_out_scores(sample, METHODS)


def test_a_selector_without_weights_fails_alone(sample):
    w = np.random.default_rng(9).gamma(1.0, 1.0, sample.size)
    rows = held_out_scores(sample, ["sheather-jones-r", "scott"], weights=w)
    assert [row.method for row in rows] == ["scott", "sheather-jones-r"]
    assert "has no weights" in rows[1].failure
