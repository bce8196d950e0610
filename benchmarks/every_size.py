"""Scores from n = 2 to a million, with known and unknown bounds, against every classical selector.

    python benchmarks/every_size.py [--tasks 50000] [--sizes 2 3 5 ...] [--method amortized] [--out results]

Worlds: the ten families, mixtures of 32 Gaussians, and the fifteen Marron-Wand densities. At full scale there are
50,000 tasks of each size up to 256 (Marron-Wand: 15,000), then 2000, 300, 40 and 10; --tasks is the maximum for any
size. Selectors whose time grows with n^2 are left out above some size, which the report says (contests/every_size.py).
Scores are means over 1024 draws from each true density. Every chunk of tasks is kept in the folder .rivals of the
output folder: an interrupted run continues, and after training only the scores of the new model are computed. With
--method amortized:single the file is every_size_single.csv.
"""

import argparse
import warnings
from pathlib import Path

from rich.progress import Progress

from amortized_kde.errors import AmortizedKdeWarning
from amortized_kde.research.provenance import models_behind, record_files
from amortized_kde.research.reproduction.protocol import TRUTH
from contests.every_size import SIZES, TASKS, WORLDS, cell_of, report_sizes, score_cell, write_sizes
from contests.rivals import CLASSICAL, UNDER_TEST
from contests.scores import FOLDER


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=max(TASKS.values()))
    parser.add_argument("--sizes", type=int, nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("--method", default=UNDER_TEST)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    methods = (TRUTH, options.method, *CLASSICAL)
    cells = [
        cell_of(world, n, known=known, most=options.tasks)
        for world in WORLDS
        for known in (True, False)
        for n in options.sizes
    ]
    results, worlds = {}, {name: make() for name, make in WORLDS.items()}
    with Progress() as progress:
        bar = progress.add_task("scoring", total=sum(cell.tasks * cell.n for cell in cells))
        for cell in cells:
            progress.update(bar, description=f"{cell.world}, bounds {cell.bounds}, n = {cell.n}")
            results[cell] = score_cell(
                cell,
                methods,
                worlds[cell.world],
                options.out / FOLDER,
                report=lambda tasks, n=cell.n: progress.advance(bar, tasks * n),
            )
    file = "every_size.csv" if options.method == UNDER_TEST else f"every_size_{options.method.rpartition(':')[2]}.csv"
    write_sizes(options.out / file, results, under_test=options.method)
    record_files(options.out, [file], models_behind(methods))
    print("\n".join(report_sizes(results, under_test=options.method, methods=methods)))


if __name__ == "__main__":
    main()
