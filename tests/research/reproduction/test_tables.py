"""Tables from one tiny run of the ten families, against sums over the stored scores; the paired bootstrap."""

import csv
import math
from dataclasses import replace

import numpy as np
import pytest

from amortized_kde.errors import UnreadableFileError
from amortized_kde.research.reproduction.columns import lower_oracle, read_chunk
from amortized_kde.research.reproduction.protocol import BEDS, SIZES, BalancedWorld, Scale, chunks_of
from amortized_kde.research.reproduction.run import run_bed
from amortized_kde.research.reproduction.tables import bootstrap_means, write_csv, write_tables
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


@pytest.fixture(scope="module")
def paired():
    rng = np.random.default_rng(3)
    common = rng.exponential(1.0, 400)
    return np.stack([common, common + 0.1 * rng.standard_normal(400), 1e9 * common, np.full(400, 2.5)], axis=1)


def test_all_methods_share_the_indices_of_a_replicate(paired):
    # An indicator of every task counts how often each was drawn.
    counts = 400.0 * bootstrap_means(np.eye(400), seed=7, stream=2, replicates=20)
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-9)
    np.testing.assert_allclose(counts.sum(axis=1), 400.0)
    slow = np.stack([(row[:, None] * paired).sum(axis=0) / 400.0 for row in np.rint(counts)])
    np.testing.assert_allclose(bootstrap_means(paired, seed=7, stream=2, replicates=20), slow, rtol=1e-12)


def test_every_task_is_as_likely_as_any_other():
    counts = np.rint(50.0 * bootstrap_means(np.eye(50), seed=11, replicates=4000))
    # Sums over 4000 replicates of a binomial count with mean 1 and variance 1 - 1/50.
    z = (counts.sum(axis=0) - 4000.0) / math.sqrt(4000.0 * 0.98)
    assert np.abs(z).max() < 4.5
    assert 30.0 < np.sum(z**2) < 75.0
    assert counts.var() == pytest.approx(0.98, rel=0.02)


def test_spread_and_centre_are_those_of_the_mean(paired):
    means = bootstrap_means(paired, seed=1)
    error = paired.std(axis=0) / math.sqrt(400)
    assert np.all(np.abs(means.mean(axis=0) - paired.mean(axis=0)) <= 4.0 * error / math.sqrt(1000))
    np.testing.assert_allclose(means[:, :3].std(axis=0), error[:3], rtol=0.1)
    # Paired: the difference of two methods varies far less than either.
    assert np.std(means[:, 1] - means[:, 0]) < 0.15 * np.std(means[:, 0])
    assert np.all(means[:, 3] == 2.5)


def test_the_same_bits_on_any_number_of_threads(paired):
    np.testing.assert_array_equal(
        bootstrap_means(paired, seed=1, threads=1), bootstrap_means(paired, seed=1, threads=3)
    )
    assert (bootstrap_means(paired, seed=1)[:, 0] != bootstrap_means(paired, seed=2)[:, 0]).any()
    assert (bootstrap_means(paired, seed=1)[:, 0] != bootstrap_means(paired, seed=1, stream=1)[:, 0]).any()


def test_infinite_scores_stay_infinite():
    means = bootstrap_means(np.array([[1.0, 1.0], [math.inf, 2.0]]), seed=1, replicates=50)
    assert set(np.unique(means[:, 0])) == {1.0, math.inf}
    assert np.isfinite(means[:, 1]).all()
