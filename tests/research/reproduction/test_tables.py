"""Tables from one tiny run of the ten families, against sums over the stored scores."""

import csv
import math
from dataclasses import replace

import numpy as np
import pytest

from amortized_kde.errors import UnreadableFileError
from amortized_kde.research.reproduction.columns import lower_oracle
from amortized_kde.research.reproduction.protocol import BEDS, SIZES, BalancedWorld, Scale, chunks_of
from amortized_kde.research.reproduction.run import run_bed
from amortized_kde.research.reproduction.store import read_chunk
from amortized_kde.research.reproduction.tables import write_csv, write_tables
from amortized_kde.research.tasks import FAMILIES, make_pool

TINY = Scale("tiny", 20, 10, 1, 1)
BED = BEDS["multifamily"]


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("families")
    # A hundred settings a family are quicker made than ten thousand.
    run_bed(replace(BED, make_world=lambda: BalancedWorld(make_pool(100))), TINY, folder)
    write_tables(BED, TINY, folder)
    return folder


@pytest.fixture(scope="module")
def scores(folder):
    """Scores (tasks,) by size and method, the oracle no worse than any."""
    found = {}
    for n in SIZES:
        parts = [lower_oracle(read_chunk(folder, chunk).columns) for chunk in chunks_of(BED, TINY) if chunk.n == n]
        for method in BED.methods:
            found[n, method] = np.concatenate([part[method].scores for part in parts])
    return found


def test_means_and_medians_are_over_all_tasks(folder, scores):
    table = rows(folder / "multifamily.csv")
    assert [(int(row["n"]), row["method"]) for row in table] == list(scores)
    for row in table:
        own, truth = scores[int(row["n"]), row["method"]], scores[int(row["n"]), "truth"]
        assert int(row["tasks"]) == 20
        assert float(row["score_bits"]) == np.mean(own)
        assert float(row["excess_bits"]) == np.mean(own - truth)
        assert float(row["median_excess_bits"]) == np.median(own - truth)
        assert int(row["failures"]) == 0
        for name in ("score", "excess"):
            assert float(row[f"{name}_lower"]) <= float(row[f"{name}_bits"]) <= float(row[f"{name}_upper"])


def test_limits_of_the_excess_are_paired(folder, scores):
    for row in rows(folder / "multifamily.csv"):
        n, method = int(row["n"]), row["method"]
        excess = scores[n, method] - scores[n, "truth"]
        width = float(row["excess_upper"]) - float(row["excess_lower"])
        # 2 x 1.645 standard errors, to within what 1000 replicates of a skewed mean can show.
        expected = 3.29 * excess.std() / math.sqrt(20)
        assert width == pytest.approx(expected, rel=0.25, abs=1e-12)


def test_no_method_is_below_the_oracle(folder):
    table = {(row["n"], row["method"]): float(row["score_bits"]) for row in rows(folder / "multifamily.csv")}
    for (n, method), score in table.items():
        assert method == "truth" or score >= table[n, "oracle"]


def test_families_are_every_tenth_task(folder, scores):
    table = rows(folder / "families.csv")
    assert len(table) == 31 * 10 * len(BED.methods)
    for row in table:
        n, first = int(row["n"]), list(FAMILIES).index(row["family"])
        excess = (scores[n, row["method"]] - scores[n, "truth"])[first::10]
        assert int(row["tasks"]) == 2
        assert float(row["excess_bits"]) == pytest.approx(excess.mean(), rel=1e-12, abs=1e-15)
        assert float(row["standard_error"]) == pytest.approx(excess.std(ddof=1) / math.sqrt(2.0), rel=1e-12, abs=1e-15)


def test_tables_need_every_column(tmp_path):
    with pytest.raises(UnreadableFileError, match="no scores of truth for multifamily, n = 5"):
        write_tables(BED, TINY, tmp_path)


def test_numbers_keep_their_bits(tmp_path):
    numbers = [math.pi, 1e300, -5e-324, 0.1, 2.0 / 3.0]
    write_csv(tmp_path / "x.csv", ["x"], [[number] for number in numbers])
    assert [float(row["x"]) for row in rows(tmp_path / "x.csv")] == numbers
