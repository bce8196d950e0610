"""The best possible mean excess in bits on mixtures of 32 components, by estimators that know how tasks are made.

    python benchmarks/best_possible.py [--tasks 5000] [--sweeps 3000] [--out results]

The tasks are the first of benchmarks/excess.py, scored in the same way. For each task a Markov chain draws mixtures
from the posterior given its sample; their mean is the best possible density, and the bandwidth that is best for that
mean is the best possible selector's (contests/best_possible.py). Differences are paired, so that subtracting them from
the means of excess.py estimates the best possible there. About twelve minutes on two cores; try other --sweeps to see
what longer chains would change.
"""

import argparse
import csv
import math
import warnings
from pathlib import Path

import numpy as np
from rich.progress import track

from amortized_kde.data.support import Bounds
from amortized_kde.errors import AmortizedKdeWarning
from amortized_kde.learned.store import load_model
from amortized_kde.research.provenance import models_behind, record_files
from amortized_kde.research.reproduction.judge import judge_by_draws
from amortized_kde.research.reproduction.oracle import best_bandwidths
from amortized_kde.research.tasks import draw_tasks, world
from amortized_kde.selection import SELECTORS
from contests.best_possible import best_possible
from contests.task_scores import adaptive_scores

SEED = 4_000_000_000
CHUNK = 250
SELECTOR, DENSITY, ORACLE, ADAPTIVE = "best selector", "best density", "best single bandwidth", "amortized:adaptive"
METHODS = ("amortized:single", "amortized:gmm32")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=5000)
    parser.add_argument("--sweeps", type=int, default=3000)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    parts: dict[str, list[np.ndarray]] = {m: [] for m in (DENSITY, ADAPTIVE, SELECTOR, *METHODS, ORACLE)}
    for first in track(range(0, options.tasks, CHUNK), description="mixtures"):
        batch = draw_tasks(world("gmm32"), CHUNK, seed=SEED, first=first)
        truth, judge = batch.true_scores(), judge_by_draws(batch)
        best = best_possible(batch, judge, sweeps=options.sweeps, seed=first)
        ends = (np.full(CHUNK, end) for end in batch.bounds)
        parts[DENSITY].append(best.scores - truth)
        parts[ADAPTIVE].append(adaptive_scores(load_model("adaptive"), batch.samples, *ends, judge.points) - truth)
        parts[SELECTOR].append(judge.scores(best.bandwidths)[0] - truth)
        for method in METHODS:
            h = SELECTORS[method].select(batch.samples, Bounds(*batch.bounds)).bandwidths
            parts[method].append(judge.scores(h)[0] - truth)
        found = judge.scores(best_bandwidths(judge))[0] - truth
        parts[ORACLE].append(np.min([found, *(parts[m][-1] for m in (SELECTOR, *METHODS))], axis=0))
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
