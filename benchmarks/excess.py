"""Mean excess over the true density's score, in bits, on fresh tasks of both bounded worlds, n ~ Unif{5..256}.

    python benchmarks/excess.py [--tasks 50000] [--out results]

Every method sees the same tasks and the same 1024 evaluation draws; sums are in float64. The oracle is the best
single bandwidth for each task: the best of a ladder of half-octaves, refined by bisection of the derivative. The seed
of the tasks is used nowhere else, neither for training nor for validation.
"""

import sys

# A script's own folder comes first in the search path, where selectors.py would hide the standard library's.
sys.path.pop(0)

import argparse
import csv
import math
import warnings
from pathlib import Path

import numpy as np
from rich.progress import track

from amortized_kde.domain import Bounds
from amortized_kde.errors import AmortizedKdeWarning
from amortized_kde.numerics.objective import score_and_slope_rows
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.selectors import SELECTORS
from amortized_kde.tasks import TaskBatch, draw_tasks, world

SEED = 4_000_000_000
CHUNK = 2_500
METHODS = ("amortized:gmm32", "amortized:gmm16", "amortized:gmm8", "amortized:multifamily", "silverman", "lcv")
ORACLE = "best single bandwidth"


def scores_and_slopes(batch: TaskBatch, h: np.ndarray, *, single: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Mean score in bits and its derivative by log h, for each task."""
    scores, slopes = np.empty(len(batch)), np.empty(len(batch))
    weights = np.full(batch.draws.shape[1], 1.0 / batch.draws.shape[1])
    run_in_pieces(
        lambda i, j: score_and_slope_rows(
            batch.values, batch.offsets, h, batch.bounds, batch.draws, weights, single, scores, slopes, i, j
        ),
        len(batch),
        operations=1e9,
    )
    return scores / math.log(2.0), slopes


def oracle(batch: TaskBatch) -> np.ndarray:
    """The score of the best bandwidth of each task."""
    ladder = 2.0 ** np.arange(-9.0, 3.1, 0.5)
    along = np.stack([scores_and_slopes(batch, np.full(len(batch), h), single=True)[0] for h in ladder])
    best = along.argmin(axis=0)
    low, high = np.log(ladder[np.maximum(best - 1, 0)]), np.log(ladder[np.minimum(best + 1, ladder.size - 1)])
    for _ in range(7):
        middle = 0.5 * (low + high)
        _, slope = scores_and_slopes(batch, np.exp(middle), single=True)
        low, high = np.where(slope > 0.0, low, middle), np.where(slope > 0.0, middle, high)
    refined, _ = scores_and_slopes(batch, np.exp(0.5 * (low + high)))
    return np.minimum(refined, scores_and_slopes(batch, ladder[best])[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=50_000)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    rows = []
    for name in ("gmm32", "multifamily"):
        tasks = world(name)
        excess: dict[str, list[np.ndarray]] = {method: [] for method in (*METHODS, ORACLE)}
        for first in track(range(0, options.tasks, CHUNK), description=name):
            batch = draw_tasks(tasks, CHUNK, seed=SEED, first=first)
            truth = batch.true_scores()
            for method in METHODS:
                h = SELECTORS[method].select(batch.samples, Bounds(*batch.bounds)).bandwidths
                excess[method].append(scores_and_slopes(batch, h)[0] - truth)
            excess[ORACLE].append(oracle(batch) - truth)
        for method, parts in excess.items():
            values = np.concatenate(parts)
            error = values.std(ddof=1) / math.sqrt(values.size)
            rows.append((name, method, values.size, f"{values.mean():.4f}", f"{error:.4f}"))
            print(f"{name:<12} {method:<24} {values.mean():8.4f} ± {error:.4f} bits over {values.size} tasks")
    options.out.mkdir(parents=True, exist_ok=True)
    with open(options.out / "excess.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("world", "method", "tasks", "mean_excess_bits", "standard_error"))
        writer.writerows(rows)


if __name__ == "__main__":
    main()
