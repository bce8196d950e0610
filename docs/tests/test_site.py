"""The built site, build/site: links work, nothing is fetched, notebooks of the gallery run. `make docs` calls it."""

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
# The theme leaves a template among its static files.
PAGES = sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)
NOTEBOOKS = ("one_sample/first_density", "one_sample/weights", "ensembles/frost_map")
# Attributes by which a browser fetches something at once; a link in the text is followed only by the reader.
FETCHED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src", "object": "data"}


class Page(HTMLParser):
    """What a page links to, what it fetches, and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.links, self.fetched, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in FETCHED and found.get(FETCHED[tag]):
            self.fetched.append(found[FETCHED[tag]])
        if tag == "link" and found.get("rel") not in ("canonical", "next", "prev", "index", "search", "author"):
            self.fetched.append(found["href"])


@cache
def read(path):
    return Page(path.read_text(encoding="utf-8"))


def is_remote(target):
    return bool(urlsplit(target).netloc) or target.startswith("//")


def test_there_is_a_site():
    names = {str(path.relative_to(SITE)) for path in PAGES}
    assert {"index.html", "start.html", "gallery/index.html", "reference/generated/amortized_kde.fit.html"} <= names
    assert len(list((SITE / "gallery").glob("*/*.html"))) > 20


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(SITE)))
def test_links_work_and_nothing_is_fetched(path):
    page = read(path)
    assert [target for target in page.fetched if is_remote(target)] == []
    for target in (*page.links, *page.fetched):
        parts = urlsplit(target)
        if is_remote(target) or parts.scheme in ("mailto", "data"):
            continue
        there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        assert there.is_file(), target
        if parts.fragment and there.suffix == ".html" and target != "#":
            assert unquote(parts.fragment) in read(there).anchors, target


def test_style_sheets_and_scripts_fetch_nothing():
    for path in SITE.rglob("*.css"):
        remote = re.findall(r"(?:url\(|@import )[\"']?(https?:)?//", path.read_text(encoding="utf-8"))
        assert not remote, path.name


def test_examples_have_a_picture_and_a_notebook():
    for path in (SITE / "gallery").glob("*/*.html"):
        if path.name != "index.html":
            assert any("sphx_glr" in target for target in read(path).fetched), path.name
            assert any(target.endswith(f"{path.stem}.ipynb") for target in read(path).links), path.name


def test_prompts_and_output_are_not_copied():
    assert '<span class="gp">&gt;&gt;&gt; </span>' in (SITE / "start.html").read_text(encoding="utf-8")
    script = (SITE / "_static" / "copybutton.js").read_text(encoding="utf-8")
    # Prompts, a regular expression, only their lines, without them.
    assert r"formatCopyText(text, '>>> |\\.\\.\\. |\\$ ', true, true, true" in script


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_of_the_gallery_runs(name, tmp_path, monkeypatch):
    # Tests that draw set it, and notebooks would then show no picture.
    monkeypatch.delenv("MPLBACKEND", raising=False)
    notebook = nbformat.read(ROOT / "docs" / "gallery" / f"{name}.ipynb", as_version=4)
    done = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in done.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert not [output for output in shown if output.output_type == "error"]
