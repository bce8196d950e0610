"""The pages of docs/: examples run and print what the page shows; numbers are current; links and pictures exist.

Pages are read in the repository as well as on the site, which docs/tests checks.
"""

import csv
import doctest
import importlib
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from amortized_kde.cli import app
from amortized_kde.density import storage

ROOT = Path(__file__).parents[1]
# Sphinx-gallery writes docs/gallery, autosummary docs/reference/generated.
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if not {"gallery", "generated"} & set(path.parts))
TEXTS = [*PAGES, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"))]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
CONSOLE = re.compile(
    r"^```console\n\$ amortized-kde (?P<command>(?:.*\\\n)*.*)\n(?P<shown>(?:.*\n)*?)```$", re.MULTILINE
)


def console_blocks():
    return [
        pytest.param(match["command"].replace("\\\n", ""), match["shown"], id=f"{page.stem}-{k}")
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


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/why-not-gaussian-kde.md"])
def test_lines_to_paste_work(name, beside_examples):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    for block in blocks:
        exec(compile(block, name, "exec"), {})


def test_the_first_two_pages_show_what_a_user_of_scipy_looks_for():
    """Fit, plot, save, compare, and the drop-in for gaussian_kde."""
    text = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("index.md", "start.md"))
    lines = "\n".join(re.findall(r"^```(?:python|pycon)\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    calls = ("akde.fit(", ".plot(", ".save(", "akde.compare(", "bw_method=bandwidth_factor()")
    assert [call for call in calls if call not in lines] == []


@pytest.mark.parametrize("page", ["start", "methods", "bounds", "weights", "ensembles"])
def test_pages_for_users_have_examples(page):
    assert doctest.DocTestParser().get_examples((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))


def test_the_format_of_saved_densities_is_described():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert f"(format {storage.FORMAT}; others are" in text
    assert [name for name in storage.TYPES if f"`{name}`" not in text] == []


def test_pages_name_only_files_that_exist():
    for page in TEXTS:
        named = re.findall(r"\b((?:benchmarks|docs|examples|src|tests)/[\w/.-]*\w)", page.read_text(encoding="utf-8"))
        assert not [name for name in named if not (ROOT / name).exists()], page.name


def prose(page):
    """The text of a page without blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def slug(heading):
    """The anchor of a heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page):
    return {slug(found) for found in re.findall(r"^#+ (.*)$", prose(page), flags=re.MULTILINE)}


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_links_and_pictures_exist_in_the_repository(page):
    targets = re.findall(r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"", prose(page))
    for target in ("".join(pair) for pair in targets):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(path), f"{page.name}: {target}"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_pages_have_no_placeholders_and_are_short(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert not re.findall(r"--8<--|<!-- table|^:::|TODO|<!-- fill: \w+ --><!-- end -->", text, flags=re.MULTILINE)
    # What is included by the site has a link beside it, for readers of the repository.
    for included in re.findall(r"```\{include\} (\S+)", text):
        assert f"]({included})" in text


def test_numbers_in_sentences_do_not_begin_a_line():
    """A line that begins with a comment is a block of HTML, and the sentence would be cut there."""
    for page in TEXTS:
        for line in page.read_text(encoding="utf-8").splitlines():
            assert not re.match(r" *<!-- (fill: \w+|end) -->.", line), f"{page.name}: {line}"


@pytest.fixture
def scripts(monkeypatch):
    """The scripts that write into the pages."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "scripts"))
    return {name: importlib.import_module(name) for name in ("fill", "facts", "tables")}


def test_pages_have_the_current_numbers(scripts):
    late = [path.name for path in scripts["fill"].outdated()]
    assert not late, f"{', '.join(late)}: run python docs/scripts/fill.py"


def test_every_number_and_table_is_used(scripts):
    text = "".join(page.read_text(encoding="utf-8") for page in TEXTS)
    assert [name for name in scripts["fill"].FILLS if f"<!-- fill: {name} -->" not in text] == []


def test_a_place_without_an_end_is_an_error(scripts):
    with pytest.raises(ValueError, match="needs its <!-- end -->"):
        scripts["fill"].filled("<!-- fill: tasks -->3 million")
    with pytest.raises(KeyError):
        scripts["fill"].filled("<!-- fill: unknown --><!-- end -->")


def test_tables_are_those_of_the_results(scripts, monkeypatch, tmp_path):
    """Each is read from its file, ordered, with our own row and the losses."""
    tables = scripts["tables"]
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    head = ["n", "density", "method", "excess_bits", "median_excess_bits", "difference_bits", "verdict"]
    lines = [
        (10, "all", "silverman", 2.5, 0.5, -2, "better"),
        (10, "all", "amortized", 0.125, 0.0625, 0, ""),
        (10, "claw", "silverman", 0.1, 0.1, 0.06, "worse"),
        (10, "comb", "scott", 0.1, 0.1, 0.04, "no worse"),
    ]
    with open(tmp_path / "marron_wand.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *lines])
    shown = scripts["fill"].filled("<!-- fill: marron_wand --><!-- end -->")
    assert shown.index("| **`amortized`** | 0.125 (0.062) |") < shown.index("| Silverman's rule | 2.50 (0.500) |")
    lost = tables.TABLES["marron_wand_losses"]()
    assert "| claw | 10 | Silverman's rule | +0.060 |" in lost
    assert "comb" not in lost
    with pytest.raises(FileNotFoundError):
        tables.TABLES["every_size"]()


def test_facts_are_those_of_cards_and_results(scripts, monkeypatch, tmp_path):
    facts, tables = scripts["facts"], scripts["tables"]
    assert facts.FACTS["tasks"]() == f"{12_000 * 256 / 1e6:.1f} million"
    assert facts.FACTS["bandwidths"]() == "32"
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    rows = ["column,n,method,difference_bits", *(f"{c},30,{m},{d}" for c, m, d in RIVALS)]
    (tmp_path / "real_data.csv").write_text("\n".join(rows), encoding="utf-8")
    found = {name: facts.FACTS[name]() for name in ("real_columns", "real_rivals", "real_percent")}
    assert found == {"real_columns": "2", "real_rivals": "2", "real_percent": "50 to 100 %"}


RIVALS = [("a", "amortized", 0), ("a", "scott", -1), ("b", "scott", -2), ("a", "lcv", 0.25), ("b", "lcv", -1)]
