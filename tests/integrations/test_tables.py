"""What people hold their numbers in: every shape of file, and every way it can be wrong."""

import csv
import gzip
import io
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amortized_kde import KernelDensity
from amortized_kde.errors import (
    AmortizedKdeWarning,
    InvalidParameterError,
    InvalidSampleError,
    MissingExtraError,
    UnreadableFileError,
    UnwritableFileError,
)
from amortized_kde.integrations.tables import read_column, write_density


@pytest.fixture
def table(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


FORMS = {
    "one a line": "1.5\n-2\n3e1\n",
    "one a line, no last newline": "1.5\n-2\n30",
    "one a line, header": "length\n1.5\n-2\n30\n",
    "header of two words": "length in mm\n1.5\n-2\n30\n",
    "header with a comma": '"length, mm"\n1.5\n-2\n30\n',
    "windows lines": "x\r\n1.5\r\n-2\r\n30\r\n",
    "old mac lines": "x\r1.5\r-2\r30\r",
    "byte order mark": b"\xef\xbb\xbfx\n1.5\n-2\n30\n",
    "blank lines": "\n\nx\n\n1.5\n-2\n   \n30\n\n",
    "blanks around": "  x \n  1.5\n -2 \n30  \n",
    "quoted": '"x"\n"1.5"\n"-2"\n"30"\n',
    "decimal comma, one a line": "x\n1,5\n-2\n3,0e1\n",
    "one line of blanks": "1.5 -2  30\n",
    "one line of commas": "1.5, -2, 30\n",
    "one line of tabs": "1.5\t-2\t30",
    "plus sign and point": "+1.5\n-2.\n30.00\n",
    "only one column of numbers": "who,x\nann,1.5\nbob,-2\ncyd,30\n",
    "trailing commas": "x,\n1.5,\n-2,\n30,\n",
}


@pytest.mark.parametrize("content", FORMS.values(), ids=FORMS)
def test_every_form_gives_the_same_numbers(table, content):
    assert read_column(table(content)).values.tolist() == [1.5, -2.0, 30.0]


COLUMNS = {
    "comma": "a,x\n0,1.5\n0,-2\n0,30\n",
    "semicolon with decimal commas": "a;x\n0;1,5\n0;-2\n0;30\n",
    "tab": "a\tx\n0\t1.5\n0\t-2\n0\t30\n",
    "blanks": "a   x\n0   1.5\n0    -2\n0    30\n",
    "quoted text with the delimiter": 'a,x\n"1,2",1.5\n"3,4",-2\n0,30\n',
    "text with line breaks": 'a,x\n"one\ntwo",1.5\nthree,-2\nfour,30\n',
}


@pytest.mark.parametrize("content", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("column", ["x", "2"])
def test_a_column_by_name_or_number(table, content, column):
    found = read_column(table(content), column)
    assert (found.name, found.values.tolist(), found.omitted) == ("x", [1.5, -2.0, 30.0], 0)


def test_columns_without_a_header_go_by_number(table):
    assert read_column(table("1,10\n2,20\n3,30\n"), "2").values.tolist() == [10.0, 20.0, 30.0]


def test_an_empty_name_in_the_header_goes_by_number(table):
    assert read_column(table(",x\n1,10\n2,20\n"), "1").values.tolist() == [1.0, 2.0]


def test_a_preferred_name_decides_but_need_not_exist(table):
    both = table("a,b\n1,10\n2,20\n")
    assert read_column(both, prefer="b").values.tolist() == [10.0, 20.0]
    with pytest.raises(InvalidParameterError):
        read_column(both, prefer="c")
    assert read_column(table("7\n8\n"), prefer="c").values.tolist() == [7.0, 8.0]


@pytest.mark.parametrize("token", ["", "NA", "nan", "NaN", "null", "N/A", "#N/A", "None", "<NA>"])
def test_missing_values_are_named_or_left_out(table, token):
    path = table(f"a,x\n1,5\n2,{token}\n3,6\n4,{token}\n")
    with pytest.raises(InvalidSampleError, match=r"line 3: .*'x' is missing \(2 of 4 are\).*--nan omit"):
        read_column(path, "x")
    found = read_column(path, "x", nan="omit")
    assert (found.values.tolist(), found.omitted) == ([5.0, 6.0], 2)


def test_short_rows_lack_their_last_values(table):
    assert read_column(table("a,x\n1,5\n2\n3,6\n"), "x", nan="omit").omitted == 1


WRONG = {
    "empty": ("", None, InvalidSampleError, "is empty; at least one number"),
    "blank": (" \n\n", None, InvalidSampleError, "is empty; at least one number"),
    "header only": ("x\n", None, InvalidSampleError, "column 'x' of .* is empty"),
    "all missing": ("x\nNA\nNA\n", None, InvalidSampleError, "all 2 values in column 'x'"),
    "text": ("x\n1\nabc\n", None, InvalidSampleError, "line 3: 'abc' in column 'x' is not a number"),
    "a long text": ("x\n1\n" + "b" * 99, None, InvalidSampleError, r"line 3: 'b{37}\.\.\.' in"),
    "thousands": ("a;x\n1;1,000.5\n", "x", InvalidSampleError, "line 2: '1,000.5' in column 'x' is not a number"),
    "thousands or decimals": ("x;y\n1,000;0\n2.5;0\n", "x", InvalidSampleError, "'1,000' in column 'x'"),
    "underscores": ("x\n1\n1_000\n", None, InvalidSampleError, "'1_000' in column 'x'"),
    "infinite": ("x\n1\n\n-inf\n", None, InvalidSampleError, "line 4: -inf in column 'x' is not within"),
    "too large": ("x\n1\n1e301\n", None, InvalidSampleError, "line 3: 1e[+]301 in column"),
    "no such column": ("alpha,beta\n1,2\n", "Alhpa", UnreadableFileError, "mean 'alpha'.*columns are: alpha, beta"),
    "nothing like it": ("alpha,beta\n1,2\n", "zzz", UnreadableFileError, "no column 'zzz'. Its columns are: alpha"),
    "no header": ("1,2\n3,4\n", "x", UnreadableFileError, "no header line.*by number, 1 to 2"),
    "number too high": ("1,2\n3,4\n", "3", UnreadableFileError, "by number, 1 to 2"),
    "which column": ("t,a,b\nu,1,2\nv,3,4\n", None, InvalidParameterError, "2 columns of numbers: a, b; choose"),
    "which unnamed column": (
        "1 2\n3 4\n",
        None,
        InvalidParameterError,
        "2 columns of numbers and no header line: 1, 2",
    ),
    "no numbers": ("a,b\nu,v\n", None, InvalidSampleError, "none of the columns of .* holds numbers: a, b"),
    "one name twice": ("a,a\n1,2\n", "a", InvalidParameterError, "several columns named 'a'"),
    "a long row": ("a,b\n1,2\n1,2,3\n", "b", UnreadableFileError, "line 3 has 3 cells, but the header has 2"),
    "open quotation": ('a,b\n1,"2\n' + "3,4\n" * 40000, "b", UnreadableFileError, "not a table .* quotation mark"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", None, UnreadableFileError, "is neither text, nor an Excel"),
    "broken excel": (b"PK\x03\x04\xff\x00", None, UnreadableFileError, "cannot be read as an Excel workbook"),
    "old excel": (b"\xd0\xcf\x11\xe0", None, UnreadableFileError, "old .xls file or protected by a password"),
    "broken feather": (b"ARROW1 but not really", None, UnreadableFileError, "cannot be read as a Feather file"),
    "broken gzip": (b"\x1f\x8b but not really", None, UnreadableFileError, "cannot be unpacked by gzip"),
    "cut gzip": (gzip.compress(b"x\n1\n2\n")[:-9], None, UnreadableFileError, "cannot be unpacked by gzip"),
    "broken parquet": (b"PAR1 but not really", None, UnreadableFileError, "cannot be read as a Parquet file"),
}


@pytest.mark.parametrize(("content", "column", "error", "sentence"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said(table, content, column, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        read_column(table(content), column)
    assert "\n" not in str(caught.value)


def test_many_columns_are_listed_in_part(table):
    names = [f"c{i}" for i in range(30)]
    with pytest.raises(InvalidParameterError, match=r"30 columns of numbers: c0, .*, c19 and 10 more;"):
        read_column(table(",".join(names) + "\n" + ",".join("1" * 30) + "\n"))


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(UnreadableFileError, match="there is no file"):
        read_column(str(tmp_path / "nothing.csv"))
    with pytest.raises(UnreadableFileError, match="is a directory"):
        read_column(str(tmp_path))
    with pytest.raises(UnreadableFileError, match="cannot be read"):
        read_column("a\0b")
    (tmp_path / "x").write_text("1\n")
    with pytest.raises(InvalidParameterError, match="--nan must be raise or omit"):
        read_column(str(tmp_path / "x"), nan="drop")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x\n1\n2\n")))
    found = read_column("-")
    assert (found.source, found.values.tolist()) == ("standard input", [1.0, 2.0])


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = str(tmp_path / "t.parquet")
    columns = {"who": ["a", "b", "c"], "i": [1, 2, 3], "x": [1.5, None, 2.5], "f": [True, False, True]}
    parquet.write_table(pa.table(columns), path)
    assert read_column(path, "i").values.tolist() == [1.0, 2.0, 3.0]
    assert read_column(path, "x", nan="omit").values.tolist() == [1.5, 2.5]
    with pytest.raises(InvalidSampleError, match="row 2: the value in column 'x' is missing"):
        read_column(path, "x")
    with pytest.raises(InvalidSampleError, match=r"'who' of .* holds string, not numbers"):
        read_column(path, "who")
    with pytest.raises(UnreadableFileError, match=r"no column 'y'\. Its columns are: who, i, x, f"):
        read_column(path, "y")
    with pytest.raises(InvalidParameterError, match="2 columns of numbers: i, x;"):
        read_column(path)


def test_feather(tmp_path):
    pytest.importorskip("pyarrow")
    path = str(tmp_path / "t.feather")
    pd.DataFrame({"who": ["a", "b", "c"], "x": [1.5, None, 2.5], "w": [1, 2, 3]}).to_feather(path)
    assert read_column(path, "w").values.tolist() == [1.0, 2.0, 3.0]
    found = read_column(path, "x", weights="w", nan="omit")
    assert (found.values.tolist(), found.weights.tolist()) == ([1.5, 2.5], [1.0, 3.0])
    with pytest.raises(InvalidSampleError, match="row 2: the value in column 'x' is missing"):
        read_column(path, "x")
    with pytest.raises(InvalidSampleError, match=r"'who' of .* holds .*string, not numbers"):
        read_column(path, "who")


def test_workbooks(tmp_path, workbook):
    book = workbook(
        first=[["who", "x", "w"], ["ann", 1.5, 1], [], ["bob", None, 2], ["eve", 2.5, -1]],
        bare=[[1, 10], [2, 20]],
        empty=[],
    )
    path = tmp_path / "t.xlsx"
    path.write_bytes(book)
    found = read_column(str(path), "x", nan="omit")
    assert (found.name, found.values.tolist(), found.omitted) == ("x", [1.5, 2.5], 1)
    assert read_column(str(path), "2", sheet="bare").values.tolist() == [10.0, 20.0]
    # Rows are those that Excel shows.
    with pytest.raises(InvalidSampleError, match="row 4: the value in column 'x' is missing"):
        read_column(str(path), "x")
    with pytest.raises(InvalidSampleError, match="row 5: the weight in column 'w' is -1"):
        read_column(str(path), "x", weights="w", nan="omit")
    with pytest.raises(InvalidSampleError, match="row 2: 'ann' in column 'who' is not a number"):
        read_column(str(path), "who")
    with pytest.raises(InvalidParameterError, match="2 columns of numbers: x, w; choose"):
        read_column(str(path))
    with pytest.raises(InvalidParameterError, match="2 columns of numbers and no header line: 1, 2; choose"):
        read_column(str(path), sheet="bare")
    with pytest.raises(UnreadableFileError, match="no sheet 'second'; its sheets are: first, bare, empty"):
        read_column(str(path), sheet="second")
    with pytest.raises(InvalidSampleError, match=r"sheet 'empty' of .* is empty"):
        read_column(str(path), sheet="empty")


def test_a_sheet_of_no_workbook(table):
    with pytest.raises(
        InvalidParameterError, match=r"is not an Excel workbook, so there is no sheet 'a'; omit --sheet"
    ):
        read_column(table("x\n1\n"), sheet="a")


def test_other_encodings_and_gzip(table):
    text = "größe;n\n1,5;1\n2,5;2\n"
    for content in (text.encode("utf-16"), text.encode("utf-8-sig"), gzip.compress(text.encode())):
        found = read_column(table(content), "größe")
        assert (found.name, found.values.tolist()) == ("größe", [1.5, 2.5])
    with pytest.warns(AmortizedKdeWarning, match="was read as Windows-1252; check that its names are right"):
        assert read_column(table(text.encode("latin-1")), "größe").values.tolist() == [1.5, 2.5]


def test_parquet_without_its_library(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="needs pyarrow; install it with: pip install pyarrow"):
        read_column(table(b"PAR1"))


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.floats(-1e300, 1e300), st.one_of(st.none(), st.floats(-1e300, 1e300))), min_size=2, max_size=20
    ),
    delimiter=st.sampled_from([",", ";", "\t", " "]),
    header=st.booleans(),
)
def test_whatever_is_written_is_read_back(rows, delimiter, header):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerows([("a", "b")] * header)
    writer.writerows((a, "NA" if b is None else b) for a, b in rows)
    given_b = [b for _, b in rows if b is not None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.getvalue().encode())))
        if given_b:
            assert read_column("-", "2", nan="omit").values.tolist() == given_b
        else:
            with pytest.raises(InvalidSampleError, match="are missing"):
                read_column("-", "2", nan="omit")


LONG = [(i / 7.0, -i / 3.0) for i in range(500)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " "])
@pytest.mark.parametrize("header", [True, False])
def test_long_tables_are_read_as_short_ones_are(table, delimiter, header):
    lines = ["a" + delimiter + "b"] * header + [f"{a!r}{delimiter}{b!r}" for a, b in LONG]
    plain = read_column(table("\n".join(lines)), "2")
    # A quoted cell at the end sends the whole table the careful way.
    lines[-1] = lines[-1].replace(repr(LONG[-1][1]), f'"{LONG[-1][1]!r}"') if delimiter != " " else lines[-1]
    careful = read_column(table("\n\n".join(lines)), "2")
    assert plain.values.tolist() == careful.values.tolist() == [b for _, b in LONG]


