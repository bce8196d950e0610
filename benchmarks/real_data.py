"""Scores on real columns in bits: fitted to part of a column, scored on the other values.

    python benchmarks/real_data.py [--splits 20] [--method amortized] [--no-r] [--out results] [--held]

The columns, their bounds and their halves are fixed in contests/real_columns.py; without --held the open half is used.
The held half is for one final evaluation: do not run it while anything can still be changed. Rounded values are spread
over their rounding unit in the same way for all methods, every method knows the same bounds, and the unit of length is
the column's interquartile range (contests/real_data.py). Scores of rivals are kept in the folder .rivals of the output
folder; the method under test is always computed.
"""

import argparse
import warnings
from pathlib import Path

from rich.progress import track

from amortized_kde.errors import AmortizedKdeWarning
from amortized_kde.research.provenance import models_behind, record_files
from contests.real_columns import columns_of
from contests.real_data import RealResult, cells_of, report_real, score_real, write_real
from contests.rivals import R_RIVALS, RIVALS, UNDER_TEST, has_r
from contests.scores import FOLDER, file_name, kept_scores

SEED = 8_120_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--method", default=UNDER_TEST)
    parser.add_argument("--no-r", action="store_true")
    parser.add_argument("--held", action="store_true", help="the held half, for one final evaluation")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    half = "held" if options.held else "open"
    name = "real_data_held" if options.held else "real_data"
    cells = cells_of(columns_of(half), options.splits, seed=SEED)
    in_r = R_RIVALS if not options.no_r and has_r() else ()
    if not in_r:
        print("R with logspline and gss is not used: these rivals are left out")
    scores = {options.method: score_real(options.method, cells)}
    for rival in track([*RIVALS, *in_r], description="scoring"):
        path = options.out / FOLDER / file_name(name, options.splits, SEED, rival)
        scores[rival] = kept_scores(path, lambda rival=rival: score_real(rival, cells))
    result = RealResult(cells, options.method, scores)
    write_real(options.out / f"{name}.csv", result)
    record_files(options.out, [f"{name}.csv"], models_behind(scores))
    print("\n".join(report_real(result)))


if __name__ == "__main__":
    main()
