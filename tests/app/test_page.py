"""The page in a real browser, as a person uses it: in, choose, see, take away; and every kind of bad input."""

import csv
import io
import re
import zipfile

import numpy as np
import pytest
from browsing import alert, choose_source, downloaded, lines, paste, pick, picture, says, settled, table, upload

import amortized_kde as akde
from amortized_kde.app.examples import EXAMPLES
from amortized_kde.app.takeaway import command_line, python_lines
from amortized_kde.integrations.tables import density_csv

pytestmark = pytest.mark.xdist_group("page")

ERUPTIONS = EXAMPLES["eruptions"].values()
DRAWS = np.random.default_rng(1).gamma(2.0, 1.0, 1000)


def with_macros(content):
    file = io.BytesIO(content)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("xl/vbaProject.bin", b"\xd0\xcf\x11\xe0 macros")
    return file.getvalue()


@pytest.mark.parametrize("size", [1000, 1_000_000])
def test_the_first_picture(page, size):
    paste(page, lines(np.random.default_rng(2).normal(size=size)))
    says(page, f"Read {size:,} numbers, one per line")
    says(page, f"Density of {size:,} values")
    picture(page)


def test_pasted_numbers_are_seen_and_compared(page):
    paste(page, lines(DRAWS))
    picture(page)
    says(page, "The 1,000 values have one peak")
    rows = {row[0]: row for row in table(page)}
    assert set(rows) == {"amortized", "sheather-jones", "silverman"}
    for name, row in rows.items():
        assert row[1] == f"{akde.fit(DRAWS, method=name).bandwidth:.4g}"
    assert [row[3] for row in table(page)].count("best") == 1


def test_what_was_recognised_is_said(page):
    for text, sentence, values in (
        ("1,5\n2,5\n4,75", "Read 3 numbers, one per line; with decimal commas.", "[1.5, 2.5, 4.75]"),
        ("1.5\t2.5\t5.75", "Read 3 numbers, separated by tabs.", "[1.5, 2.5, 5.75]"),
        ("1.5, 2.5, 6, NA", "Read 4 numbers, separated by commas; 1 missing left out.", "[1.5, 2.5, 6.0]"),
    ):
        paste(page, text)
        says(page, sentence)
        says(page, f"x = {values}")


def test_typing_works_and_clear_begins_anew(page):
    page.get_by_role("textbox", name="Numbers").press_sequentially("1 2 4 7")
    says(page, "Read 4 numbers, separated by spaces.")
    picture(page)
    page.get_by_role("button", name="Clear", exact=True).click()
    says(page, "Showing an example until you enter numbers.")


def test_a_comma_that_may_mean_two_things(page):
    paste(page, "1,234\n5,678\n9,012")
    alert(page, "may have a decimal comma")
    pick(page, "Commas", "decimal comma")
    says(page, "Read 3 numbers, one per line; with decimal commas.")
    picture(page)


def test_uploads_of_every_kind(page, workbook):
    upload(page, "a.csv", b"who;x;y\nann;1,5;10\nbob;2,5;20\ncyd;4,0;40\n")
    says(page, "Read 3 rows; columns separated by semicolons; with decimal commas.")
    pick(page, "Column", "y")
    says(page, "x = [10.0, 20.0, 40.0]")
    upload(page, "a.tsv", b"x\ty\n1\t10\n2\t20\n5\t50\n")
    says(page, "x = [1.0, 2.0, 5.0]")
    upload(page, "a.xlsx", workbook(first=[["x"], [1], [2], [3]], second=[["y"], [7], [8], [9.5]]))
    says(page, "x = [1.0, 2.0, 3.0]")
    pick(page, "Sheet", "second")
    says(page, "x = [7.0, 8.0, 9.5]")
    import pyarrow as pa
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(pa.table({"who": ["a", "b", "c"], "x": [0.5, 1.5, 4.5]}), file)
    upload(page, "a.parquet", file.getvalue())
    says(page, "x = [0.5, 1.5, 4.5]")
    picture(page)


def test_bounds(page):
    paste(page, lines(DRAWS))
    page.get_by_role("textbox", name="Lower bound").fill("0")
    page.keyboard.press("Enter")
    says(page, "Working domain: 0 to")
    says(page, "bounds=(0.0, None)")
    bounded = akde.fit(DRAWS, bounds=(0, None)).bandwidth
    assert {row[0]: row[1] for row in table(page)}["amortized"] == f"{bounded:.4g}"
    page.get_by_role("textbox", name="Upper bound").fill("100")
    page.keyboard.press("Enter")
    says(page, "Working domain: 0 to 100")
    for lower, sentence in [
        ("1", re.compile(r"of 1000 values lie outside the bounds")),
        ("zero", "Lower bound: 'zero' is not a number; leave the field empty for an open side."),
        ("200", "The lower bound 200 must be below the upper bound 100."),
    ]:
        page.get_by_role("textbox", name="Lower bound").fill(lower)
        page.keyboard.press("Enter")
        alert(page, sentence)
        says(page, "Correct the field that is marked")


