"""The page in a browser when a visitor's words and numbers are meant to do harm."""

import contextlib
import io
import re
import sys
import time
import zipfile
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import numpy as np
import pytest
from browsing import alert, paste, picture, says, upload

from amortized_kde.app.page import HELP
from amortized_kde.app.server import HEADERS

pytestmark = pytest.mark.xdist_group("page")

# Nobody has this address; the fixture of the page fails if anything asks for it.
IMAGE = "![y](http://evil.example/a.png)"
WORDS = f"{IMAGE} [z](http://evil.example) www.evil.example a@evil.example :material/home: $x$ <b>b</b> **c** `d`"


def foreign(page):
    """Links and pictures that are not the page's own."""
    links = page.locator("a").evaluate_all("all => all.map(e => e.getAttribute('href'))")
    images = page.locator("img").evaluate_all("all => all.map(e => e.src)")
    return [link for link in links if not link.startswith("#") and link != HELP] + images


def seen(text):
    """The text without invisible marks that keep an address from becoming a link."""
    return text.replace("\u2060", "")


def alerts(page):
    return seen(" ".join(page.get_by_role("alert").all_inner_texts()))


@pytest.mark.parametrize("field", ["lower", "upper", "low", "high", "quantiles"])
def test_words_in_the_address_are_shown_as_they_are(new_page, field):
    page = new_page(f"?source=Example&{field}={quote(IMAGE)}")
    alert(page, re.compile("is not a (number|percentage)"))
    assert IMAGE[:20] in alerts(page)
    assert foreign(page) == []


def test_names_of_columns_and_files_are_shown_as_they_are(page, workbook):
    upload(page, "www.evil.example.csv", f'"{WORDS}",b\nu,v\nw,x\n'.encode())
    alert(page, "None of the columns of")
    assert f"None of the columns of www.evil.example.csv holds numbers: {WORDS}, b." in alerts(page)
    upload(page, "a.csv", f'"{WORDS}"\n1\n2\n{IMAGE}\n'.encode())
    alert(page, "is not a number")
    assert f"in column '{WORDS}' is not a number" in alerts(page)
    upload(page, "a.xlsx", workbook(**{"www.evil.example": [["image", WORDS], [1, 2], [2, 3], [5, 4]], "b": [["c"]]}))
    picture(page).hover()
    assert foreign(page) == []


def test_names_of_members_are_shown_as_they_are(page):
    page.get_by_role("tab", name="Ensembles").click()
    content = f'"{WORDS}",a,b\nu,1,2\nv,3,5\n'.encode()
    kind = {"name": "e.csv", "mimeType": "text/csv", "buffer": content}
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(kind)
    says(page, "2 members; not used:")
    assert f"{WORDS[:79]}…." in seen(page.get_by_text("2 members; not used:").inner_text())
    assert foreign(page) == []


def test_the_browser_itself_asks_nobody_else(chromium, server):
    with urlopen(server.address) as response:
        assert {name: response.headers[name] for name in HEADERS} == HEADERS
    page = chromium.new_page()
    page.goto(server.address)
    refused = page.evaluate(
        """() => new Promise(done => {
          document.addEventListener("securitypolicyviolation", event => done(event.blockedURI));
          new Image().src = "http://evil.example/b.png";
        })"""
    )
    page.close()
    assert refused == "http://evil.example/b.png"


def bomb(workbook, rows):
    """A workbook of a few kilobytes with this many blank rows."""
    source, file = zipfile.ZipFile(io.BytesIO(workbook(s=[["x"], [1], [2]]))), io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            filled = source.read(name).replace(b"</sheetData>", b"<row/>" * rows + b"</sheetData>")
            archive.writestr(name, filled)
    return file.getvalue()


def test_workbooks_of_blank_rows(page, workbook):
    upload(page, "a.xlsx", bomb(workbook, 4_000_000))
    alert(page, "a.xlsx is too large when unpacked; save the column that you need as CSV.")
    upload(page, "a.xlsx", bomb(workbook, 1000))
    says(page, "x = [1.0, 2.0]")


def children(server):
    """Processes of the page's server, by id, with their processor time in ticks."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == server.process.pid:
                found[path.parent.name] = int(fields[11]) + int(fields[12])
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_work_ends_when_its_visitor_leaves(chromium, server, workbook):
    page = chromium.new_page()
    page.goto(server.address)
    upload(page, "a.xlsx", bomb(workbook, 1_000_000))
    says(page, "Reading: ")
    (before,) = children(server)
    page.close()
    end = time.monotonic() + 60
    while before in children(server) and time.monotonic() < end:
        time.sleep(0.1)
    assert before not in children(server)


def test_small_samples_pass_a_large_one(new_page):
    large = new_page("?source=Example&example=million&methods=lcv,sheather-jones-r")
    large.set_default_timeout(300_000)
    says(large, re.compile("Estimating by .* so far"))
    for number in range(4):
        small = new_page()
        paste(small, f"1 2 4 {8 + number}")
        says(small, "lower is better")
    # The large one is not finished: it shows no table yet.
    assert large.get_by_text("lower is better").count() == 0
    says(large, "estimated from 20,000 values drawn at random; all 1,000,000 would take about 42 min")
    says(large, "lower is better")


@pytest.mark.parametrize("scale", ["e-320", "e-323", "e-308", "e299"])
def test_numbers_at_the_ends_of_the_range(page, scale):
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    paste(page, "\n".join(f"{k * k}{scale}" for k in range(1, 4 if scale == "e299" else 30)))
    picture(page)
    says(page, "lower is better")
    assert errors == []
    assert page.get_by_text("Something went wrong").count() == 0
    page.get_by_text("Logarithmic axis").click()
    picture(page)
    says(page, "in units of 1e")
    assert (errors, page.get_by_test_id("stException").count()) == ([], 0)


def upload_ensembles(page, text):
    page.get_by_role("tab", name="Ensembles").click()
    kind = {"name": "e.csv", "mimeType": "text/csv", "buffer": text.encode()}
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(kind)


def test_a_wrong_cell_of_a_member_is_named(page):
    upload_ensembles(page, "a,b,c,obs\n1,2,4,2.5\n2,oops,7,4\n3,5,6,5\n")
    alert(page, "Column 'b' is left out: e.csv, line 3: 'oops' in column 'b' is not a number; correct it, or leave")
    says(page, "2 members")


def test_a_reliable_ensemble_is_called_reliable(page):
    drawn = np.random.default_rng(1).normal(size=(300, 9))
    upload_ensembles(page, "obs,a,b,c,d,e,f,g,h\n" + "\n".join(",".join(map(str, row)) for row in drawn))
    says(page, "The histogram is as flat as chance allows: the forecasts are reliable.")
    picture(page, "rect")
