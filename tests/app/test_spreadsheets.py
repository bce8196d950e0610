"""Excel workbooks: stored values only, whatever else is in them."""

import datetime
import io
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest

from amortized_kde.app.columns import read_choice
from amortized_kde.app.tables import open_file
from amortized_kde.errors import InvalidSampleError, MissingExtraError, UnreadableFileError
from amortized_kde.integrations.spreadsheets import open_sheet, sheet_names

openpyxl = pytest.importorskip("openpyxl")


def with_entry(content, name, data):
    file = io.BytesIO(content)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(name, data)
    return file.getvalue()


def column(content, name=None, sheet=None):
    table = open_file(content, "a.xlsx", sheet=sheet)
    return read_choice(table, table.first if name is None else table.names.index(name))


def test_sheets_and_columns(workbook):
    content = workbook(first=[["who", "x"], ["ann", 1.5], ["bob", 2]], other=[["y"], [7], [8], [9]])
    assert sheet_names(content, "a.xlsx") == ("first", "other")
    assert column(content).values.tolist() == [1.5, 2.0]
    assert column(content, sheet="other").values.tolist() == [7.0, 8.0, 9.0]
    table = open_file(content, "a.xlsx")
    assert (table.names, table.numeric) == (("who", "x"), (1,))
    with pytest.raises(InvalidSampleError, match="row 2: 'ann' in column 'who' is not a number"):
        read_choice(table, 0)


def test_no_header_blank_rows_and_short_rows(workbook):
    content = workbook(s=[[], [1, 10], [], [2], [3, 30, None]])
    table = open_file(content, "a.xlsx")
    assert table.names[:2] == ("column 1", "column 2")
    assert read_choice(table, 0).values.tolist() == [1.0, 2.0, 3.0]
    found = read_choice(table, 1)
    assert (found.values.tolist(), found.remarks[-1]) == ([10.0, 30.0], "1 missing left out")


def test_numbers_that_are_text(workbook):
    assert column(workbook(s=[["x"], ["1,5"], [" 2 "], ["NA"], ["#DIV/0!"], [3]])).values.tolist() == [1.5, 2.0, 3.0]


def test_formulas_are_not_computed(workbook):
    found = column(workbook(s=[["x"], [1], [2], ["=1+1"], ["=A2*3"]]))
    assert found.values.tolist() == [1.0, 2.0]
    assert "2 formulas without a stored result (nothing is computed here)" in found.remarks


def test_stored_results_of_formulas_are_read(workbook):
    content = workbook(s=[["x"], [1], ["=1+1"]])
    # What Excel would have stored beside the formula.
    source, file = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in source.namelist():
            data = source.read(name).replace(b"<f>1+1</f><v></v>", b"<f>1+1</f><v>42</v>")
            archive.writestr(name, data.replace(b"<f>1+1</f><v />", b"<f>1+1</f><v>42</v>"))
    assert column(file.getvalue()).values.tolist() == [1.0, 42.0]


def test_macros_are_not_run(workbook):
    content = with_entry(workbook(s=[["x"], [1], [2]]), "xl/vbaProject.bin", b"\xd0\xcf\x11\xe0 macros")
    assert "its macros were not run" in column(content).remarks


def test_dates_and_booleans_are_no_numbers(workbook):
    rows = [["when", "yes", "x"]] + [[datetime.datetime(2024, 1, day), True, day] for day in (1, 2, 3)]
    table = open_file(workbook(s=rows), "a.xlsx")
    assert table.numeric == (2,)
    for index in (0, 1):
        with pytest.raises(InvalidSampleError, match="is not a number"):
            read_choice(table, index)


def test_an_empty_sheet_and_an_empty_column(workbook):
    with pytest.raises(InvalidSampleError, match=r"sheet 's' of .* is empty"):
        open_file(workbook(s=[]), "a.xlsx")
    table = open_file(workbook(s=[["x", "y"], [1, None], [2, None]]), "a.xlsx")
    with pytest.raises(InvalidSampleError, match="column 'y' has no numbers"):
        read_choice(table, 1)


