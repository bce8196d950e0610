"""The best possible mean excess in bits on mixtures of 32 components, by estimators that know how tasks are made.

    python benchmarks/best_possible.py [--tasks 5000] [--sweeps 3000] [--out results]

The tasks are the first of benchmarks/excess.py, scored in the same way. For each task a Markov chain draws mixtures
from the posterior given its sample; their mean is the best possible density, and the bandwidth that is best for that
mean is the best possible selector's (contests/best_possible.py). Differences are paired, so that subtracting them from
the means of excess.py estimates the best possible there. About twelve minutes on two cores; try other --sweeps to see
what longer chains would change. Scores are kept in the folder .rivals of the output folder, so that a stopped run
continues, and after training only those of the new model are computed.
"""

import argparse
import csv
import math
import warnings
from functools import cache, partial
from pathlib import Path

import numpy as np
from rich.progress import track

from amortized_kde.data.support import Bounds
from amortized_kde.errors import AmortizedKdeWarning
from amortized_kde.research.provenance import models_behind, record_files
from amortized_kde.research.reproduction.judge import judge_by_draws
from amortized_kde.research.reproduction.oracle import best_bandwidths
from amortized_kde.research.reproduction.protocol import TRUTH
from amortized_kde.research.tasks import draw_tasks, world
from contests.best_possible import best_possible
from contests.scores import FOLDER, CellScores, file_name, kept_scores, weights_of
from contests.task_scores import scores_of_method

SEED = 4_000_000_000
CHUNK = 250
SELECTOR, DENSITY, ORACLE, ADAPTIVE = "best selector", "best density", "best single bandwidth", "amortized:adaptive"
METHODS = ("amortized:single", "amortized:gmm32")


def scores_of_chunk(first: int, sweeps: int, folder: Path) -> dict[str, np.ndarray]:
    """Return the scores (tasks,) of a chunk by method, from disk where they were computed before."""
    # Each at most once, and only if a file is missing.
    batch = cache(partial(draw_tasks, world("gmm32"), CHUNK, seed=SEED, first=first))
    judge = cache(lambda: judge_by_draws(batch()))
    best = cache(lambda: best_possible(batch(), judge(), sweeps=sweeps, seed=first))

    def score(method: str) -> CellScores:
        if method == DENSITY:
            return CellScores(best().scores[None])
        if method == SELECTOR:
            return CellScores(judge().scores(best().bandwidths)[0][None])
        if method == ORACLE:
            return CellScores(judge().scores(best_bandwidths(judge()))[0][None])
        return scores_of_method(method, batch(), Bounds(*batch().bounds))

    def kept(method: str) -> np.ndarray:
        path = folder / file_name("best_possible", first, CHUNK, sweeps, method, weights_of(method))
        return kept_scores(path, partial(score, method)).scores[0]

    return {method: kept(method) for method in (TRUTH, DENSITY, ADAPTIVE, SELECTOR, *METHODS, ORACLE)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=5000)
    parser.add_argument("--sweeps", type=int, default=3000)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    parts: dict[str, list[np.ndarray]] = {m: [] for m in (DENSITY, ADAPTIVE, SELECTOR, *METHODS, ORACLE)}
    for first in track(range(0, options.tasks, CHUNK), description="mixtures"):
        scores = scores_of_chunk(first, options.sweeps, options.out / FOLDER)
        best = np.min([scores[method] for method in (ORACLE, SELECTOR, *METHODS)], axis=0)
        for method, part in parts.items():
            part.append((best if method == ORACLE else scores[method]) - scores[TRUTH])
    rows = []
    excess = {method: np.concatenate(part) for method, part in parts.items()}
    for method, values in excess.items():
        above = values - excess[DENSITY if method in (DENSITY, ADAPTIVE) else SELECTOR]
        figures = [values.mean(), _error(values), above.mean(), _error(above)]
        rows.append((method, values.size, options.sweeps, *(f"{figure:.4f}" for figure in figures)))
        print(f"{method:<24} {figures[0]:.4f} ± {figures[1]:.4f}; beyond the best {figures[2]:.4f} ± {figures[3]:.4f}")
    options.out.mkdir(parents=True, exist_ok=True)
    with open(options.out / "best_possible.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        head = ("mean_excess_bits", "standard_error", "beyond_the_best", "standard_error_of_that")
        writer.writerow(("method", "tasks", "sweeps", *head))
        writer.writerows(rows)
    record_files(options.out, ["best_possible.csv"], models_behind([ADAPTIVE, *METHODS]))


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) / math.sqrt(values.size)


if __name__ == "__main__":
    main()
