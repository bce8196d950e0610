"""Tables read back, and paired differences."""

import numpy as np
import pytest

from amortized_kde.research.reproduction.evidence import read_evidence


def test_curves_are_the_tables_numbers(make_results):
    bed = read_evidence(make_results(scores={("gmm", "lscv", 20): 0.123})).beds["gmm"]
    assert bed.sizes.tolist() == [5, 10, 20, 50, 90, 256]
    assert bed.curves["lscv"].excess[2] == 0.123
    assert bed.curves["truth"].score.tolist() == [-0.5] * 6
    assert bed.only(("amortized:gaussian", "lcv")) == ("lcv",)


def test_limits_are_paired(make_results):
    bed = read_evidence(make_results()).beds["gmm"]
    apart = bed.difference("silverman", "amortized:gmm32")
    np.testing.assert_allclose(apart.mean, 12.0 / bed.sizes, rtol=1e-12)
    assert np.all((apart.lower < apart.mean) & (apart.mean < apart.upper))
    # Chunks wobble by a tenth of a bit; what they share cancels in a difference.
    assert np.all(apart.upper - apart.lower < 0.06 * apart.mean)
    assert apart.verdicts.tolist() == [1] * 6
    assert bed.difference("amortized:gmm32", "silverman").verdicts.tolist() == [-1] * 6


def test_limits_by_the_slow_way(make_results):
    bed = read_evidence(make_results()).beds["gaussian"]
    apart = bed.difference("lscv", "silverman")
    rng = np.random.default_rng(1)
    chunks = (bed.chunks["lscv"] - bed.chunks["silverman"])[0]
    means = [chunks[rng.integers(0, 10, 10)].mean() for _ in range(4000)]
    assert apart.lower[0] == pytest.approx(np.quantile(means, 0.05), abs=0.1 * np.std(means))
    assert apart.upper[0] == pytest.approx(np.quantile(means, 0.95), abs=0.1 * np.std(means))


def test_larger_chunks_weigh_more(make_results):
    folder = make_results()
    path = folder / "chunks_gmm.csv"
    rows = path.read_text().splitlines()
    # The last chunk has nearly all tasks, so its difference is nearly the mean, whatever else is drawn.
    path.write_text("\n".join([row.replace(",9,900,100,", ",9,900,1000000,") for row in rows]))
    bed = read_evidence(folder).beds["gmm"]
    last = bed.chunks["lscv"][:, 9] - bed.chunks["truth"][:, 9]
    np.testing.assert_allclose(bed.difference("lscv", "truth").upper, last, rtol=1e-2)


def test_without_chunks_the_limits_are_wider(make_results):
    folder = make_results()
    narrow = read_evidence(folder).beds["gmm"].difference("amortized:gmm8", "amortized:gmm32")
    (folder / "chunks_gmm.csv").unlink()
    wide = read_evidence(folder).beds["gmm"].difference("amortized:gmm8", "amortized:gmm32")
    assert np.all(wide.mean == narrow.mean)
    assert np.all(wide.upper - wide.lower > narrow.upper - narrow.lower)
    assert wide.verdicts.tolist() == [0] * 6
    assert narrow.paired
    assert not wide.paired


def test_what_is_missing_is_empty(tmp_path):
    evidence = read_evidence(tmp_path)
    assert not evidence.beds
    assert evidence.rows("families.csv") == []
    assert evidence.run == {}


def test_a_method_without_all_sizes_is_left_out(make_results):
    folder = make_results()
    path = folder / "gmm.csv"
    path.write_text("\n".join(row for row in path.read_text().splitlines() if not row.startswith("50,lcv,")))
    bed = read_evidence(folder).beds["gmm"]
    assert "lcv" not in bed.curves
    assert "lscv" in bed.curves
