"""Columns of a table: checked, side by side, and with a sentence for what is left out."""

import pickle

import numpy as np
import pytest

from amortized_kde.app.columns import MOST_VALUES, read_choice, read_rows
from amortized_kde.app.tables import Table, open_file, open_text
from amortized_kde.errors import InvalidSampleError


def test_too_many_values():
    many = np.zeros(MOST_VALUES + 1)
    table = Table(("x",), (0,), (), lambda _: (many, ()))
    for read in (lambda: read_choice(table, 0), lambda: read_rows(table)):
        with pytest.raises(InvalidSampleError, match="1,000,001 values, and this page takes up to 1,000,000"):
            read()


def test_rows_are_checked_and_aligned():
    table = open_text("a,b,obs\n1,2,3\n4,,6\n", "the text")
    columns, rows, left_out = read_rows(table)
    assert (columns, rows.shape, left_out) == ((0, 1, 2), (2, 3), [])
    assert np.isnan(rows).tolist() == [[False, False, False], [False, True, False]]
    with pytest.raises(InvalidSampleError, match="inf in column 'b'"):
        read_rows(open_text("a,b\n1,2\n4,inf\n", "the text"))


@pytest.mark.parametrize("line", [1, 3, 200])
def test_a_member_with_a_wrong_cell_is_left_out_and_the_cell_is_named(line, workbook):
    cells = [[float(k), k + 1.0, k + 2.5, "here"] for k in range(250)]
    cells[line][1] = "oops"
    text = "a,b,c,place\n" + "\n".join(",".join(map(str, row)) for row in cells)
    book = workbook(s=[["a", "b", "c", "place"], *cells])
    for table, place in (
        (open_text(text, "e.csv"), f"line {line + 2}"),
        (open_file(book, "e.csv"), f"row {line + 2}"),
    ):
        columns, rows, left_out = read_rows(table)
        assert (columns, rows.shape) == ((0, 2), (250, 2))
        assert left_out == [
            f"Column 'b' is left out: e.csv, {place}: 'oops' in column 'b' is not a number; correct it, or leave the "
            "cell empty if the value is missing."
        ]


def test_opened_tables_can_be_sent_to_another_process(workbook):
    for content in (b"a,b\n1,2\n3,4\n", b"1 2\n3 4\n", workbook(s=[["a", "b"], [1, 2], [3, 4]])):
        table = open_file(content, "a file")
        assert np.array_equal(read_rows(pickle.loads(pickle.dumps(table)))[1], read_rows(table)[1])


def test_a_column_of_weights():
    table = open_text("x,w,v\n1,2,3\n2,,3\n,5,3\n4,0.5,3\n", "the text")
    found = read_choice(table, 0, 1)
    assert (found.values.tolist(), found.weights.tolist()) == ([1.0, 4.0], [2.0, 0.5])
    assert found.remarks[-1] == "2 missing left out"
    assert read_choice(table, 0).weights is None