def test_other_archives():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(UnreadableFileError, match="is a zip archive, not an Excel workbook"):
        open_file(file.getvalue(), "a.zip")
    sheet = with_entry(with_entry(file.getvalue(), "mimetype", "application/vnd.oasis"), "content.xml", "<x/>")
    with pytest.raises(UnreadableFileError, match="is an OpenDocument sheet"):
        open_file(sheet, "a.ods")


def test_what_unpacks_to_too_much_is_not_unpacked(monkeypatch, workbook):
    monkeypatch.setattr("amortized_kde.integrations.spreadsheets._MOST_UNPACKED", 1000)
    with pytest.raises(UnreadableFileError, match="too large when unpacked"):
        open_file(workbook(s=[["x"], [1]]), "bomb.xlsx")


def test_a_damaged_workbook(workbook):
    content = workbook(s=[["x"], [1]])
    source, file = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in source.namelist():
            archive.writestr(name, b"<broken" if name.endswith("sheet1.xml") else source.read(name))
    with pytest.raises(UnreadableFileError, match=r"cannot be read as an Excel workbook \(.*\); save it again"):
        open_sheet(file.getvalue(), "a.xlsx", "s")


def test_without_the_library(monkeypatch, workbook):
    content = workbook(s=[["x"], [1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"needs openpyxl; install it with: pip install openpyxl"):
        open_file(content, "a.xlsx")


def rewritten(content, sheet):
    """The workbook with another XML of its rows."""
    source, file = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            archive.writestr(name, sheet if name.endswith("sheet1.xml") else source.read(name))
    return file.getvalue()


def rows_of(*rows):
    kind = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return f'<worksheet xmlns="{kind}"><sheetData>{"".join(rows)}</sheetData></worksheet>'


ONE = '<row r="1"><c r="A1"><v>1</v></c></row>'
TOO_LARGE = {
    # 16 million blank rows in 150 KB; the row number of a far row; cells in Excel's last column.
    "blank rows": [ONE, "<row/>" * 16_000_000],
    "blank rows of another prefix": [ONE, '<x:row xmlns:x="y"/>' * 1_100_000],
    "a far row": [ONE, '<row r="1000000000000"><c><v>2</v></c></row>'],
    "a far column": [f'<row r="{r}"><c r="XFD{r}"><v>1</v></c></row>' for r in range(1, 400)],
}


@pytest.mark.parametrize("rows", TOO_LARGE.values(), ids=TOO_LARGE)
def test_rows_and_cells_are_limited_before_they_take_memory(rows, workbook):
    content = rewritten(workbook(s=[["x"]]), rows_of(*rows))
    assert len(content) < 200_000
    tracemalloc.start()
    with pytest.raises(UnreadableFileError, match=r"too large when unpacked|rows or 5,000,000 cells"):
        open_sheet(content, "a.xlsx", "s")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_blank_rows_are_skipped(workbook):
    content = rewritten(
        workbook(s=[["x"]]), rows_of(ONE, "<row/>" * 1000, '<row r="2000"><c r="A2000"><v>2</v></c></row>')
    )
    assert column(content).values.tolist() == [1.0, 2.0]


def test_a_wide_sheet_takes_memory_for_its_cells_only(workbook):
    sheet = open_sheet(workbook(s=[["x"] + [None] * 5000 + ["y"], *[[k] for k in range(900)]]), "a.xlsx", "s")
    assert (len(sheet.names), sheet.size, sheet.numeric) == (5002, 900, (0,))
    assert sum(places.size for places, _ in sheet.columns.values()) == 900
    assert np.isnan(sheet.numbers(5001)[0]).all()


def test_numbers_beyond_floats(workbook):
    with pytest.raises(InvalidSampleError, match="inf in column 'column 1' is not within"):
        column(rewritten(workbook(s=[[1]]), rows_of(ONE, f"<row><c><v>{10**400}</v></c></row>")))
