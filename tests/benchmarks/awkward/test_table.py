from pathlib import Path

import pytest

from contests.awkward.cases import awkward_cases
from contests.awkward.judges import Outcome
from contests.awkward.libraries import LIBRARIES
from contests.awkward.table import Row, judge_case, read_rows, row_of, to_markdown, write_rows

RESULTS = Path(__file__).parents[3] / "results"
CASES = {case.name: case for case in awkward_cases()}
ROWS = [
    Row("few", "2 values", "SciPy", "1.0", Outcome("fine", "fine", 1.0)),
    Row("few", "1 value", "SciPy", "1.0", Outcome("unclear", "ValueError, not why", said="ValueError: `x` | y")),
    Row("bounds", "outside", "SciPy", "1.0", Outcome("not asked", "takes no bounds")),
]


def test_rows_survive_their_file(tmp_path):
    write_rows(tmp_path / "rows.csv", ROWS)
    again = read_rows(tmp_path / "rows.csv")
    assert [row.outcome.words for row in again] == [row.outcome.words for row in ROWS]
    # Through repr, because NaN is not equal to itself.
    assert repr(again) == repr(ROWS)


def test_the_page_counts_and_shows_every_cell():
    page = to_markdown(ROWS)
    assert "| ✓ fine | 1 |" in page
    assert "| – nothing to use | 1 |" in page
    assert "| ✗ wrong, without an error | 0 |" in page
    assert "| 1 value | –\N{NO-BREAK SPACE}ValueError, not why |" in page
    assert "| outside | takes no bounds |" in page
    assert r"| 1 value | SciPy | `ValueError: 'x' \| y` |" in page


def test_libraries_without_bounds_are_not_asked_for_them():
    case = CASES["a value outside the bounds"]
    assert judge_case(case, LIBRARIES["SciPy"]).words == "takes no bounds"
    assert judge_case(case, LIBRARIES["amortized-kde"]).words == "says why"
    assert judge_case(CASES["a masked array, −999 masked"], LIBRARIES["R"]).words == "not in R"


def test_known_traps_are_found():
    scipy = LIBRARIES["SciPy"]
    assert judge_case(CASES["in units of 10⁻⁹"], scipy).mark == "fine"
    assert judge_case(CASES["one of 100 values 10⁶ sd away"], scipy).mark == "wrong"
    assert judge_case(CASES["exponential, lower bound 0, n = 200"], scipy).words.endswith("% beyond the bounds")


def test_the_committed_table_is_whole_and_its_page_is_made_from_it():
    rows = read_rows(RESULTS / "awkward_data.csv")
    assert {(row.case, row.library) for row in rows} == {(case, library) for case in CASES for library in LIBRARIES}
    assert (RESULTS / "awkward_data.md").read_text(encoding="utf-8") == to_markdown(rows)


@pytest.mark.parametrize("name", CASES)
def test_the_committed_table_says_what_this_package_does_now(name):
    committed = {
        row.case: row.outcome for row in read_rows(RESULTS / "awkward_data.csv") if row.library == "amortized-kde"
    }
    now = row_of(CASES[name], LIBRARIES["amortized-kde"]).outcome
    assert now.mark == committed[name].mark, "the table is out of date: run python benchmarks/awkward_data.py"
