"""Scores of severe undersmoothing are what 50 digits give: no floor and no cap."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from amortized_kde.research.reproduction import penalties
from amortized_kde.research.reproduction.columns import compute_column, make_tasks, select_bandwidths
from amortized_kde.research.reproduction.penalties import score_with_digits, write_penalties
from amortized_kde.research.reproduction.protocol import BEDS, Chunk, Scale
from amortized_kde.research.reproduction.run import run_bed
from amortized_kde.research.reproduction.tables import read_columns
from amortized_kde.research.tasks import GaussianWorld, MixtureWorld

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
    monkeypatch.setattr(penalties.importlib.util, "find_spec", lambda name: None)
    assert not write_penalties(BEDS["gaussian"], TINY, tmp_path)
    assert not list(tmp_path.iterdir())
