"""KL in bits of density estimates in two to eight dimensions, against peers.

    python benchmarks/dimensions.py [--beds mixtures,others,wand-jones,bounded,real] [--n 20,100,256] [--tests 50]
        [--real-n 50,100,256,1000] [--splits 5] [--dimensions 2,3,5,8] [--ours module:function ...]
        [--peers all|none|NAME,...] [--out results]

Ours are functions fit(X, bounds=None), given by import path, and are always computed; `amortized_kde:fit` is the
default, and `--ours none` runs peers alone. At least `--tests` tests are made of a bed at every n, each dimension and
family equally often, and `--splits` splits of each real table. On real tables the score is the excess over the
predictive t of a normal model: negative is better. The first of ours is judged by the claims in
contests/dimensions/judgement.py.

Scores of peers are kept in results/.rivals, and most are committed, since they take hours. From 1000 rows on, tests
with a known truth have only the peers in `LARGE`. Tables, claims and a figure are written only with --out.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

from threadpoolctl import threadpool_limits

from amortized_kde import models
from amortized_kde.research.provenance import command_under_way, record_files
from contests.dimensions.beds import BEDS, make_tasks
from contests.dimensions.files import NAMES, write_run
from contests.dimensions.judgement import Contest, judgement_text
from contests.dimensions.peers import METHODS, ORACLE
from contests.dimensions.r_peers import R_PEERS, has_r
from contests.dimensions.real_tables import REAL, real_tasks
from contests.dimensions.report import Cell, print_cells
from contests.dimensions.running import applies, import_fit, score_ours, score_peer
from contests.scores import FOLDER

PEERS = (*METHODS, ORACLE, *R_PEERS)
# The others are left out there to save time.
LARGE = ("scipy (Scott)", "Abramson", "mixture (BIC)")
LARGE_FROM = 1000


def main() -> None:
    options = parse()
    warnings.simplefilter("ignore")
    ours = {path: import_fit(path) for path in options.ours if path != "none"}
    kept = options.rivals or (options.out or Path("results")) / FOLDER
    if set(options.peers) & set(R_PEERS) and not has_r():
        print("R with ks and mclust is not installed: these peers are left out")
        options.peers = [peer for peer in options.peers if peer not in R_PEERS]
    cells = []
    for bed in options.beds:
        for n in options.real_n if bed == REAL else options.n:
            if bed == REAL:
                tasks = real_tasks(n, options.splits, options.dimensions)
            else:
                tasks = make_tasks(bed, n, options.tests, options.dimensions)
            if not tasks:
                continue
            for name, fit in ours.items():
                start = time.perf_counter()
                scores = score_ours(fit, tasks)
                cells.append(Cell(bed, n, name, tasks, scores))
                print(f"{bed} n={n} {name}: {time.perf_counter() - start:.0f} s", flush=True)
            for peer in options.peers:
                start = time.perf_counter()
                here = [task for task in tasks if applies(peer, task)]
                if not here or (bed != REAL and n >= LARGE_FROM and peer not in LARGE):
                    continue
                found = score_peer(peer, here, kept)
                cells.append(Cell(bed, n, peer, here, list(found.values())))
                print(f"{bed} n={n} {peer}: {time.perf_counter() - start:.0f} s", flush=True)
    print_cells(cells)
    if ours:
        print(judgement_text(Contest(cells, next(iter(ours)))))
        if options.out is not None:
            write_run(options.out, cells, next(iter(ours)))
            record_files(options.out, NAMES, models_of_ours(), command=command_without_folders())


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beds", type=lambda text: text.split(","), default=[*BEDS, REAL])
    parser.add_argument("--n", type=whole_numbers, default=[20, 100, 256, 1000, 4000])
    parser.add_argument("--real-n", type=whole_numbers, default=[50, 100, 256, 1000], help="sizes for the real tables")
    parser.add_argument("--tests", type=int, default=50, help="at least, of every bed and n")
    parser.add_argument("--splits", type=int, default=5, help="of every real table and n")
    parser.add_argument("--dimensions", type=whole_numbers, default=None)
    parser.add_argument("--ours", nargs="+", default=["amortized_kde:fit"])
    parser.add_argument("--peers", default="all")
    parser.add_argument("--rivals", type=Path, default=None, help="folder of kept scores; default results/.rivals")
    parser.add_argument("--out", type=Path, default=None, help="write tables, claims and a figure to this folder")
    options = parser.parse_args()
    options.peers = {"all": list(PEERS), "none": []}.get(options.peers) or (
        [] if options.peers == "none" else options.peers.split(",")
    )
    for kind, given, known in (("bed", options.beds, [*BEDS, REAL]), ("peer", options.peers, PEERS)):
        unknown = sorted(set(given) - set(known))
        if unknown:
            parser.error(f"unknown {kind} {', '.join(unknown)}; known: {', '.join(known)}")
    return options


def models_of_ours() -> dict[str, str]:
    """Checksums of the models behind a density in several dimensions: its own, and the one of its margins."""
    return {name: card["sha256"] for name, card in models().items() if name in ("adaptive", "multivariate")}


def command_without_folders() -> str:
    """The command under way, without the folder of kept scores, which is of this machine."""
    words = list(sys.argv)
    if "--rivals" in words:
        first = words.index("--rivals")
        del words[first : first + 2]
    return command_under_way(words)


def whole_numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


if __name__ == "__main__":
    # More threads only wait for each other on such small arrays.
    with threadpool_limits(1):
        main()
