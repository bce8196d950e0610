"""Write numbers and tables into the pages, between comments: ``<!-- fill: NAME -->`` and ``<!-- end -->``.

    python docs/scripts/fill.py            # write README.md, docs/ and the generated pages
    python docs/scripts/fill.py --check    # write nothing; exit with status 1 if a page is out of date

A comment on a line of its own holds a table, one in a sentence a number. Values come from results/*.csv, the models'
cards, the registry of methods and the help of the command line.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from facts import FACTS
from reference import GENERATED, SELECTION
from tables import TABLES

ROOT = Path(__file__).parents[2]
FILLS: dict[str, Callable[[], str]] = {**FACTS, **TABLES, **SELECTION}
_PLACE = re.compile(r"<!-- fill: (?P<name>\w+) -->.*?<!-- end -->", re.DOTALL)
_OPEN = re.compile(r"<!-- (?:fill: \w+|end) -->")


def filled(text: str) -> str:
    """Return the text of a page with the current value in every place.

    Examples
    --------
    >>> filled("It has <!-- fill: bandwidths -->25<!-- end --> bandwidths.")
    'It has <!-- fill: bandwidths -->32<!-- end --> bandwidths.'
    """
    if len(_OPEN.findall(text)) != 2 * len(_PLACE.findall(text)):
        raise ValueError("every <!-- fill: NAME --> needs its <!-- end -->.")
    return _PLACE.sub(_fill, text)


def _fill(match: re.Match[str]) -> str:
    value = FILLS[match["name"]]()
    if match.start() == 0 or match.string[match.start() - 1] == "\n":
        value = f"\n\n{value}\n\n"
    return f"<!-- fill: {match['name']} -->{value}<!-- end -->"


def pages() -> Iterator[tuple[Path, str]]:
    """Yield every page with the text that it should have."""
    generated = {ROOT / "docs" / name: make() for name, make in GENERATED.items()}
    yield from generated.items()
    written = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    yield from ((path, filled(path.read_text(encoding="utf-8"))) for path in written if path not in generated)


def outdated() -> list[Path]:
    """Return the pages that differ from what they should be."""
    return [path for path, text in pages() if not path.exists() or path.read_text(encoding="utf-8") != text]


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        late = [str(path.relative_to(ROOT)) for path in outdated()]
        sys.exit(f"out of date: {', '.join(late)}; run python docs/scripts/fill.py" if late else 0)
    for path, text in pages():
        path.write_text(text, encoding="utf-8")