def test_methods_axis_and_slider(new_page):
    page = new_page("?source=Example&lower=0")
    picture(page)
    pick(page, "Methods to compare", "scott")
    page.keyboard.press("Escape")
    page.get_by_text("scott", exact=True).nth(1).wait_for()
    slider = page.get_by_role("slider", name="Scale the bandwidth")
    slider.focus()
    slider.press("ArrowLeft")
    says(page, "amortized × 0.841")
    rougher = akde.fit(ERUPTIONS, bounds=(0, None)).smoothed(0.841)
    page.get_by_test_id("stTable").first.get_by_text("amortized × 0.841").wait_for()
    rows = {row[0]: row for row in table(page)}
    assert set(rows) >= {"scott", "amortized × 0.841"}
    assert rows["amortized × 0.841"][1] == f"{rougher.bandwidth:.4g}"
    says(page, ".smoothed(0.841)")
    page.get_by_text("Logarithmic axis").click()
    page.wait_for_url(re.compile("log=1"))
    picture(page)


def test_values_show_under_the_pointer(new_page):
    page = new_page("?source=Example&lower=0")
    chart = picture(page)
    says(page, "lower is better")
    chart.hover()
    tip = page.locator("#vg-tooltip-element")
    tip.get_by_text("silverman").wait_for()
    assert "amortized" in tip.inner_text()


def test_downloads_are_the_librarys_numbers(new_page):
    page = new_page("?source=Example&lower=0&factor=0.5")
    density = akde.fit(ERUPTIONS, bounds=(0, None)).smoothed(0.5)
    says(page, "Download and reuse")
    says(page, "lower is better")
    text = downloaded(page, "Density (CSV)").decode()
    assert text.splitlines()[0] == density_csv(density, density.grid(512)).splitlines()[0]
    read = {name: [float(row[name]) for row in csv.DictReader(io.StringIO(text))] for name in ("x", "density", "cdf")}
    # The page may compute in NumPy where this process has compiled loops.
    np.testing.assert_allclose(read["x"], density.grid(512), rtol=1e-12)
    np.testing.assert_allclose(read["density"], density.pdf(density.grid(512)), rtol=1e-11)
    np.testing.assert_allclose(read["cdf"], density.cdf(density.grid(512)), rtol=1e-11)
    assert downloaded(page, "Plot (PNG)").startswith(b"\x89PNG")
    assert b"<svg" in downloaded(page, "Plot (SVG)")
    assert np.array_equal(np.loadtxt(io.BytesIO(downloaded(page, "Numbers (CSV)")), skiprows=1), ERUPTIONS)


# Playwright calls what is transparent visible.
SEEN = """
button => {
  for (let e = button; e.dataset.testid !== "stCode"; e = e.parentElement)
    if (getComputedStyle(e).opacity < 1) return false;
  return true;
}
"""


def test_lines_and_link_are_copied_with_one_click(new_page):
    page = new_page("?source=Example&lower=0&method=silverman&factor=0.5")
    says(page, "Download and reuse")
    says(page, "lower is better")
    options = {"bounds": (0.0, None), "method": "silverman", "factor": 0.5}
    wanted = [python_lines(ERUPTIONS, **options), command_line(**options), page.url]
    page.get_by_test_id("stCode").nth(2).wait_for()
    for block, text in zip(page.get_by_test_id("stCode").all(), wanted, strict=True):
        copy = block.get_by_role("button", name="Copy to clipboard")
        assert copy.evaluate(SEEN)
        copy.click()
        assert page.evaluate("navigator.clipboard.readText()") == text


def test_a_link_restores_the_settings(new_page):
    page = new_page()
    choose_source(page, "Example")
    pick(page, "Example", EXAMPLES["galaxies"].title)
    # The picture before may still be there, and the bounds that come with the example replace what is typed too early.
    says(page, "Clusters of galaxies with voids")
    picture(page)
    page.get_by_role("textbox", name="Lower bound").fill("0")
    page.keyboard.press("Enter")
    page.get_by_text("Logarithmic axis").click()
    slider = page.get_by_role("slider", name="Scale the bandwidth")
    slider.focus()
    slider.press("ArrowRight")
    page.get_by_role("textbox", name="From").fill("20000")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("low=20000"))
    says(page, "lower is better")
    link = page.get_by_test_id("stCode").last.inner_text().strip()
    assert "lower=0" in link
    again = new_page(link.rsplit("/", 1)[1])
    picture(again)
    assert again.get_by_role("textbox", name="Lower bound").input_value() == "0"
    assert again.get_by_role("textbox", name="From").input_value() == "20000"
    assert again.get_by_role("switch", name="Logarithmic axis").is_checked()
    says(again, "amortized × 1.189")
    says(again, "velocities")


