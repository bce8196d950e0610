"""The curve that people see: modes, peak, moments and intervals of estimates from 5 to 5000 values, without bounds.

    python benchmarks/shape.py [--samples 200] [--sizes 5 8 ...] [--methods A,B] [--no-r] [--finished] [--out results]

Eight smooth densities, and the fifteen of Marron and Wand with 50 samples of each. Modes are counted by
scipy.signal.find_peaks on a grid that holds every data point, the same for all. Slow rivals see 50 samples of at most
1000 values; of 5000 values there are 50 samples for all. Cells are kept in the folder .rivals of the output folder, so
that a stopped run continues, and after training only those of the new model are computed. With --finished the tables
have the cells that are there.

Writes shape.csv, a line for each density, size and method, and from it shape.md, small tables after a list of the
losses, and shape.png.
"""

import argparse
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.progress import track

from amortized_kde.errors import AmortizedKdeWarning
from amortized_kde.research.provenance import models_behind, record_files
from contests.marron_wand import MIXTURES
from contests.rivals import DIRICHLET, has_r
from contests.scores import FOLDER, CellScores, file_name, kept_scores, weights_of
from contests.shape import (
    IN_R,
    MEASURES,
    OURS,
    SLOW,
    curves,
    marron_wand_densities,
    measures,
    smooth_densities,
)
from contests.shape_report import Key, draw_shape, read_cells, to_markdown, write_cells

SIZES = (5, 8, 15, 30, 60, 120, 250, 500, 1000, 2000, 5000)
# Serves nothing else: neither training nor validation nor any other table.
SEED = 8_200_000_000
# Few samples of the Marron-Wand densities, of the largest size, and for slow methods, which get none above a size.
FEW, LARGE_SIZE, SLOW_SIZE = 50, 5000, 1000
# More sizes of the normal density, on which too high a peak is seen best.
NORMAL_SIZES = (10, 20, 50)


class Cell(NamedTuple):
    """One density, size and method."""

    density: str
    n: int
    method: str
    samples: int
    folder: Path


TRUTHS = {truth.name: truth for truth in (*smooth_densities(), *marron_wand_densities())}


def samples_of(density: str, n: int, method: str, most: int) -> int:
    """Return the number of samples of a cell."""
    return min(most, FEW) if density in MIXTURES or n >= LARGE_SIZE or method in SLOW else most


def judge(cell: Cell) -> np.ndarray:
    """Return the measures (samples, measures) of a cell; NaN where a method has no answer."""
    warnings.simplefilter("ignore")
    truth = TRUTHS[cell.density]
    rng = np.random.default_rng([SEED, list(TRUTHS).index(cell.density), cell.n])
    drawn = [np.sort(truth.draw(rng, cell.n)) for _ in range(cell.samples)]
    found = curves(cell.method, truth, drawn)
    nothing = np.full(len(MEASURES), np.nan)
    return np.array([nothing if c is None else measures(truth, x, c) for x, c in zip(drawn, found, strict=True)])


def kept(cell: Cell) -> np.ndarray:
    """Return the measures of a cell, from disk if they were computed before."""
    return kept_scores(file_of(cell), lambda: CellScores(judge(cell))).scores


def file_of(cell: Cell) -> Path:
    """Return where the measures of a cell are kept."""
    return cell.folder / file_name("shape", *cell[:2], cell.samples, cell.method, weights_of(cell.method))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--methods", default=",".join((*OURS, DIRICHLET, *IN_R)))
    parser.add_argument("--no-r", action="store_true")
    parser.add_argument("--finished", action="store_true", help="report what is on disk, and compute nothing")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    methods = [method for method in options.methods.split(",") if method not in IN_R or (not options.no_r and has_r())]
    cells = [
        Cell(density, n, method, samples_of(density, n, method, options.samples), options.out / FOLDER)
        for n in sorted({*options.sizes, *NORMAL_SIZES})
        for density in (TRUTHS if n in options.sizes else ["normal"])
        for method in methods
        if method not in SLOW or n <= SLOW_SIZE
    ]
    cells = [cell for cell in cells if not options.finished or file_of(cell).exists()]
    with ProcessPoolExecutor(2) as pool:
        found = dict(zip(cells, track(pool.map(kept, cells), total=len(cells), description="drawing"), strict=True))
    options.out.mkdir(parents=True, exist_ok=True)
    write_cells(options.out / "shape.csv", {Key(*cell[:3]): values for cell, values in found.items()})
    summaries = read_cells(options.out / "shape.csv")
    (options.out / "shape.md").write_text(to_markdown(summaries), encoding="utf-8")
    draw_shape(options.out / "shape.png", summaries)
    record_files(options.out, ["shape.csv", "shape.md", "shape.png"], models_behind(methods))


if __name__ == "__main__":
    main()
