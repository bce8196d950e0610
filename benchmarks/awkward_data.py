"""Every library on awkward data: far tails, ties, outliers, odd units, few values, bad input, bounds.

    python benchmarks/awkward_data.py [--out results]

Every library is used as its manual shows, and judged by what it returns (contests/awkward/judges.py). Libraries that
are not installed are named and left out.
"""

import argparse
from pathlib import Path

from rich.progress import track

from amortized_kde.research.provenance import models_behind, record_files
from contests.awkward.cases import awkward_cases
from contests.awkward.libraries import LIBRARIES
from contests.awkward.table import row_of, to_markdown, write_rows
from contests.rivals import UNDER_TEST


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"))
    out = parser.parse_args().out
    here = [library for library in LIBRARIES.values() if library.version is not None]
    for library in LIBRARIES.values():
        if library not in here:
            print(f"{library.name} is not installed and left out")
    pairs = [(case, library) for case in awkward_cases() for library in here]
    rows = [row_of(case, library) for case, library in track(pairs, description="judging")]
    out.mkdir(parents=True, exist_ok=True)
    write_rows(out / "awkward_data.csv", rows)
    (out / "awkward_data.md").write_text(to_markdown(rows), encoding="utf-8")
    record_files(out, ["awkward_data.csv", "awkward_data.md"], models_behind([UNDER_TEST]))
    for row in rows:
        print(f"{row.case:<42}{row.library:<18}{row.outcome.mark:<10}{row.outcome.words}")


if __name__ == "__main__":
    main()