def test_quantiles_and_probabilities(new_page):
    page = new_page("?source=Example&lower=0&quantiles=50")
    density = akde.fit(ERUPTIONS, bounds=(0, None))
    says(page, "Probability of any value")
    assert table(page, 1) == [["50 %", f"{density.ppf(0.5):.4g}"]]
    for label, end in (("From", "2"), ("To", "3,5")):
        page.get_by_role("textbox", name=label, exact=True).fill(end)
        page.keyboard.press("Enter")
    says(page, "Probability between 2 and 3.5")
    says(page, f"{100.0 * (density.cdf(3.5) - density.cdf(2.0)):.4g} %")
    page.get_by_role("textbox", name="Quantiles").fill("50, 500")
    page.keyboard.press("Enter")
    alert(page, "'500' is not a percentage between 0 and 100.")


PASTED_WRONG = {
    "text": ("1\n2\nthree", "Line 3: 'three' is not a number"),
    "infinite": ("1 2 inf", "'inf' is not within"),
    "a single value": ("7", "a single value has no spread"),
    "constant": ("3.7 3.7 3.7", "all 3 values equal 3.7; a density needs at least two different ones."),
    "code": ("__import__('os').system('true')", "is not a number"),
    "words": ("hello\nworld", "'world' in column 'hello' is not a number"),
}


def test_pasted_text_that_is_wrong(page):
    for text, sentence in PASTED_WRONG.values():
        paste(page, text)
        alert(page, sentence)
    paste(page, "1 2 4 8")
    picture(page)


