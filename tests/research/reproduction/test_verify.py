"""Verification of tables: the same bits from the table alone, and a wrong number is noticed."""

import csv

import pytest

from amortized_kde.errors import UnreadableFileError
from amortized_kde.research.reproduction.protocol import BEDS, Scale
from amortized_kde.research.reproduction.run import run_bed
from amortized_kde.research.reproduction.tables import write_csv, write_tables
from amortized_kde.research.reproduction.verify import verify_tables

TINY = Scale("tiny", 10, 5, 1, 1)
BED = BEDS["gaussian"]


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gaussian")
    run_bed(BED, TINY, folder)
    write_tables(BED, TINY, folder)
    return folder


def test_verification_recomputes_the_same_bits_without_the_stored_scores(folder, tmp_path):
    (tmp_path / "chunks_gaussian.csv").write_bytes((folder / "chunks_gaussian.csv").read_bytes())
    compared = verify_tables(tmp_path, seed=4)
    assert len({found.chunk for found in compared}) == 3
    for found in compared:
        assert found.worst == 0.0
        assert set(found.differences) == set(BED.methods)
    assert [found.chunk for found in verify_tables(tmp_path, seed=4, threads=1)] == [f.chunk for f in compared]


@pytest.mark.parametrize("wrong", ["1e-8", "nan"])
def test_verification_notices_a_wrong_number(folder, tmp_path, wrong):
    lines = rows(folder / "chunks_gaussian.csv")
    for line in lines:
        if line["method"] == "lscv":
            line["score_bits"] = repr(
                float(line["score_bits"]) + float(wrong) * max(1.0, abs(float(line["score_bits"])))
            )
    write_csv(tmp_path / "chunks_gaussian.csv", list(lines[0]), [list(line.values()) for line in lines])
    compared = verify_tables(tmp_path, seed=5)
    assert not any(found.agrees for found in compared)
    assert all(found.differences["silverman"] == 0.0 for found in compared)


def test_verification_needs_a_table_of_ours(tmp_path):
    with pytest.raises(UnreadableFileError, match="no chunks_"):
        verify_tables(tmp_path, seed=1)
    (tmp_path / "chunks_gmm.csv").write_text("n,chunk,first,tasks,method,score_bits\n4,0,0,10,lscv,1.0\n")
    with pytest.raises(UnreadableFileError, match="n = 4"):
        verify_tables(tmp_path, seed=1)
    (tmp_path / "chunks_gmm.csv").write_text("something,else\n1,2\n")
    with pytest.raises(UnreadableFileError, match="not a table of chunks"):
        verify_tables(tmp_path, seed=1)
