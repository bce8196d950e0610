"""Contests on densities that are known exactly: expected scores in bits by density and replicate, and their report.

A method without an answer for a sample gets Silverman's there, and the failure is counted. Where a density is zero, an
expected score is infinite; such an estimate is scored again with at most 40 bits at any point, and counted too. Scores
of rivals are kept on disk, so that for a new model only its own are computed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.reading import read_bounds
from amortized_kde.data.support import Bounds
from amortized_kde.density import KernelDensity
from amortized_kde.density.plotting import COLOURS, new_figure, save_figure
from amortized_kde.research.reproduction.judge import Judge
from amortized_kde.research.reproduction.oracle import best_bandwidths
from amortized_kde.research.reproduction.tables import write_csv
from amortized_kde.score import LN2, Mean
from contests.known_densities import KnownDensity, Rule, expected_score, panel_rule, true_score
from contests.rivals import FALL_BACK, R_RIVALS, ask_r, fit_or_fall_back
from contests.scores import CAP, CellScores, file_name, kept_scores, mean_of_cells, verdict

ORACLE = "best single bandwidth"
ZERO = f"the density is zero inside the bounds: no point counts more than {CAP:g} bits"
_COLUMNS = (
    *("n", "density", "method", "replicates", "excess_bits", "standard_error", "median_excess_bits"),
    *("difference_bits", "difference_error", "verdict", "failures"),
)
_ALL = "all"
_LISTED_LOSSES = 15
# Single densities are drawn at this size.
_DRAWN_SIZE = 100
_MARKERS = "osD^vPX*<>hp"


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
        """Return the samples (replicates, n) of each density, ascending."""
        # Different sizes get different tasks.
        return [np.sort(f.draw(self.replicates, self.n, self.seed + self.n), axis=1) for f in self.densities]


def excess_of(contest: Contest, method: str, *, fresh: bool = False) -> CellScores:
    """Return the excess of a method's expected scores over those of the true densities.

    Parameters
    ----------
    contest : Contest
    method : str
        `ORACLE`, one of `R_RIVALS`, or what `fit_density` takes.
    fresh : bool
        Compute it, without reading or writing a file: for a method that may have changed.
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
    log_density = fit_or_fall_back(method, sample, read_bounds(known.bounds), failures)
    score = expected_score(log_density, known)
    if score < np.inf:
        return score
    failures[ZERO] += 1
    return expected_score(lambda y: np.maximum(log_density(y), -CAP * LN2), known)


def _by_r(method: str, densities: Sequence[KnownDensity], samples: list[Array]) -> CellScores:
    """Score all samples in one process of R; its estimates are smooth on the panels, so their nodes suffice."""
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
    """Expected scores of each sample with its best single bandwidth."""
    rule, bounds = panel_rule(known), read_bounds(known.bounds)
    count, n = samples.shape
    points = np.tile(rule.points, (count, 1))
    judge = Judge(samples.ravel(), np.arange(count + 1) * n, bounds, points, rule.weights)
    return np.array([_kernel_score(known, x, h, bounds) for x, h in zip(samples, best_bandwidths(judge), strict=True)])


def _kernel_score(known: KnownDensity, sample: Array, h: float, bounds: Bounds) -> float:
    density = KernelDensity(sample, bandwidth=float(h), bounds=bounds)
    return expected_score(lambda y: np.asarray(density.logpdf(y, threads=1)), known)


@dataclass(frozen=True)
class ContestResult:
    """Excess by size and method, with the method under test; cells are the densities."""

    densities: Sequence[str]
    under_test: str
    excess: Mapping[int, Mapping[str, CellScores]]

    @property
    def methods(self) -> list[str]:
        """All methods, in order."""
        return list(dict.fromkeys(method for columns in self.excess.values() for method in columns))

    def mean(self, n: int, method: str, density: int | None = None) -> Mean:
        """Return the mean excess of a method, over all densities or on one."""
        return mean_of_cells(self._cells(self.excess[n][method].scores, density))

    def median(self, n: int, method: str, density: int | None = None) -> float:
        """Return the median excess of a method over the samples of all densities, or of one."""
        return float(np.median(np.concatenate(self._cells(self.excess[n][method].scores, density))))

    def difference(self, n: int, method: str, density: int | None = None) -> Mean:
        """Return the mean difference of the method under test minus another; negative means better."""
        columns = self.excess[n]
        return mean_of_cells(self._cells(columns[self.under_test].scores - columns[method].scores, density))

    def _cells(self, scores: Array, density: int | None) -> Sequence[Array]:
        return list(scores) if density is None else [scores[density]]


def write_contest(path: Path, result: ContestResult) -> None:
    """Write a line for every size, density and method, and lines over all densities."""
    write_csv(path, _COLUMNS, [line for n in result.excess for line in _lines(result, n)])


