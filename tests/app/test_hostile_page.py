"""The page in a browser when a visitor's words and numbers are meant to do harm."""

import re
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from browsing import alert, picture, says, upload

from amortized_kde.app.server import HEADERS

pytestmark = pytest.mark.xdist_group("page")

# Nobody has this address; the fixture of the page fails if anything asks for it.
IMAGE = "![y](http://evil.example/a.png)"
WORDS = f"{IMAGE} [z](http://evil.example) www.evil.example a@evil.example :material/home: $x$ <b>b</b> **c** `d`"


def foreign(page):
    """Links and pictures that are not the page's own."""
    links = page.locator("a").evaluate_all("all => all.map(e => e.getAttribute('href'))")
    images = page.locator("img").evaluate_all("all => all.map(e => e.src)")
    return [link for link in links if not link.startswith("#")] + images


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
    says(page, "2 members; not numbers:")
    assert f"{WORDS[:79]}…." in seen(page.get_by_text("2 members; not numbers:").inner_text())
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