UPLOADED_WRONG = {
    "empty": ("a.csv", b"", "is empty"),
    "text": ("a.csv", b"x\n1\nabc\n", "line 3: 'abc' in column 'x' is not a number"),
    "columns of words": ("a.csv", b"a,b\nu,v\n", "None of the columns of a.csv holds numbers: a, b."),
    "an empty column": ("a.csv", b"x,y\n,1\n,2\n", None),
    "a picture": ("a.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "is neither text, nor an Excel workbook"),
    "constant": ("a.csv", b"x\n5\n5\n5\n", "all 3 values equal 5"),
    "old Excel": ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old .xls file or protected by a password"),
    "a broken workbook": ("a.xlsx", b"PK\x03\x04 and nothing", "cannot be read as an Excel workbook"),
    "broken parquet": ("a.parquet", b"PAR1 and nothing", "cannot be read as a Parquet file"),
    "too many values": ("a.csv", b"0\n" * 1_000_001, "1,000,001 values, and this page takes up to 1,000,000"),
}


def test_uploads_that_are_wrong(page):
    for name, content, sentence in UPLOADED_WRONG.values():
        upload(page, name, content)
        if sentence is None:
            pick(page, "Column", "x (no numbers)")
            sentence = "Column 'x' has no numbers; choose another one."
        alert(page, sentence)
    upload(page, "a.csv", b"x\n1\n2\n5\n")
    picture(page)


def test_uploads_that_are_odd_are_read_and_that_is_said(page, workbook):
    upload(page, "a.csv", "größe\n1,5\n2,5\n4\n".encode("cp1252"))
    says(page, "the text is not UTF-8 and was read as Windows-1252")
    picture(page)
    upload(page, "a.xlsx", workbook(s=[["x"], [1], [2], [4], ["=1+1"]]))
    says(page, "1 formula without a stored result (nothing is computed here)")
    says(page, "x = [1.0, 2.0, 4.0]")
    upload(page, "a.xlsm", with_macros(workbook(s=[["x"], [1], [2], [8]])))
    says(page, "its macros were not run")
    says(page, "x = [1.0, 2.0, 8.0]")


def test_a_file_that_is_too_large_is_not_sent(page, tmp_path):
    path = tmp_path / "large.csv"
    with open(path, "wb") as file:
        file.truncate(101 * 1024 * 1024)
    choose_source(page, "Upload")
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(path)
    alert(page, re.compile(r"must be 100(\.0)?.?MB or smaller"))


def test_a_sample_unlike_training_is_named(page):
    paste(page, lines([*DRAWS[:50], 1e12]))
    alert(page, "the network was not trained on samples like this one")
    assert page.get_by_role("radio", name="Without extremes").is_checked()


def test_ensembles(page):
    page.get_by_role("tab", name="Ensembles").click()
    says(page, "400 ensembles")
    says(page, "The histogram is not flat: the forecasts are too narrow.")
    picture(page, "rect")
    text = b"place,a,b,c,obs\nu,1,2,4,2.5\nv,2,3,7,4\nw,5,5,5,5\n"
    kind = {"name": "e.csv", "mimeType": "text/csv", "buffer": text}
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(kind)
    says(page, "3 members; not used: place.")
    alert(page, "1 of 3 have no density by amortized")
    settled(page)
    got = list(csv.DictReader(io.StringIO(downloaded(page, "Results (CSV)").decode())))
    h = akde.bandwidth([1.0, 2.0, 4.0])
    assert float(got[0]["bandwidth"]) == pytest.approx(h, rel=1e-9)
    scored = akde.log_score(akde.KernelDensity([1.0, 2.0, 4.0], h), 2.5)
    assert float(got[0]["score_bits"]) == pytest.approx(scored, rel=1e-9)
    assert got[2]["bandwidth"] == ""


def stays(page, label):
    """Mark a field, and give a question: is it still the same field, in which typing would go on?"""
    field = page.get_by_role("textbox", name=label, exact=True)
    field.evaluate("field => { field.marked = true }")
    return lambda: field.evaluate("field => field.marked === true")


def test_fields_are_not_made_anew_by_sentences_above_them(page):
    bound = stays(page, "Lower bound")
    # Ties: the table gets remarks, which a sample without ties takes away again.
    paste(page, lines([0.0] * 40 + [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    says(page, "the interquartile range is 0")
    picture(page)
    assert bound()
    fields = [stays(page, label) for label in ("Lower bound", "Quantiles, in %", "From", "To")]
    paste(page, lines(DRAWS))
    says(page, "The 1,000 values have one peak")
    picture(page)
    assert page.get_by_text("the interquartile range is 0").count() == 0
    assert [field() for field in fields] == [True] * 4
    page.get_by_role("tab", name="Ensembles").click()
    says(page, "400 ensembles")
    bound = stays(page, "Lower bound of all")
    kind = {"name": "e.csv", "mimeType": "text/csv", "buffer": b"a,b,c\n1,2,4\n2,3,7\n"}
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(kind)
    says(page, "2 ensembles")
    assert bound()


NAMELESS = """
() => [...document.querySelectorAll("input, textarea, button, select, [role=slider], [role=combobox]")]
  .filter(e => e.offsetParent !== null && !e.closest("[aria-hidden=true]") && e.type !== "hidden")
  .filter(e => !(e.ariaLabel || e.textContent.trim() || e.getAttribute("aria-labelledby") || e.labels?.length
      || e.title))
  .map(e => e.outerHTML.slice(0, 200))
"""


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1400, False)])
def test_every_screen_and_reader(new_page, width, dark):
    page = new_page("?source=Example&lower=0&factor=0.5", width=width, height=844, dark=dark)
    picture(page)
    says(page, "lower is better")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(NAMELESS) == []
    drawn = page.get_by_test_id("stVegaLiteChart").bounding_box()
    assert 0.75 * min(width, 800) <= drawn["width"] <= width
    ground = page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 150) is dark
    page.get_by_role("combobox", name="Example").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement !== document.body")


def test_nothing_of_the_numbers_is_written_or_logged(page, server):
    # More digits than a port has, and a word that is no part of another one.
    paste(page, "817735.25 817736.5 qzvx817737")
    alert(page, "'qzvx817737' is not a number")
    paste(page, "817735.25 817736.5 817738.125")
    says(page, "lower is better")
    upload(page, "a.csv", b"x\n927735.25\n927736.5\n927739\n")
    says(page, "x = [927735.25, 927736.5, 927739.0]")
    assert not (server.home / ".streamlit").exists()
    for path in [server.log, *server.written()]:
        shown = [line for line in path.read_bytes().splitlines() if re.search(rb"81773|92773|qzvx", line)]
        assert shown == [], path
    assert b"Traceback" not in server.log.read_bytes()


def test_an_upload_is_not_put_on_disk_while_it_is_received(page, server):
    before = server.bytes_written()
    upload(page, "a.csv", b"x,y\n" + b"".join(b"%d,%s\n" % (k * k, b"words " * 1000) for k in range(300)))
    says(page, "Read 300 rows")
    # Not larger: what is sent to the process for large files would be counted.
    assert server.bytes_written() - before < 1_000_000