LONG_AND_WRONG = {
    "text": ("oops", "line 402: 'oops' in column 'b'"),
    "missing": ("", "line 402: the value in column 'b' is missing"),
    "infinite": ("inf", "line 402: inf in column 'b'"),
    "a long row": ("1,2", "line 402 has 3 cells, but the header has 2"),
    "underscores": ("1_0", "line 402: '1_0' in column 'b'"),
}


@pytest.mark.parametrize(("cell", "sentence"), LONG_AND_WRONG.values(), ids=LONG_AND_WRONG)
def test_long_tables_are_checked_to_the_end(table, cell, sentence):
    lines = ["a,b"] + [f"{a!r},{b!r}" for a, b in LONG]
    lines[401] = f"1,{cell}"
    with pytest.raises((InvalidSampleError, UnreadableFileError), match=sentence):
        read_column(table("\n".join(lines)), "b")


def test_a_long_table_parted_by_blanks_is_checked_for_long_rows(table):
    lines = ["a b"] + ["1 2"] * 300 + ["1 2 3"]
    with pytest.raises(UnreadableFileError, match="line 302 has 3 cells"):
        read_column(table("\n".join(lines)), "b")


def test_a_density_is_written_with_all_its_digits(tmp_path):
    density = KernelDensity([0.1, 0.2, 0.7], bandwidth=0.1, bounds=(0, 1))
    grid, path = density.grid(50), tmp_path / "density.csv"
    write_density(str(path), density, grid)
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["x", "density", "log_density", "cdf"]
    read = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    assert np.array_equal(read["x"], grid)
    assert np.array_equal(read["density"], density.pdf(grid))
    assert np.array_equal(read["log_density"], density.logpdf(grid))
    assert np.array_equal(read["cdf"], density.cdf(grid))
    assert np.array_equal(read_column(str(path), "cdf").values, density.cdf(grid))


