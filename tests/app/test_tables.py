"""Uploaded files: recognised by content, with one sentence for everything that can be wrong."""

import contextlib
import gzip
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.app.columns import read_choice, read_rows
from amortized_kde.app.tables import open_file, open_text, size_of
from amortized_kde.errors import AmortizedKdeError, InvalidSampleError, UnreadableFileError


def first(content, name="a file"):
    table = open_file(content, name)
    return read_choice(table, table.first)


def parquet(**columns):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


TEXTS = {
    "CSV": b"who,x\nann,1.5\nbob,-2\n",
    "CSV with semicolons and decimal commas": b"who;x\nann;1,5\nbob;-2\n",
    "TSV": b"who\tx\nann\t1.5\nbob\t-2\n",
    "one a line with a name": b"x\n1.5\n-2\n",
    "one a line": b"1.5\n-2\n",
    "byte order mark": b"\xef\xbb\xbfx\n1.5\n-2\n",
    "UTF-16": "x\n1.5\n-2\n".encode("utf-16"),
    "Windows-1252": "wer;länge\nann;1,5\nbob;-2\n".encode("cp1252"),
}


@pytest.mark.parametrize("content", TEXTS.values(), ids=TEXTS)
def test_texts(content):
    assert first(content).values.tolist() == [1.5, -2.0]


def test_what_was_recognised_is_said():
    assert first(TEXTS["CSV with semicolons and decimal commas"]).remarks == (
        "2 rows",
        "columns separated by semicolons",
        "with decimal commas",
    )
    assert "not UTF-8 and was read as Windows-1252" in first(TEXTS["Windows-1252"]).remarks[0]
    assert open_file(TEXTS["Windows-1252"], "x").names == ("wer", "länge")
    assert first(TEXTS["UTF-16"]).remarks[0] == "the text is UTF-16"
    assert first(b"a,x\nu,1\nv,\nw,NA\n").remarks[-1] == "2 missing left out"


def test_a_table_without_a_header_offers_all_numbers_and_columns():
    table = open_text("1 2\n3 4\n5 6", "the text")
    assert table.names == ("all numbers together", "column 1", "column 2")
    assert read_choice(table, 0).values.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert read_choice(table, 2).values.tolist() == [2.0, 4.0, 6.0]
    assert [read_choice(table, k).name for k in (0, 2)] == ["value", "column 2"]
    assert (table.first, open_file(b"1 2\n3 4\n", "x").first, open_file(b"1\n2\n", "x").first) == (0, 1, 0)


def test_code_is_no_header():
    assert read_choice(open_text("c(1, 2,\n3)", "the text"), 0).values.tolist() == [1.0, 2.0, 3.0]
    assert read_choice(open_text("array([1., 2.,\n 3.])", "the text"), 0).values.tolist() == [1.0, 2.0, 3.0]


def test_parquet():
    table = open_file(parquet(who=["a", "b"], x=[1.5, None], n=[1, 2]), "t.parquet")
    assert (table.names, table.numeric, table.first) == (("who", "x", "n"), (1, 2), 1)
    assert read_choice(table, 1).values.tolist() == [1.5]
    columns, rows, left_out = read_rows(table)
    assert (columns, rows.tolist()[0], left_out) == ((1, 2), [1.5, 1.0], [])
    with pytest.raises(InvalidSampleError, match="holds string, not numbers"):
        read_choice(table, 0)


WRONG = {
    "empty": (b"", InvalidSampleError, "is empty"),
    "blank": (b" \n ", InvalidSampleError, "no numbers"),
    "words": (b"hello\nworld\n", InvalidSampleError, "'world' in column 'hello' is not a number"),
    "columns of words": (b"a,b\nu,v\n", InvalidSampleError, "none of the columns of .* holds numbers: a, b"),
    "a picture": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", UnreadableFileError, "is neither text, nor an Excel"),
    "a program": (b"\x7fELF\x02\x01\x01\x00\x00\x00", UnreadableFileError, "is neither text, nor an Excel"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", UnreadableFileError, "old .xls file or protected by a password"),
    "a broken archive": (b"PK\x03\x04 and nothing", UnreadableFileError, "cannot be read as an Excel workbook"),
    "broken parquet": (b"PAR1 but not really", UnreadableFileError, "cannot be read as a Parquet file"),
    "all missing": (b"x,y\nNA,1\nNA,2\n", InvalidSampleError, "column 'x' has no numbers; choose another"),
    "all missing without a header": (b"NA\nNA\n", InvalidSampleError, "all values are missing; at least two"),
    "infinite": (b"x\n1\n-inf\n", InvalidSampleError, "-inf in column 'x' is not within"),
    "a long row": (b"a,b\n1,2\n1,2,3\n", UnreadableFileError, "line 3 has 3 cells"),
    "an undefined byte": (b"x\n\x81\x8d\n", UnreadableFileError, "is neither text"),
}


@pytest.mark.parametrize(("content", "error", "sentence"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said(content, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        read_choice(open_file(content, "a file"), 0)
    assert "\n" not in str(caught.value)


def test_parquet_without_numbers():
    with pytest.raises(InvalidSampleError, match="none of the columns of t holds numbers: who"):
        open_file(parquet(who=["a", "b"]), "t")


def test_names_are_one_line_of_limited_length():
    table = open_text(f"a\u202e b,{'c' * 1000}\n1,2\n3,4\n", "the text")
    assert table.names == ("a b", "c" * 79 + "…")


def test_what_may_unpack_to_more_is_large(workbook):
    assert size_of(b"1\n2\n") == 4
    book = workbook(s=[["x"], [1.0]])
    assert len(book) < size_of(book) < 100_000
    assert size_of(b"PK\x03\x04 and nothing") == 16
    for unknown in (b"PAR1", b"ARROW1", b"\x1f\x8b"):
        assert size_of(unknown) > 10**12


def test_gzip_and_feather(monkeypatch):
    pandas = pytest.importorskip("pandas")
    assert first(gzip.compress(b"x\n1\n2\n")).values.tolist() == [1.0, 2.0]
    file = io.BytesIO()
    pandas.DataFrame({"who": ["a", "b"], "x": [1.5, 2.5]}).to_feather(file)
    assert first(file.getvalue()).values.tolist() == [1.5, 2.5]
    assert first(gzip.compress(file.getvalue())).values.tolist() == [1.5, 2.5]
    monkeypatch.setattr("amortized_kde.app.tables._MOST_UNPACKED", 1000)
    with pytest.raises(UnreadableFileError, match="more than 0 MB when unpacked"):
        first(gzip.compress(b"1\n" * 1000))


@given(st.binary(max_size=80))
def test_any_content_gives_numbers_or_a_sentence(content):
    with contextlib.suppress(AmortizedKdeError):
        assert np.isfinite(first(content).values).all()
