"""The page's script without a browser: what happens when something goes wrong that nobody foresaw."""

import ast
from pathlib import Path

import pytest

import amortized_kde.app

testing = pytest.importorskip("streamlit.testing.v1")

PAGE = Path(amortized_kde.app.__file__).parent / "page.py"


def test_the_page_opens_with_its_name_and_an_example():
    page = testing.AppTest.from_file(str(PAGE)).run(timeout=60)
    assert not page.exception
    assert [title.value for title in page.title] == ["amortized-kde"]
    assert "Paste numbers and see their probability density" in page.markdown[0].value
    assert "Everything is computed on the machine running this page" in page.caption[0].value
    assert "Old Faithful" in page.header[1].value
    assert "The 272 values" in page.success[0].value


def test_the_documentation():
    page = testing.AppTest.from_file(str(PAGE))
    page.query_params["help"] = "1"
    page.run(timeout=60)
    assert not page.exception
    assert "## What you see" in "".join(text.value for text in page.markdown)


def test_what_was_not_foreseen_is_a_sentence_without_data(monkeypatch, capfd):
    def broken():
        raise RuntimeError("secret 4711")

    monkeypatch.setattr("amortized_kde.app.sample_view.show_sample", broken)
    page = testing.AppTest.from_file(str(PAGE)).run(timeout=60)
    assert not page.exception
    assert [error.value for error in page.error] == [
        "Something went wrong (RuntimeError). Reload the page; if it happens again, please report what you did."
    ]
    assert "4711" not in "".join(capfd.readouterr())


# What Streamlit shows as Markdown, in the first argument.
SINKS = {
    "caption",
    "error",
    "header",
    "info",
    "markdown",
    "metric",
    "subheader",
    "success",
    "title",
    "warning",
    "write",
}
SHOWN = [
    (path.name, call)
    for path in sorted(PAGE.parent.glob("*.py"))
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(call, ast.Call) and SINKS & {getattr(part, "attr", None) for part in ast.walk(call.func)}
]


def is_safe(node):
    """Whether a text is fixed, escaped, or made of such texts and formatted numbers."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") in ("escaped", "_read_help") or ast.unparse(node) == "type(error).__name__"
    if isinstance(node, ast.JoinedStr):
        return all(map(is_safe, node.values))
    if isinstance(node, ast.FormattedValue):
        # A text has no such format, and the names of methods are our own.
        numeric = node.format_spec is not None and ast.unparse(node.format_spec)[-2] in ",gf"
        ours = ast.unparse(node.value) in ("one.method", "method", "type(error).__name__")
        return numeric or ours or is_safe(node.value)
    return isinstance(node, ast.Constant)


@pytest.mark.parametrize(("file", "call"), SHOWN, ids=lambda part: getattr(part, "lineno", part))
def test_what_is_shown_as_markdown_is_escaped(file, call):
    assert all(is_safe(argument) for argument in call.args[:1]), ast.unparse(call)


def test_the_calls_that_show_markdown_are_found():
    assert len(SHOWN) > 20
    assert not is_safe(ast.parse("f'{name}'", mode="eval").body)
    assert not is_safe(ast.parse("text", mode="eval").body)
