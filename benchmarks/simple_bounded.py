"""Mean excess over the true density's score on four simple densities with known bounds, in bits.

    python benchmarks/simple_bounded.py [--replicates 200] [--method amortized] [--no-r] [--out results]

Uniform, exponential, triangular and Beta(2, 2); every method is told the bounds, of the exponential the lower one. As
in marron_wand.py, expected scores are integrals, "no worse" means at most two standard errors of the paired difference
above the rival, and scores of rivals are kept in the folder .rivals of the output folder. Smoothing splines are not
among the rivals: they need a finite domain, and on the exponential their expected score is infinite.
"""

import argparse
import warnings
from pathlib import Path

from rich.progress import track

from amortized_kde.errors import AmortizedKdeWarning
from contests.contest import ORACLE, Contest, excess_of
from contests.contest_report import ContestResult, draw_contest, report_contest, write_contest
from contests.r_rivals import has_r
from contests.rival_store import FOLDER
from contests.rivals import CLASSICAL, SCIPY, UNDER_TEST
from contests.simple_bounded import simple_bounded

SIZES = (10, 30, 100, 256, 1000)
# Serves nothing else: neither training nor validation nor any other table.
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
        print("R with logspline is not asked: it is left out")
    rivals = (*CLASSICAL, SCIPY, *in_r, ORACLE)
    excess: dict = {n: {} for n in SIZES}
    for n, method in track([(n, method) for n in SIZES for method in (options.method, *rivals)], description="scoring"):
        contest = Contest("simple_bounded", simple_bounded(), n, options.replicates, SEED, options.out / FOLDER)
        excess[n][method] = excess_of(contest, method, fresh=method == options.method)
    result = ContestResult(tuple(known.name for known in simple_bounded()), options.method, excess)
    options.out.mkdir(parents=True, exist_ok=True)
    write_contest(options.out / "simple_bounded.csv", result)
    draw_contest(options.out / "simple_bounded.png", result, title="four densities with known bounds")
    print("\n".join(report_contest(result)))


if __name__ == "__main__":
    main()
