import warnings

import numpy as np
import pytest

from amortized_kde import bandwidth
from amortized_kde.errors import DegenerateSampleError, FallbackWarning


def slow_rule(x, factor):
    scale = min(np.std(x, ddof=1), np.subtract(*np.percentile(x, [75, 25])) / 1.34)
    return factor * scale * x.size**-0.2


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 20, 101, 1000, 6000])
@pytest.mark.parametrize(("method", "factor"), [("silverman", 0.9), ("scott", 1.06)])
def test_against_the_formula(method, factor, n):
    rng = np.random.default_rng(n)
    for x in (rng.standard_normal(n), rng.standard_t(1.5, n), rng.exponential(3.0, n) - 1.0):
        assert bandwidth(x, method=method) == pytest.approx(slow_rule(x, factor), rel=1e-12)


def test_silverman_is_nrd0_of_r(r_rows):
    spread = [row for row in r_rows if np.subtract(*np.percentile(row["values"], [75, 25])) > 0.0]
    assert len(spread) > 55
    for row in spread:
        assert bandwidth(row["values"], method="silverman") == pytest.approx(float(row["bw_nrd0"]), rel=1e-11)


def test_silverman_is_nrd0_of_r_on_the_whole_golden_file(all_r_rows):
    for row in all_r_rows:
        if np.subtract(*np.percentile(row["values"], [75, 25])) > 0.0:
            assert bandwidth(row["values"], method="silverman") == pytest.approx(float(row["bw_nrd0"]), rel=1e-11)


@pytest.mark.parametrize(("method", "factor"), [("silverman", 0.9), ("scott", 1.06)])
def test_without_an_interquartile_range_the_standard_deviation_serves(method, factor):
    x = np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 5.0])
    with pytest.warns(FallbackWarning, match=rf"^{method}: the interquartile range is 0 .*standard deviation"):
        h = bandwidth(x, method=method)
    assert h == pytest.approx(factor * np.std(x, ddof=1) * 8**-0.2, rel=1e-14)


@pytest.mark.parametrize("method", ["silverman", "scott"])
def test_no_scale_is_an_error(method):
    with pytest.raises(DegenerateSampleError, match=f"{method}.*a single value has no scale"):
        bandwidth([3.0], method=method)
    with pytest.raises(DegenerateSampleError, match=f"{method}.*all values are equal"):
        bandwidth([0.1, 0.1, 0.1], method=method)


def test_no_warning_where_the_rule_applies():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bandwidth([1.0, 2.0, 2.0, 4.0], method="silverman") > 0.0


@pytest.mark.parametrize(("method", "factor"), [("silverman", 0.9), ("scott", 1.06)])
def test_weights_give_their_own_spread_and_size(method, factor):
    x, w = np.array([1.0, 2.0, 4.0, 7.0]), np.array([3.0, 3.0, 1.0, 1.0]) / 8.0
    # n = 3.2, and windows of length 0.3125: [0.171875, 0.484375] for the lower quartile, [0.515625, 0.828125] above.
    lower = (0.203125 * 1.0 + 0.109375 * 2.0) / 0.3125
    upper = (0.234375 * 2.0 + 0.078125 * 4.0) / 0.3125
    sd = np.sqrt(np.sum(w * (x - 2.5) ** 2) / (1.0 - np.sum(w**2)))
    expected = factor * min(sd, (upper - lower) / 1.34) * 3.2**-0.2
    assert bandwidth(x, weights=w, method=method) == pytest.approx(expected, rel=1e-13)
    # Nearly all weight in the middle leaves no interquartile range, or hardly one.
    heavy = np.array([1.0, 1e6, 1.0, 1.0])
    assert 0.0 < bandwidth(x, weights=heavy, method=method) < 1e-5
