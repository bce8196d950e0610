"""Mean excess over the true density's score on the fifteen Marron-Wand densities, in bits, against every rival.

    python benchmarks/marron_wand.py [--replicates 200] [--method amortized] [--no-r] [--out results]

The densities are truncated to [-4, 4], and every method knows these bounds (contests/rivals.py). Expected scores are
integrals, accurate to 1e-5 bits. "No worse" means: at most two standard errors of the paired difference above the
rival. Scores of rivals are kept in the folder .rivals of the output folder; the method under test is always computed.
"""

import argparse
import warnings
from pathlib import Path

from rich.progress import track

from amortized_kde.errors import AmortizedKdeWarning
from amortized_kde.research.provenance import models_behind, record_files
from contests.contest import ORACLE, Contest, ContestResult, draw_contest, excess_of, report_contest, write_contest
from contests.marron_wand import MIXTURES, marron_wand
from contests.rivals import BIC, CLASSICAL, DIRICHLET, KDE1D, SCIPY, UNDER_TEST, has_r
from contests.scores import FOLDER

SIZES = (10, 30, 100, 256)
# Used nowhere else: neither in training nor in validation nor for another table.
SEED = 8_100_000_000
# Both bounds are known, so that ssden needs no choice of a domain.
IN_R = ("logspline", "ssden")


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
        print("R with logspline and gss is not used: these rivals are left out")
    rivals = (*CLASSICAL, SCIPY, DIRICHLET, BIC, KDE1D, *in_r, ORACLE)
    excess: dict = {n: {} for n in SIZES}
    for n, method in track([(n, method) for n in SIZES for method in (options.method, *rivals)], description="scoring"):
        contest = Contest("marron_wand", marron_wand(), n, options.replicates, SEED, options.out / FOLDER)
        excess[n][method] = excess_of(contest, method, fresh=method == options.method)
    result = ContestResult(tuple(MIXTURES), options.method, excess)
    options.out.mkdir(parents=True, exist_ok=True)
    write_contest(options.out / "marron_wand.csv", result)
    draw_contest(options.out / "marron_wand.png", result, title="fifteen Marron-Wand densities on [−4, 4]")
    record_files(options.out, ["marron_wand.csv", "marron_wand.png"], models_behind(result.methods))
    print("\n".join(report_contest(result)))


if __name__ == "__main__":
    main()
