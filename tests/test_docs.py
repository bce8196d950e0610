"""The pages of docs/: every example in them runs and prints what the page shows."""

import doctest
import importlib
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from amortized_kde.cli import app

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
CONSOLE = re.compile(r"^```console\n\$ amortized-kde (?P<command>.*)\n(?P<shown>(?:.*\n)*?)```$", re.MULTILINE)


def console_blocks():
    return [
        pytest.param(match["command"], match["shown"], id=f"{page.stem}-{k}")
        for page in PAGES
        for k, match in enumerate(CONSOLE.finditer(page.read_text(encoding="utf-8")))
    ]


@pytest.fixture
def beside_examples(tmp_path, monkeypatch):
    """A folder to write into that has examples/ in it, as the repository has."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_prints_what_the_page_shows(page, beside_examples):
    # Without a report of the whole run, the first difference is easier to see.
    flags = FLAGS | doctest.REPORT_ONLY_FIRST_FAILURE
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=flags, encoding="utf-8")
    assert failed == 0


def words(text):
    """Its words without punctuation at their ends, numbers as numbers."""
    found = []
    for word in re.split(r'[\s,"]+', text.strip()):
        try:
            found.append(float(word))
        except ValueError:
            found.append(word)
    return found


@pytest.mark.parametrize(("command", "shown"), console_blocks())
def test_the_command_line_prints_what_the_page_shows(command, shown, beside_examples):
    printed = CliRunner().invoke(app, command.split(), prog_name="amortized-kde")
    assert printed.exit_code == 0, printed.output
    # A model that is trained anew changes the last digits, and the page is still true.
    for said, real in zip(words(shown), words(printed.stdout), strict=True):
        assert real == (pytest.approx(said, rel=0.1) if isinstance(said, float) else said), printed.stdout


@pytest.mark.parametrize("page", ["index", "methods", "bounds", "weights", "ensembles"])
def test_pages_for_users_have_examples(page):
    assert doctest.DocTestParser().get_examples((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))


def test_pages_name_only_files_that_exist():
    for page in (*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md"):
        named = re.findall(r"\b((?:benchmarks|docs|examples|src|tests)/[\w/.]*\w)", page.read_text(encoding="utf-8"))
        assert not [name for name in named if not (ROOT / name).exists()], page.name


def test_tables_of_the_site_are_those_of_the_results(monkeypatch, tmp_path):
    """Each table is read from its file, ordered, with our own row and the losses; one that is not there says so."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "hooks"))
    results = importlib.import_module("results")
    site = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    for name, table in results.TABLES.items():
        assert f"<!-- table: {name} -->" in site
        assert table().strip()
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    head = "n,density,method,replicates,excess_bits,standard_error,difference_bits,difference_error,verdict,failures"
    lines = ["10,all,silverman,9,2.5,0.1,-2,0.1,better,0", "10,all,amortized,9,0.125,0.1,0,0,,0"]
    lines += ["10,claw,silverman,9,0.1,0.01,0.06,0.01,worse,0", "10,comb,scott,9,0.1,0.01,0.04,0.01,no worse,0"]
    (tmp_path / "marron_wand.csv").write_text("\n".join([head, *lines]), encoding="utf-8")
    shown = results.on_page_markdown("<!-- table: marron_wand -->\n<!-- table: marron_wand_losses -->")
    assert shown.index("| **`amortized`** | 0.125 |") < shown.index("| Silverman's rule | 2.50 |")
    assert "| claw | 10 | Silverman's rule | +0.060 |" in shown
    assert "comb" not in shown
    assert "Not made yet" in results.on_page_markdown("<!-- table: every_size -->")
    assert "Not made yet" in results.on_page_markdown("<!-- table: shape -->")
    (tmp_path / "shape.md").write_text("## Modes found", encoding="utf-8")
    assert "results/shape.png)\n\n## Modes found" in results.on_page_markdown("<!-- table: shape -->")
    with_medians = head.replace("standard_error,", "standard_error,median_excess_bits,", 1)
    line = "10,all,amortized,9,0.125,0.1,0.0625,0,0,,0"
    (tmp_path / "marron_wand.csv").write_text(f"{with_medians}\n{line}", encoding="utf-8")
    assert "| **`amortized`** | 0.125 (0.062) |" in results.on_page_markdown("<!-- table: marron_wand -->")