@pytest.mark.parametrize("name", ["missing/density.csv", "."])
def test_files_that_cannot_be_written(tmp_path, name):
    density = KernelDensity([0.1, 0.2], bandwidth=0.1)
    with pytest.raises(UnwritableFileError, match="cannot be written"):
        write_density(str(tmp_path / name), density, density.grid(5))


WEIGHTED = "who,x,w\nann,1.5,2\nbob,-2,0\ncyd,30,0.5\n"


@pytest.mark.parametrize("weights", ["w", "3"])
def test_weights_are_read_beside_their_numbers(table, weights):
    # The other column of numbers is then the one that is meant.
    found = read_column(table(WEIGHTED), weights=weights)
    assert (found.name, found.values.tolist()) == ("x", [1.5, -2.0, 30.0])
    assert (found.weights_name, found.weights.tolist()) == ("w", [2.0, 0.0, 0.5])
    assert read_column(table(WEIGHTED), "x").weights is None


@pytest.mark.parametrize("hole", ["", "NA"])
def test_many_weights_and_missing_ones(table, hole):
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal(300), rng.gamma(1.0, 1.0, 300)
    lines = [f"{a!r};{b!r}" for a, b in zip(x.tolist(), w.tolist(), strict=True)]
    plain = read_column(table("x;w\n" + "\n".join(lines)), "x", weights="w")
    assert np.array_equal(plain.values, x)
    assert np.array_equal(plain.weights, w)
    lines[7], lines[200] = f"{float(x[7])!r};{hole}", f"{hole};1.0"
    holes = table("x;w\n" + "\n".join(lines))
    found = read_column(holes, "x", weights="w", nan="omit")
    assert (found.omitted, found.values.size, found.weights.size) == (2, 298, 298)
    assert np.array_equal(found.weights, np.delete(w, [7, 200]))
    with pytest.raises(InvalidSampleError, match="line 202: the value in column 'x' is missing"):
        read_column(holes, "x", weights="w")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("x,w\n1,2\n2,-1\n", "line 3: the weight in column 'w' is -1; weights must be present"),
        ("x,w\n1,2\n2,inf\n", "line 3: the weight in column 'w' is inf"),
        ("x,w\n1,2\n2,\n", "line 3: the weight in column 'w' is missing"),
        ("x,w\n" + "1,2\n" * 150 + "2,-1\n", "line 152: the weight in column 'w' is -1"),
    ],
)
def test_bad_weights_are_told_by_their_line(table, content, sentence):
    with pytest.raises(InvalidSampleError, match=sentence):
        read_column(table(content), "x", weights="w")


def test_a_column_of_weights_that_is_not_there(table):
    with pytest.raises(UnreadableFileError, match="no column 'v'"):
        read_column(table(WEIGHTED), "x", weights="v")
    with pytest.raises(InvalidSampleError, match=r"no line of .* has both"):
        read_column(table("x,w\n1,\n,2\n"), "x", weights="w", nan="omit")


def test_weights_in_parquet(tmp_path):
    pd = pytest.importorskip("pandas")
    path = tmp_path / "x.parquet"
    pd.DataFrame({"x": [1.0, 2.0, None], "w": [3, 1, 2]}).to_parquet(path)
    found = read_column(str(path), weights="w", nan="omit")
    assert (found.name, found.values.tolist(), found.weights.tolist()) == ("x", [1.0, 2.0], [3.0, 1.0])
