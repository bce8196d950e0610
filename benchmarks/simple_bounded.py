"""Mean excess over the true density's score on four simple densities with known bounds, in bits.

    python benchmarks/simple_bounded.py [--replicates 200] [--method amortized] [--no-r] [--out results]

Uniform, exponential, triangular and Beta(2, 2); every method knows the bounds, of the exponential only the lower one.
As in marron_wand.py, expected scores are integrals, "no worse" means at most two standard errors of the paired
difference above the rival, and scores of rivals are kept in the folder .rivals of the output folder. Smoothing splines
are not among the rivals: they need a finite domain, so that their expected score on the exponential is infinite.
"""

import argparse
import warnings
from pathlib import Path

from rich.progress import track

from amortized_kde.errors import AmortizedKdeWarning
from amortized_kde.research.provenance import models_behind, record_files
from contests.contest import ORACLE, Contest, ContestResult, draw_contest, excess_of, report_contest, write_contest
from contests.known_densities import simple_bounded
from contests.rivals import CLASSICAL, SCIPY, UNDER_TEST, has_r
from contests.scores import FOLDER

SIZES = (10, 30, 100, 256, 1000)
# Used nowhere else: neither in training nor in validation nor for another table.
SEED = 8_110_000_000
IN_R = ("logspline",)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--method", default=UNDER_TEST)
    parser.add_argument("--no-r", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    in_r = IN_R if not options.no_r and has_r() else ()
    if not in_r:
        print("R with logspline is not used: it is left out")
    rivals = (*CLASSICAL, SCIPY, *in_r, ORACLE)
    excess: dict = {n: {} for n in SIZES}
    for n, method in track([(n, method) for n in SIZES for method in (options.method, *rivals)], description="scoring"):
        contest = Contest("simple_bounded", simple_bounded(), n, options.replicates, SEED, options.out / FOLDER)
        excess[n][method] = excess_of(contest, method, fresh=method == options.method)
    result = ContestResult(tuple(known.name for known in simple_bounded()), options.method, excess)
    options.out.mkdir(parents=True, exist_ok=True)
    write_contest(options.out / "simple_bounded.csv", result)
    draw_contest(options.out / "simple_bounded.png", result, title="four densities with known bounds")
    record_files(options.out, ["simple_bounded.csv", "simple_bounded.png"], models_behind(result.methods))
    print("\n".join(report_contest(result)))


if __name__ == "__main__":
    main()
