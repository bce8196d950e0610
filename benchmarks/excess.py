"""Mean excess over the true density's score, in bits, on fresh tasks of both bounded worlds, n ~ Unif{5..256}.

    python benchmarks/excess.py [--tasks 50000] [--out results]

Every method gets the same tasks and the same 1024 evaluation draws; sums are in float64. The oracle is the best single
bandwidth of each task, never worse than a method with a single bandwidth. The seed of the tasks is used nowhere else,
neither in training nor in validation. Scores are kept in the folder .rivals of the output folder, so that a stopped run
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
from contests.scores import FOLDER, CellScores, file_name, kept_scores, weights_of
from contests.task_scores import scores_of_method

SEED = 4_000_000_000
CHUNK = 2_500
METHODS = (
    "amortized:single",
    "amortized:gmm32",
    "amortized:gmm16",
    "amortized:gmm8",
    "amortized:multifamily",
    "silverman",
    "lcv",
)
ORACLE = "best single bandwidth"
ADAPTIVE = "amortized:adaptive"


def scores_of_chunk(name: str, first: int, folder: Path) -> dict[str, np.ndarray]:
    """Return the scores (tasks,) of a chunk by method, from disk where they were computed before."""
    # Drawn once, and only if a file is missing.
    batch = cache(partial(draw_tasks, world(name), CHUNK, seed=SEED, first=first))

    def score(method: str) -> CellScores:
        if method != ORACLE:
            return scores_of_method(method, batch(), Bounds(*batch().bounds))
        judge = judge_by_draws(batch())
        return CellScores(judge.scores(best_bandwidths(judge))[0][None])

    def kept(method: str) -> np.ndarray:
        path = folder / file_name("excess", name, first, CHUNK, method, weights_of(method))
        return kept_scores(path, partial(score, method)).scores[0]

    return {method: kept(method) for method in (TRUTH, ADAPTIVE, *METHODS, ORACLE)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=50_000)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    rows = []
    for name in ("gmm32", "multifamily"):
        excess: dict[str, list[np.ndarray]] = {method: [] for method in (ADAPTIVE, *METHODS, ORACLE)}
        for first in track(range(0, options.tasks, CHUNK), description=name):
            scores = scores_of_chunk(name, first, options.out / FOLDER)
            best = np.min([scores[method] for method in (ORACLE, *METHODS)], axis=0)
            for method, parts in excess.items():
                parts.append((best if method == ORACLE else scores[method]) - scores[TRUTH])
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
    record_files(options.out, ["excess.csv"], models_behind([ADAPTIVE, *METHODS]))


if __name__ == "__main__":
    main()
