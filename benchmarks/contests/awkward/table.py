"""The table of awkward data: each case and library judged, as CSV and as Markdown."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from amortized_kde.research.reproduction.report_tables import section, table
from amortized_kde.research.reproduction.tables import write_csv
from contests.awkward.cases import GROUPS, Case
from contests.awkward.judges import Outcome
from contests.awkward.libraries import LIBRARIES, Library, ask

_COLUMNS = ("group", "case", "library", "version", "mark", "words", "measured", "said")
# No-break spaces, so that a sign is never alone on its line.
_SIGNS = {
    "fine": "✓\N{NO-BREAK SPACE}",
    "unclear": "–\N{NO-BREAK SPACE}",
    "wrong": "✗\N{NO-BREAK SPACE}",
    "not asked": "",
}


@dataclass(frozen=True)
class Row:
    """One cell of the table."""

    group: str
    case: str
    library: str
    version: str
    outcome: Outcome


def judge_case(case: Case, library: Library) -> Outcome:
    """Return the outcome of a library on a case."""
    if case.only_bounded and not library.takes_bounds:
        return Outcome("not asked", "takes no bounds")
    if case.python_only and library.in_r:
        return Outcome("not asked", "not in R")
    judge = case.judge
    reply = ask(library, case.sample, case.bounds if library.takes_bounds else None, judge.points)
    if judge.twin is None:
        return judge.verdict(reply, None)
    bounds = judge.twin.bounds if library.takes_bounds else None
    return judge.verdict(reply, ask(library, judge.twin.sample, bounds, judge.twin.points))


def row_of(case: Case, library: Library) -> Row:
    """Return the row of a library on a case."""
    return Row(case.group, case.name, library.name, library.version or "", judge_case(case, library))


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write the table as CSV."""
    write_csv(path, _COLUMNS, [_cells(row) for row in rows])


def _cells(row: Row) -> tuple[str, ...]:
    outcome = row.outcome
    measured = "" if outcome.measured != outcome.measured else f"{outcome.measured:.6g}"
    return (row.group, row.case, row.library, row.version, outcome.mark, outcome.words, measured, outcome.said)


def read_rows(path: Path) -> list[Row]:
    """Read what `write_rows` wrote."""
    with open(path, newline="", encoding="utf-8") as file:
        return [_row(entry) for entry in csv.DictReader(file)]


def _row(entry: dict[str, str]) -> Row:
    measured = float(entry["measured"] or "nan")
    outcome = Outcome(entry["mark"], entry["words"], measured, entry["said"])  # type: ignore[arg-type]
    return Row(entry["group"], entry["case"], entry["library"], entry["version"], outcome)


def to_markdown(rows: Sequence[Row]) -> str:
    """Return Markdown: counts, a table for each group, the calls that were judged, and the libraries' messages.

    Examples
    --------
    >>> print(to_markdown([Row("few", "2 values", "SciPy", "1.0", Outcome("fine", "fine"))]).splitlines()[0])
    ## In short
    """
    names = list(dict.fromkeys(row.library for row in rows))
    groups = dict.fromkeys(row.group for row in rows)
    parts = [section("In short", _count(rows, names))]
    parts += [section(GROUPS[group], _grid([row for row in rows if row.group == group], names)) for group in groups]
    parts.append(section("What was called", _calls(rows)))
    parts.append(section("What they said", _messages(rows)))
    return "\n\n".join(part for part in parts if part) + "\n"


def _grid(rows: Sequence[Row], names: Sequence[str]) -> str:
    cells = {(row.case, row.library): _SIGNS[row.outcome.mark] + row.outcome.words for row in rows}
    cases = dict.fromkeys(row.case for row in rows)
    body = [[case, *(cells.get((case, name), "") for name in names)] for case in cases]
    return table(["", *names], body, text=1 + len(names))


def _count(rows: Sequence[Row], names: Sequence[str]) -> str:
    marks = {"fine": "✓ fine", "unclear": "– nothing to use", "wrong": "✗ wrong, without an error"}
    counts = [
        [words, *(str(sum(row.library == name and row.outcome.mark == mark for row in rows)) for name in names)]
        for mark, words in marks.items()
    ]
    return table(["", *names], counts)


def _calls(rows: Sequence[Row]) -> str:
    versions = {row.library: row.version for row in rows}
    known = [LIBRARIES[name] for name in versions if name in LIBRARIES]
    return table(
        ["library", "version", "call"],
        [[entry.name, versions[entry.name], f"`{entry.call}`"] for entry in known],
        text=3,
    )


def _messages(rows: Sequence[Row]) -> str:
    said = [[row.case, row.library, f"`{row.outcome.said.replace('`', chr(39))}`"] for row in rows if row.outcome.said]
    return table(["case", "library", "message"], said, text=3) if said else ""
