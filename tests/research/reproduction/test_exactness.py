"""The integral of the score against mpmath and closed forms; scores of undersmoothing against 50 digits."""

import csv
import math
from dataclasses import replace
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from amortized_kde.density import KernelDensity
from amortized_kde.research.reproduction import exactness
from amortized_kde.research.reproduction.columns import compute_column, make_tasks, select_bandwidths
from amortized_kde.research.reproduction.exactness import (
    normal_integral,
    score_with_digits,
    write_penalties,
    write_quadrature,
)
from amortized_kde.research.reproduction.protocol import BEDS, SIZES, Chunk, Scale
from amortized_kde.research.reproduction.run import run_bed
from amortized_kde.research.reproduction.tables import read_columns
from amortized_kde.research.tasks import GaussianWorld, MixtureWorld
from amortized_kde.score import expected_score_under_normal, log_score


@pytest.mark.parametrize("h", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("x", [0.0, 1.5, -3.0])
def test_one_value_has_a_closed_form(x, h):
    exact = 0.5 * math.log2(2.0 * math.pi * h * h) + (1.0 + x * x) / (2.0 * h * h * math.log(2.0))
    assert normal_integral(np.array([x]), h) == pytest.approx(exact, rel=1e-13)


def bits_with_digits(sample, h):
    """The integral by mpmath, cut halfway between neighbours and around those bends."""
    with mpmath.workdps(30):
        values, width = [mpmath.mpf(x) for x in sample], mpmath.mpf(h)

        def integrand(y):
            q = mpmath.fsum(mpmath.npdf(y, x, width) for x in values) / len(values)
            return -mpmath.npdf(y) * mpmath.log(q, 2)

        ends = {mpmath.mpf(k) for k in (-14, -6, -3, 0, 3, 6, 14)}
        for a, b in pairwise(values):
            reach = width**2 / (b - a)
            ends |= {(a + b) / 2 + k * reach for k in (-60, -15, -5, 0, 5, 15, 60)} | {a, b}
        return float(mpmath.quad(integrand, sorted(ends)))


@pytest.mark.parametrize("h", [0.02, 0.15, 0.8])
def test_against_mpmath(h):
    sample = [-1.2, -0.31, -0.3, 0.4, 1.9]
    assert normal_integral(np.array(sample), h) == pytest.approx(bits_with_digits(sample, h), rel=1e-12)


def test_tiny_bandwidths_against_the_nearest_value_alone():
    # At h = 1e-6 the density is that of the nearest value alone, but for one part in 1e10.
    sample, h = np.array([-0.7, 0.2, 0.9]), 1e-6
    ends = [-np.inf, -0.25, 0.55, np.inf]
    squares = sum(
        integrate.quad(lambda y, x=x: (y - x) ** 2 * stats.norm.pdf(y), low, high, epsabs=1e-14)[0]
        for x, (low, high) in zip(sample, pairwise(ends), strict=True)
    )
    exact = math.log2(3.0 * h * math.sqrt(2.0 * math.pi)) + squares / (2.0 * h * h * math.log(2.0))
    assert normal_integral(sample, h) == pytest.approx(exact, rel=1e-9)


def test_against_scipy_for_a_usual_sample():
    sample = np.random.default_rng(5).standard_normal(40)
    density = KernelDensity(sample, bandwidth=0.25)
    direct = integrate.quad(
        lambda y: stats.norm.pdf(y) * log_score(density, y), -12.0, 12.0, epsabs=1e-12, epsrel=1e-12, limit=500
    )[0]
    assert normal_integral(sample, 0.25) == pytest.approx(direct, rel=1e-11)


def test_the_sum_misses_only_where_bandwidths_are_small():
    sample = np.random.default_rng(6).standard_normal(12)
    for h, low, high in [(0.6, 0.0, 1e-9), (0.01, 1e-3, 1e3)]:
        missed = abs(expected_score_under_normal(KernelDensity(sample, bandwidth=h)) - normal_integral(sample, h))
        assert low <= missed <= high


def test_the_table_has_both_numbers_for_every_size_and_method(tmp_path):
    bed = BEDS["gaussian"]
    write_quadrature(bed, Scale("tiny", 10, 10, 2, 1), tmp_path)
    with open(tmp_path / "quadrature.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(int(r["n"]), r["method"]) for r in rows] == [(n, m) for n in SIZES for m in bed.methods if m != "truth"]
    for row in rows:
        missed = abs(float(row["gauss_hermite_bits"]) - float(row["integral_bits"]))
        assert missed <= float(row["worst_miss_bits"]) + 1e-15
        assert int(row["tasks"]) == 2
    learned = [float(row["worst_miss_bits"]) for row in rows if row["method"] == "amortized:gaussian"]
    assert max(learned) < 1e-6


WORLDS = {"gaussian": GaussianWorld(), "gmm": MixtureWorld(32)}


def clustered(bed, count):
    """Tasks of n = 5, all values but one drawn together in a cluster, ever tighter; every eighth point judges."""
    tasks = make_tasks(Chunk(bed, 5, 0, count), WORLDS[bed])
    values = tasks.judge.values.reshape(count, 5).copy()
    values[:, :4] = values[:, 1:2] + (values[:, :4] - values[:, 1:2]) * np.geomspace(1.0, 1e-5, count)[:, None]
    return replace(tasks, judge=replace(tasks.judge.thinned(8), values=values.ravel()))


@pytest.mark.parametrize("bed", WORLDS)
@pytest.mark.parametrize("method", ["silverman", "sheather-jones-r", "lscv"])
def test_fifty_digits_agree(bed, method):
    tasks = clustered(bed, 4)
    scores, h = compute_column(method, tasks).scores, select_bandwidths(method, tasks).bandwidths
    for t in range(4):
        exact = score_with_digits(tasks, t, h[t])
        assert abs(exact - scores[t]) <= 1e-12 * max(1, abs(exact))
    assert scores.max() > 1e6, "no task is undersmoothed severely"


@pytest.mark.parametrize("bed", WORLDS)
def test_gauss_hermite_and_bounded_scores_of_ordinary_samples(bed):
    tasks = make_tasks(Chunk(bed, 5, 0, 2), WORLDS[bed])
    for h in (0.003, 0.4):
        exact = score_with_digits(tasks, 1, h)
        assert abs(exact - tasks.judge.scores(np.full(2, h))[0][1]) <= 1e-13 * abs(exact)


TINY = Scale("tiny", 20, 10, 1, 2)


def test_the_table_holds_the_worst_tasks_and_other_beds_lines_stay(tmp_path):
    bed = BEDS["gaussian"]
    run_bed(bed, TINY, tmp_path)
    (tmp_path / "penalties.csv").write_text("bed,rest\ngmm,kept\ngaussian,old\n")
    assert write_penalties(bed, TINY, tmp_path)
    lines = list(csv.reader((tmp_path / "penalties.csv").read_text().splitlines()))
    assert lines[1] == ["gmm", "kept"]
    rows = [dict(zip(lines[0], line, strict=True)) for line in lines[2:]]
    assert [row["method"] for row in rows] == [m for m in ("silverman", "sheather-jones-r", "lscv") for _ in range(2)]
    parts = [read_columns(tmp_path, bed, Chunk("gaussian", 5, first, 10)) for first in (0, 10)]
    worst = np.sort(np.concatenate([part["lscv"].scores for part in parts]))[::-1][:2]
    assert [float(row["score_bits"]) for row in rows if row["method"] == "lscv"] == worst.tolist()
    for row in rows:
        assert float(row["relative_difference"]) < 1e-13
        assert float(row["score_50_digits"]) == pytest.approx(float(row["score_bits"]), rel=1e-13)


def test_without_mpmath_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(exactness.importlib.util, "find_spec", lambda name: None)
    assert not write_penalties(BEDS["gaussian"], TINY, tmp_path)
    assert not list(tmp_path.iterdir())
