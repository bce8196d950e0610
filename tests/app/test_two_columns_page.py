"""The tab for two columns in a real browser."""

import io

import numpy as np
import pytest
from browsing import alert, downloaded, paste, pick, picture, says, settled, upload

from amortized_kde.app.takeaway import pair_lines

pytestmark = pytest.mark.xdist_group("page")

X = np.random.default_rng(1).gamma(2.0, size=(60, 3)).round(3)
TABLE = "a,b,c\n" + "\n".join(",".join(map(str, row)) for row in X.tolist())
OPEN = ((None, None), (None, None))


@pytest.fixture
def tab(page):
    page.get_by_role("tab", name="Two columns").click()
    says(page, "Old Faithful: duration and waiting time of 272 eruptions")
    return page


def test_it_opens_with_an_example(tab):
    says(tab, "The 272 rows have two peaks")
    says(tab, "25, 50, 75 and 95 % of the probability")
    chart = picture(tab)
    assert chart.locator("svg .mark-symbol path").count() == 272
    # Four regions, contours of two hills each, and two curves.
    assert chart.locator("svg .mark-line path").count() >= 4 + 8 + 2


def test_columns_and_bounds_are_chosen(tab):
    paste(tab, TABLE)
    says(tab, "Read 60 rows; columns separated by commas.")
    says(tab, "Density of 60 rows")
    pick(tab, "Horizontal axis (x)", "c")
    settled(tab)
    assert tab.get_by_role("combobox", name="Vertical axis (y)").input_value() == "a"
    tab.get_by_role("textbox", name="Lower bound of x").fill("0")
    tab.keyboard.press("Enter")
    says(tab, "bounds=[(0.0, None), (None, None)]")
    settled(tab)
    pick(tab, "Method", "scott")
    says(tab, 'method="scott"')
    settled(tab)
    shown = tab.get_by_test_id("stCode").inner_text().strip()
    assert shown == pair_lines(("c", "a"), bounds=((0.0, None), (None, None)), method="scott")
    read = np.loadtxt(io.BytesIO(downloaded(tab, "Columns (CSV)")), delimiter=",", skiprows=1)
    assert np.array_equal(read, X[:, [2, 0]])
    assert downloaded(tab, "Plot (PNG)").startswith(b"\x89PNG")
    assert b"<svg" in downloaded(tab, "Plot (SVG)")
    tab.get_by_role("textbox", name="Lower bound of x").fill("9")
    tab.keyboard.press("Enter")
    alert(tab, "values of column 'c' lie outside the bounds")
    tab.get_by_role("button", name="Undo").click()
    says(tab, "bounds=[(0.0, None), (None, None)]")
    picture(tab)


def test_the_numbers_of_one_tab_are_those_of_the_other(page):
    upload(page, "a.csv", TABLE.encode())
    pick(page, "Column", "b")
    says(page, "Density of 60 values")
    page.get_by_role("tab", name="Two columns").click()
    says(page, "Density of 60 rows")
    picture(page)
    page.get_by_role("tab", name="One sample").click()
    says(page, "Density of 60 values")
    settled(page)
    assert page.get_by_role("combobox", name="Column").input_value() == "b"


def test_a_file_is_kept_while_another_tab_is_open(page):
    upload(page, "a.csv", TABLE.encode())
    pick(page, "Column", "b")
    says(page, "Density of 60 values")
    settled(page)
    page.get_by_role("tab", name="Ensembles").click()
    says(page, "400 ensembles")
    settled(page)
    kind = {"name": "e.csv", "mimeType": "text/csv", "buffer": TABLE.encode()}
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(kind)
    says(page, "60 ensembles of 3 members")
    settled(page)
    page.get_by_role("tab", name="One sample").click()
    says(page, "Using a.csv, until you upload another file.")
    says(page, "Density of 60 values")
    settled(page)
    assert page.get_by_role("combobox", name="Column").input_value() == "b"
    upload(page, "b.csv", b"x\n1\n2\n5\n")
    says(page, "x = [1.0, 2.0, 5.0]")
    page.get_by_role("button", name="Remove b.csv").click()
    says(page, "Old Faithful: durations of 272 eruptions")


def test_many_rows_are_thinned_and_that_is_said(tab):
    rows = np.random.default_rng(2).normal(size=(6000, 2)).round(4)
    paste(tab, "\n".join(f"{x} {y}" for x, y in rows.tolist()))
    says(tab, "Fitted to 5,000 rows drawn at random, to save time")
    picture(tab)


WRONG = {
    "one column": ("1\n2\n4", "This view needs a table with two columns of numbers"),
    "few rows": ("a,b\n1,2\n2,5", "There is no density: 2 rows have a number in both columns"),
    "constant": ("a,b\n1,2\n2,2\n4,2", "There is no density: all values of 'b' equal 2; choose another column."),
    "a line": ("a,b\n1,2\n2,4\n4,8\n5,10", "There is no density: 'a' and 'b' lie on a straight line"),
    "text": ("a,b\n1,2\n2,x\n4,5", "This view needs a table with two columns of numbers"),
}


def test_what_has_no_density_gets_a_sentence(tab):
    for text, sentence in WRONG.values():
        paste(tab, text)
        alert(tab, sentence)
    paste(tab, TABLE)
    picture(tab)
