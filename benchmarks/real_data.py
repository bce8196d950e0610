"""Scores on real columns, in bits: fitted to part of a column, scored on values that were not fitted.

    python benchmarks/real_data.py [--splits 20] [--method amortized] [--no-r] [--out results] [--held]

The columns, their bounds and their halves are fixed in contests/real_columns.py; without --held the open half is
used. The held half is for one last look: do not run it while anything can still be changed. Rounded values are
spread over their rounding unit, the same way for all methods (contests/real_splits.py), every method is told the same
bounds, and scores are in units of the column's interquartile range (contests/real_scores.py). Scores of rivals are
kept in the folder .rivals of the output folder; the method under test is computed anew.
"""

import argparse
import warnings
from pathlib import Path

from rich.progress import track

from amortized_kde.errors import AmortizedKdeWarning
from contests.r_rivals import R_RIVALS, has_r
from contests.real_columns import columns_of
from contests.real_report import RealResult, report_real, write_real
from contests.real_scores import cells_of, score_real
from contests.rival_store import FOLDER, file_name, kept_scores
from contests.rivals import RIVALS, UNDER_TEST

SEED = 8_120_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--method", default=UNDER_TEST)
    parser.add_argument("--no-r", action="store_true")
    parser.add_argument("--held", action="store_true", help="the held half, for one last look")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    half = "held" if options.held else "open"
    name = "real_data_held" if options.held else "real_data"
    cells = cells_of(columns_of(half), options.splits, seed=SEED)
    in_r = R_RIVALS if not options.no_r and has_r() else ()
    if not in_r:
        print("R with logspline and gss is not asked: these rivals are left out")
    scores = {options.method: score_real(options.method, cells)}
    for rival in track([*RIVALS, *in_r], description="scoring"):
        path = options.out / FOLDER / file_name(name, options.splits, SEED, rival)
        scores[rival] = kept_scores(path, lambda rival=rival: score_real(rival, cells))
    result = RealResult(cells, options.method, scores)
    write_real(options.out / f"{name}.csv", result)
    print("\n".join(report_real(result)))


if __name__ == "__main__":
    main()
