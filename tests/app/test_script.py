"""The page's script without a browser: what happens when something goes wrong that nobody foresaw."""

from pathlib import Path

import pytest

import amortized_kde.app

testing = pytest.importorskip("streamlit.testing.v1")

PAGE = Path(amortized_kde.app.__file__).parent / "page.py"


def test_the_page_invites():
    page = testing.AppTest.from_file(str(PAGE)).run(timeout=60)
    assert not page.exception
    assert [info.value for info in page.info] == [
        "Paste numbers, upload a file or pick an example: their density appears here."
    ]


def test_what_was_not_foreseen_is_a_sentence_without_data(monkeypatch, capfd):
    def broken():
        raise RuntimeError("secret 4711")

    monkeypatch.setattr("amortized_kde.app.sample_view.show_sample", broken)
    page = testing.AppTest.from_file(str(PAGE)).run(timeout=60)
    assert not page.exception
    assert [error.value for error in page.error] == [
        "Something went wrong that we did not foresee (RuntimeError). Reload the page; if it happens again, "
        "please report what you did."
    ]
    assert "4711" not in "".join(capfd.readouterr())
