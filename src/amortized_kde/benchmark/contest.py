"""Estimators on densities that are known exactly: expected scores in bits, one a density and replicate.

A method without an answer for a sample gets Silverman's there, and is counted. Scores of rivals are kept on disk, so
that a new model costs only its own column.
"""

import os
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from amortized_kde.benchmark.judge import Judge
from amortized_kde.benchmark.known_density import KnownDensity, Rule, expected_score, panel_rule, true_score
from amortized_kde.benchmark.oracle import best_bandwidths
from amortized_kde.benchmark.r_rivals import R_RIVALS, ask_r
from amortized_kde.benchmark.rivals import LogDensity, fit_density
from amortized_kde.density import KernelDensity
from amortized_kde.domain import Bounds, read_bounds
from amortized_kde.errors import AmortizedKdeError
from amortized_kde.score import LN2

__all__ = ["FALL_BACK", "ORACLE", "CellScores", "Contest", "excess_of"]

Array = NDArray[np.float64]

ORACLE = "best single bandwidth"
FALL_BACK = "silverman"
# Changes when stored scores of the same name would get other numbers.
_FORMAT = "1"


@dataclass(frozen=True)
class Contest:
    """Known densities, samples of size n from each, and the folder where scores of rivals are kept."""

    name: str
    densities: Sequence[KnownDensity]
    n: int
    replicates: int
    seed: int
    folder: Path

    def samples(self) -> list[Array]:
        """Give the samples (replicates, n) of each density, ascending."""
        # Sizes have tasks of their own: the seed is the size's.
        return [np.sort(f.draw(self.replicates, self.n, self.seed + self.n), axis=1) for f in self.densities]


@dataclass(frozen=True, eq=False)
class CellScores:
    """Expected scores (densities, replicates) in bits, and what failed how often."""

    scores: Array
    failures: Counter[str] = field(default_factory=Counter)


def excess_of(contest: Contest, method: str, *, fresh: bool = False) -> CellScores:
    """Give the excess of a method's expected scores over the truth's, from disk if it is there and not to be fresh.

    Parameters
    ----------
    contest : Contest
    method : str
        `ORACLE`, one of `R_RIVALS`, or what `fit_density` takes.
    fresh : bool
        Compute, and leave what is on disk alone: for a method that may have changed.
    """
    path = contest.folder / _file_name(contest, method)
    held = None if fresh else _read(path)
    if held is not None:
        return held
    truth = np.array([true_score(f) for f in contest.densities])
    found = _scores(contest, method)
    excess = CellScores(found.scores - truth[:, None], found.failures)
    if not fresh:
        _write(path, excess)
    return excess


def _scores(contest: Contest, method: str) -> CellScores:
    samples = contest.samples()
    if method in R_RIVALS:
        return _by_r(method, contest.densities, samples)
    if method == ORACLE:
        return CellScores(np.array([_best(f, x) for f, x in zip(contest.densities, samples, strict=True)]))
    failures: Counter[str] = Counter()
    scores = [[_one(method, f, x, failures) for x in rows] for f, rows in zip(contest.densities, samples, strict=True)]
    return CellScores(np.array(scores), failures)


def _one(method: str, known: KnownDensity, sample: Array, failures: Counter[str]) -> float:
    bounds = read_bounds(known.bounds)
    try:
        estimate: LogDensity = fit_density(method, sample, bounds)
    except AmortizedKdeError as error:
        failures[str(error)] += 1
        estimate = fit_density(FALL_BACK, sample, bounds)
    return expected_score(estimate, known)


def _by_r(method: str, densities: Sequence[KnownDensity], samples: list[Array]) -> CellScores:
    """All samples in one process of R; its estimates are smooth on the panels, so their nodes are enough."""
    rules = [panel_rule(f) for f in densities for _ in samples[0]]
    bounds = [read_bounds(f.bounds) for f in densities for _ in samples[0]]
    answers, failures = ask_r(method, [x for rows in samples for x in rows], bounds, [rule.points for rule in rules])
    scores = np.array([_sum(rule, logs) for rule, logs in zip(rules, answers, strict=True)])
    scores = scores.reshape(len(densities), -1)
    for k, i in np.argwhere(np.isnan(scores)):
        scores[k, i] = _one(FALL_BACK, densities[k], samples[k][i], failures)
    return CellScores(scores, failures)


def _sum(rule: Rule, log_densities: Array) -> float:
    return float(np.sum(rule.weights * log_densities) / -LN2)


def _best(known: KnownDensity, samples: Array) -> Array:
    """Expected scores of the best single bandwidth of each sample."""
    rule, bounds = panel_rule(known), read_bounds(known.bounds)
    count, n = samples.shape
    points = np.tile(rule.points, (count, 1))
    judge = Judge(samples.ravel(), np.arange(count + 1) * n, bounds, points, rule.weights)
    return np.array([_kernel_score(known, x, h, bounds) for x, h in zip(samples, best_bandwidths(judge), strict=True)])


def _kernel_score(known: KnownDensity, sample: Array, h: float, bounds: Bounds) -> float:
    density = KernelDensity(sample, bandwidth=float(h), bounds=bounds)
    return expected_score(lambda y: np.asarray(density.logpdf(y, threads=1)), known)


def _file_name(contest: Contest, method: str) -> str:
    safe = "".join(c if c.isalnum() else "-" for c in method)
    return f"{contest.name}_{contest.n}_{contest.replicates}_{contest.seed}_{safe}_{_FORMAT}.npz"


def _read(path: Path) -> CellScores | None:
    try:
        with np.load(path, allow_pickle=False) as file:
            failures = dict(zip(file["reasons"].tolist(), file["counts"].tolist(), strict=True))
            return CellScores(file["scores"], Counter(failures))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _write(path: Path, held: CellScores) -> None:
    """In one move, so that a kill leaves whole files only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    reasons, counts = np.array(list(held.failures), dtype=str), np.array(list(held.failures.values()), dtype=np.int64)
    with open(beside, "wb") as file:
        np.savez(file, scores=held.scores, reasons=reasons, counts=counts)
    os.replace(beside, path)
