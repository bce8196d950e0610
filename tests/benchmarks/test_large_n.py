import csv
import math

import numpy as np
import pytest
from KDEpy.bw_selection import improved_sheather_jones

from contests.large_n import (
    ESTIMATORS,
    KDEPY,
    TRUTHS,
    Truth,
    _mended_isj,
    compare,
    errors,
    peak_memory,
    write_rows,
)

SAMPLE = np.random.default_rng(1).standard_normal(200_000)


def log_normal_density(mean, sd):
    return lambda y: -0.5 * ((y - mean) / sd) ** 2 - math.log(sd * math.sqrt(2.0 * math.pi))


@pytest.mark.parametrize("name", TRUTHS)
def test_the_truth_has_no_error_and_mass_one(name):
    truth = TRUTHS[name]
    x = truth.draw(np.random.default_rng(2), 100_000)
    with np.errstate(divide="ignore"):
        excess, squared = errors(lambda y: np.log(truth.pdf(y)), truth, x)
        # A density that is everywhere a hundredth too high lacks as many bits of excess.
        higher, _ = errors(lambda y: np.log(1.01 * truth.pdf(y)), truth, x)
    assert abs(excess) < 1e-13
    assert squared < 1e-25
    assert higher == pytest.approx(-math.log2(1.01), rel=1e-3)


def test_samples_follow_their_densities():
    for truth in TRUTHS.values():
        x = truth.draw(np.random.default_rng(3), 100_000)
        edges = np.quantile(x, np.linspace(0.05, 0.95, 19))
        y = edges[:-1] + np.linspace(0.0, 1.0, 401)[:, None] * np.diff(edges)
        np.testing.assert_allclose(np.trapezoid(truth.pdf(y), y, axis=0), 0.05, rtol=0.06)


def test_errors_between_two_normal_densities():
    excess, squared = errors(log_normal_density(0.0, 1.1), TRUTHS["normal"], SAMPLE)
    assert excess == pytest.approx((math.log(1.1) + 0.5 / 1.21 - 0.5) / math.log(2.0), rel=1e-2)
    crossed = math.exp(log_normal_density(0.0, math.hypot(1.0, 1.1))(0.0))
    own = sum(math.exp(log_normal_density(0.0, sd * math.sqrt(2.0))(0.0)) for sd in (1.0, 1.1))
    assert squared == pytest.approx(own - 2.0 * crossed, rel=1e-6)


def test_density_outside_the_truth_counts_as_squared_error():
    truth = Truth((0.0, None), TRUTHS["with a bound"].pdf, TRUTHS["with a bound"].draw)
    x = truth.draw(np.random.default_rng(4), 10_000)
    _, squared = errors(lambda y: np.where(y < 0.0, math.log(0.5), np.log(np.maximum(truth.pdf(y), 1e-300))), truth, x)
    assert squared == pytest.approx(0.25 * 0.05 * np.ptp(x), rel=0.01)


def test_rows_and_file(tmp_path):
    rows = compare("with a bound", 3000, repeats=1)
    assert [row.estimator for row in rows] == list(ESTIMATORS)
    assert all(row.seconds > 0.0 and math.isfinite(row.excess) and row.squared > 0.0 for row in rows)
    assert rows[0].ratio == 1.0
    ours = {row.estimator: row for row in rows}["amortized"]
    assert ours.excess < rows[0].excess
    write_rows(tmp_path / "large_n.csv", rows)
    with open(tmp_path / "large_n.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["estimator"] for line in lines] == list(ESTIMATORS)
    assert float(lines[2]["excess bits"]) == pytest.approx(ours.excess, rel=0.01)


def test_kdepys_bandwidth_hangs_on_the_unit_and_the_mended_one_less():
    """What is said of it in the module: at most half, and the less the smaller the numbers are."""
    x = SAMPLE[:20_000]
    found = [float(improved_sheather_jones(c * x[:, None])) / c for c in (0.1, 1.0, 100.0)]
    mended = [_mended_isj(c * x) / c for c in (0.1, 1.0, 100.0)]
    assert found[0] < 0.3 * found[2]
    assert found[2] == pytest.approx(0.5 * mended[2], rel=0.01)
    assert mended[1] == pytest.approx(mended[2], rel=0.1)


def test_memory_is_counted():
    peak_memory("amortized", 70_000)
    assert 8.0 < peak_memory("amortized", 70_000) < 400.0
    assert KDEPY in ESTIMATORS
