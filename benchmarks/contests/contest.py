"""Estimators on densities that are known exactly: expected scores in bits, one a density and replicate.

A method without an answer for a sample gets Silverman's there, and is counted. Scores of rivals are kept on disk, so
that a new model costs only its own column.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.reading import read_bounds
from amortized_kde.data.support import Bounds
from amortized_kde.density import KernelDensity
from amortized_kde.research.reproduction.judge import Judge
from amortized_kde.research.reproduction.oracle import best_bandwidths
from amortized_kde.score import LN2
from contests.known_density import KnownDensity, Rule, expected_score, panel_rule, true_score
from contests.r_rivals import R_RIVALS, ask_r
from contests.rival_store import CellScores, file_name, kept_scores
from contests.rivals import FALL_BACK, fit_or_fall_back

ORACLE = "best single bandwidth"


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
    name = file_name(contest.name, contest.n, contest.replicates, contest.seed, method)
    return _excess(contest, method) if fresh else kept_scores(contest.folder / name, lambda: _excess(contest, method))


def _excess(contest: Contest, method: str) -> CellScores:
    truth = np.array([true_score(f) for f in contest.densities])
    found = _scores(contest, method)
    return CellScores(found.scores - truth[:, None], found.failures)


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
    return expected_score(fit_or_fall_back(method, sample, read_bounds(known.bounds), failures), known)


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
