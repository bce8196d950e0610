"""The comparison of selectors against its slow obvious twin, and on samples where some of them have no answer."""

import math
import sys
import warnings
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from amortized_kde import KernelDensity, bandwidth, compare, selectors
from amortized_kde._compare import ComparisonRow
from amortized_kde.errors import (
    DegenerateSampleError,
    FallbackWarning,
    InvalidBoundsError,
    InvalidParameterError,
    InvalidSampleError,
    MissingExtraError,
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
    rows = compare(sample, methods=METHODS, bounds=bounds, folds=folds, rng=7)
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
        assert row.modes == len(whole.modes())
        assert row.density.logpdf(3.0) == whole.logpdf(3.0)
        assert (row.failure, row.note) == (None, None)


def test_the_order_of_the_sample_and_of_the_methods_does_not_matter(sample):
    there = compare(sample, methods=METHODS)
    back = compare(sample[::-1], methods=METHODS[::-1])
    assert there == back


def test_the_seed_deals_the_folds(sample):
    first, second, third = (compare(sample, methods=METHODS, rng=seed) for seed in (0, 0, 1))
    assert first == second
    assert first.rows[0].score != third.rows[0].score


def test_threads_do_not_change_the_answer():
    # Enough work for a pool of threads.
    x = np.random.default_rng(2).normal(size=300)
    assert compare(x, methods=METHODS, threads=1) == compare(x, methods=METHODS, threads=2)


def test_the_sample_stays_as_it_was(sample):
    before = sample.copy()
    compare(sample, methods=["silverman"])
    assert np.array_equal(sample, before)


def test_a_method_named_twice_is_one_row(sample):
    assert len(compare(sample, methods=["silverman", "silverman"])) == 1


def test_a_single_value_has_neither_bandwidth_nor_score():
    (row,) = compare([3.0], methods=["silverman"])
    assert (row.bandwidth, row.score, row.difference, row.modes, row.density) == (None,) * 5
    assert "a single value has no scale" in row.failure


def test_two_values_have_a_bandwidth_but_no_score():
    (row,) = compare([3.0, 5.0], methods=["silverman"])
    assert row.bandwidth == bandwidth([3.0, 5.0], method="silverman")
    assert (row.score, row.difference, row.modes) == (None, None, 2)
    assert row.failure.startswith("in 2 of 2 folds: ")


def test_few_values_are_left_out_one_by_one():
    x = [0.0, 1.0, 1.5, 4.0]
    (row,) = compare(x, methods=["silverman"])
    assert row.score.value == pytest.approx(slow_twin(x, "silverman", (None, None), 4, 0).mean(), rel=1e-12)


def test_a_method_that_fails_does_not_spoil_the_others(sample, monkeypatch):
    from amortized_kde import _compare

    honest = _compare.fit

    def fails_on_small_parts(x, *, method, **options):
        if method == "scott" and len(x) < sample.size:
            raise DegenerateSampleError("no answer on purpose.")
        return honest(x, method=method, **options)

    monkeypatch.setattr(_compare, "fit", fails_on_small_parts)
    rows = compare(sample, methods=METHODS).rows
    assert [row.method for row in rows][-1] == "scott"
    assert rows[-1].failure == "in 10 of 10 folds: no answer on purpose."
    assert rows[-1].bandwidth is not None
    assert rows[:-1] == compare(sample, methods=["silverman", "lcv"]).rows


def test_fallbacks_are_noted_once_and_do_not_warn():
    # Ten of twelve are tied, so in every training part the interquartile range is 0.
    x = [1.0] * 10 + [2.0, 5.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (row,) = compare(x, methods=["silverman"])
    with pytest.warns(FallbackWarning) as caught:
        bandwidth(x, method="silverman")
    assert row.note == f"{caught[0].message} (11 of 11 fits)"
    assert row.score is not None


def test_bad_input_is_refused(sample):
    with pytest.raises(InvalidParameterError, match="Did you mean 'silverman'"):
        compare(sample, methods=["silvermann"])
    with pytest.raises(InvalidParameterError, match="methods is empty"):
        compare(sample, methods=[])
    for folds in (1, 2.5, True):
        with pytest.raises(InvalidParameterError, match="folds must be a whole number of at least 2"):
            compare(sample, methods=METHODS, folds=folds)
    with pytest.raises(InvalidSampleError, match="NaN"):
        compare([1.0, math.nan], methods=METHODS)
    with pytest.raises(InvalidBoundsError, match="outside the bounds"):
        compare(sample, methods=METHODS, bounds=(5, None))
    with pytest.raises(InvalidParameterError, match="threads"):
        compare(sample, methods=METHODS, threads=0)


def test_the_row_is_frozen(sample):
    (row,) = found = compare(sample, methods=["silverman"])
    assert isinstance(row, ComparisonRow)
    with pytest.raises(AttributeError):
        row.bandwidth = 1.0
    with pytest.raises(AttributeError):
        found.rows = ()


def test_weighted_scores_are_those_of_weighted_fits(sample):
    w = np.random.default_rng(8).gamma(1.0, 1.0, sample.size)
    w[:3] = 0.0
    (row,) = compare(sample, methods=["silverman"], weights=w, folds=5, rng=7)
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
    assert compare(sample, methods=METHODS, weights=np.full(sample.size, 3.0)) == compare(sample, methods=METHODS)


def test_a_selector_without_weights_fails_alone(sample):
    w = np.random.default_rng(9).gamma(1.0, 1.0, sample.size)
    rows = compare(sample, methods=["sheather-jones-r", "scott"], weights=w).rows
    assert [row.method for row in rows] == ["scott", "sheather-jones-r"]
    assert "has no weights" in rows[1].failure


def test_all_methods_are_compared_unless_some_are_named(sample):
    assert {row.method for row in compare(sample)} == set(selectors()) - {"amortized"}
    # The default and R's names are those of the methods that they stand for, each of which is compared once.
    both = compare(sample, methods=["amortized", "amortized:adaptive", "nrd", "scott"])
    assert sorted(row.method for row in both) == ["amortized:adaptive", "scott"]
    assert [row.method for row in compare(sample, methods="scott")] == ["scott"]


@pytest.fixture(scope="module")
def mixed(sample):
    """Two methods with a score and one that fails."""
    w = np.random.default_rng(9).gamma(1.0, 1.0, sample.size)
    return compare(sample, methods=["sheather-jones-r", "scott", "silverman"], weights=w, folds=5, bounds=(0, None))


def test_the_text_is_an_aligned_table(mixed):
    title, _, header, *rows, _, remark = repr(mixed).splitlines()
    assert title == "5-fold held-out logarithmic score in bits; lower is better"
    assert header.split() == ["method", "bandwidth", "score", "s.e.", "to", "best", "±", "s.e.", "modes"]
    assert len({len(line) for line in (header, *rows)}) == 1
    best, second, failed = mixed
    assert rows[0].split()[:5] == [
        best.method,
        f"{best.bandwidth:.6g}",
        f"{best.score.value:.4f}",
        f"{best.score.standard_error:.4f}",
        "best",
    ]
    assert f"{second.difference.value:+.4f} ± {second.difference.standard_error:.4f}" in rows[1]
    assert rows[2].split() == [failed.method, "-", "-", "-", "-", "-"]
    assert remark == f"sheather-jones-r: {failed.failure}"


def test_as_many_folds_as_values_are_leave_one_out():
    x = [0.0, 1.0, 1.5, 4.0]
    assert compare(x, methods=["scott"], folds=3).protocol == "3-fold held-out"
    assert compare(x, methods=["scott"], folds=4).protocol == compare(x, methods=["scott"]).protocol == "leave-one-out"


def test_the_html_is_escaped(mixed):
    nasty = replace(mixed.rows[-1], method="<script>", failure="a < b & c")
    html = replace(mixed, rows=(*mixed.rows[:-1], nasty))._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;: a &lt; b &amp; c" in html
    assert html.count("<tr>") == 4
    ElementTree.fromstring(html)


def test_a_frame_has_a_row_for_each_method(mixed):
    frame = mixed.to_frame()
    assert frame["method"].tolist() == [row.method for row in mixed]
    assert frame["score"].tolist()[:2] == [row.score.value for row in mixed.rows[:2]]
    assert frame["to_best"][0] == 0.0
    assert math.isnan(frame["score"][2])
    assert frame["failure"][2] == mixed.rows[2].failure


def test_without_pandas_a_frame_names_what_is_missing(mixed, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="to_frame needs pandas"):
        mixed.to_frame()


def test_the_plot_has_a_panel_for_each_density(mixed):
    from matplotlib import pyplot

    ax = mixed.plot(count=64)
    panels = [panel for panel in ax.figure.axes if panel.axison]
    assert [panel.get_title().split(",")[0] for panel in panels] == [row.method for row in mixed.rows[:2]]
    assert ax.figure.number in pyplot.get_fignums()
    pyplot.close(ax.figure)


def test_the_plot_can_be_drawn_on_given_axes(mixed):
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    assert mixed.plot(ax) is ax
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [label.split(",")[0] for label in labels] == [row.method for row in mixed.rows[:2]]
    assert f"{mixed.rows[0].score.value:.4f} bits" in labels[0]


def test_nothing_to_plot_is_an_error():
    with pytest.raises(DegenerateSampleError, match="no method could fit this sample; the first error: method 'scott'"):
        compare([3.0], methods=["scott"]).plot()