def _lines(result: ContestResult, n: int) -> list[Sequence[Any]]:
    lines: list[Sequence[Any]] = []
    cells: list[tuple[str, int | None]] = [(_ALL, None), *((name, k) for k, name in enumerate(result.densities))]
    for name, density in cells:
        for method, column in result.excess[n].items():
            mean, difference = result.mean(n, method, density), result.difference(n, method, density)
            failures = sum(column.failures.values()) if density is None else ""
            excess = (mean.count, mean.value, mean.standard_error, result.median(n, method, density))
            judged = "" if method in (result.under_test, ORACLE) else verdict(difference)
            lines.append((n, name, method, *excess, difference.value, difference.standard_error, judged, failures))
    return lines


def report_contest(result: ContestResult) -> list[str]:
    """Return lines of text: means and verdicts by method, failures, and the largest losses."""
    lines = []
    for n, columns in result.excess.items():
        count = result.mean(n, result.under_test).count
        lines += ["", f"n = {n}: mean (median) excess in bits over {len(result.densities)} densities, {count} samples"]
        for method in columns:
            lines.append(_line(result, n, method))
            lines += [f"      failed {times} times: {what}" for what, times in columns[method].failures.items()]
    return lines + _losses(result)


def _line(result: ContestResult, n: int, method: str) -> str:
    mean, difference = result.mean(n, method), result.difference(n, method)
    text = f"  {method:<38}{mean.value:9.4f} ± {mean.standard_error:.4f} ({result.median(n, method):.4f})"
    if method == result.under_test:
        return text
    judged = "knows the truth" if method == ORACLE else verdict(difference)
    return f"{text}   {result.under_test} {difference.value:+9.4f} ± {difference.standard_error:.4f}  {judged}"


def _losses(result: ContestResult) -> list[str]:
    """Lines about the largest losses; the oracle, which knows the true density, is no rival."""
    cells = [
        (result.difference(n, method, k), n, name, method)
        for n, columns in result.excess.items()
        for method in columns
        for k, name in enumerate(result.densities)
        if method not in (result.under_test, ORACLE)
    ]
    lost = sorted((cell for cell in cells if verdict(cell[0]) == "worse"), key=lambda cell: -cell[0].value)
    lines = ["", f"{result.under_test} is worse in {len(lost)} of {len(cells)} cells of one density, n and rival:"]
    for difference, n, name, method in lost[:_LISTED_LOSSES]:
        lines.append(f"  {difference.value:+.4f} ± {difference.standard_error:.4f}  n = {n:<5} {name:<24} {method}")
    return lines + ([f"  and {len(lost) - _LISTED_LOSSES} smaller ones"] if len(lost) > _LISTED_LOSSES else [])


def draw_contest(path: Path, result: ContestResult, *, title: str) -> None:
    """Draw the mean excess against n, and the excess on every density at n = 100."""
    figure = new_figure(12.0, 6.0)
    left, right = figure.subplots(1, 2)
    sizes = list(result.excess)
    n = _DRAWN_SIZE if _DRAWN_SIZE in result.excess else sizes[-1]
    places = np.arange(len(result.densities))
    for k, method in enumerate(result.methods):
        drawn = [size for size in sizes if method in result.excess[size]]
        means = [result.mean(size, method) for size in drawn]
        style = _style(method, k, result.under_test)
        values, errors = [mean.value for mean in means], [mean.standard_error for mean in means]
        left.errorbar(drawn, values, errors, label=method, capsize=2.0, **style)
        if method in result.excess[n]:
            right.plot(result.excess[n][method].scores.mean(axis=1), places, **(style | {"linestyle": ""}))
    left.set(xscale="log", yscale="log", xlabel="n", ylabel="mean excess over the true density (bits)", title=title)
    left.set_xticks(sizes, [str(size) for size in sizes])
    left.set_xticks([], minor=True)
    left.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=6, fontsize=8)
    right.set(xscale="log", xlabel="mean excess (bits)", title=f"each density, n = {n}")
    right.set_yticks(places, result.densities)
    right.invert_yaxis()
    right.grid(axis="y", alpha=0.3)
    for axis in (left.yaxis, right.xaxis):
        axis.set_major_formatter("{x:g}")
    save_figure(left, str(path))


def _style(method: str, number: int, under_test: str) -> dict[str, Any]:
    """The method under test is thick, the oracle black and dotted."""
    if method == under_test:
        return {"color": COLOURS[1], "linewidth": 2.5, "marker": "o", "markersize": 8, "zorder": 5}
    if method == ORACLE:
        return {"color": "black", "linestyle": ":", "marker": "|"}
    others = [colour for k, colour in enumerate(COLOURS) if k not in (1, 6)]
    return {"color": others[number % 5], "marker": _MARKERS[number % 12], "linewidth": 1.0, "markersize": 5}
