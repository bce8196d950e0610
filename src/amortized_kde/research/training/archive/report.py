"""The report on held-out time: all methods on the same pairs, with intervals, calibration and pictures."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde._files import write_file
from amortized_kde._types import Array, Index
from amortized_kde.density.plotting import COLOURS, new_figure, save_figure
from amortized_kde.research.training.archive.calibrate import Choice
from amortized_kde.research.training.archive.decide import Decisions, Fitted, fit
from amortized_kde.research.training.archive.pairs import Pairs
from amortized_kde.research.training.archive.predictive import Scores, score
from amortized_kde.research.training.archive.recipe import ArchiveRecipe
from amortized_kde.research.training.archive.rivals import rivals_of

OURS = "trained model"
_REPLICATES, _LIMITS = 2000, (2.5, 97.5)
# Pieces of time that the bootstrap draws: of about this many days, and at least this many of them.
_PIECE_DAYS, _FEWEST_PIECES = 10, 10
_COVERAGE, _BINS = 0.9, 20


@dataclass(frozen=True)
class Row:
    """Means of a method, and the difference of its score to the trained model's, with its 95 % interval."""

    method: str
    bits: float
    occurrence: float
    amount: float
    crps: float
    coverage: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Report:
    """Rows, the trained model last; numbers of pairs and bootstrap pieces; PIT histograms by method."""

    rows: tuple[Row, ...]
    pairs: int
    pieces: int
    atoms: bool
    histograms: dict[str, Array] = field(repr=False)

    @property
    def verdict(self) -> str:
        """The first line: which rival wins, if one does, else by how much the trained model is ahead."""
        ours, rivals = self.rows[-1], self.rows[:-1]
        best = min(rivals, key=lambda row: row.bits)
        gap = f"{abs(best.difference):.4f} bits ({best.low:+.4f} to {best.high:+.4f})"
        if best.bits < ours.bits:
            clear = "" if best.high < 0.0 else "; the interval holds 0, so that this may be chance"
            return f"A rival wins: {best.method} is better than the trained model by {gap}{clear}."
        return f"The trained model is better than all {len(rivals)} rivals; next is {best.method}, behind by {gap}."


def blocks(fitted: Pairs, scored: Pairs, window: int | None) -> Iterator[tuple[Pairs, Pairs]]:
    """Return pairs to fit and pairs to score: as given, or runs of days, each with a window of days before it."""
    if window is None:
        yield fitted, scored
        return
    step = max(1, window // 5)
    days, first = np.concatenate([fitted.days, scored.days]), int(scored.days.min())
    for start in range(first, int(scored.days.max()) + 1, step):
        here = (scored.days >= start) & (scored.days < start + step)
        before = [part.where((part.days >= start - window) & (part.days < start)) for part in (fitted, scored)]
        if here.any() and days.size and sum(map(len, before)):
            yield join(*before), scored.where(here)


def join(first: Pairs, second: Pairs) -> Pairs:
    """Return all pairs of two parts of an archive."""
    places = None if first.places is None or second.places is None else np.concatenate([first.places, second.places])
    return Pairs(
        np.concatenate([first.members, second.members]),
        np.concatenate([first.observations, second.observations]),
        np.concatenate([first.days, second.days]),
        first.limits,
        first.atoms,
        first.resolution,
        {name: np.concatenate([values, second.covariates[name]]) for name, values in first.covariates.items()},
        places,
        first.names,
        first.left_out,
    )


def compare(recipe: ArchiveRecipe, decided: Decisions, fitted: Pairs, scored: Pairs, model: Fitted) -> Report:
    """Score the rivals and the trained model on the same pairs, all fitted on the same other pairs."""
    table: dict[str, list[Scores]] = {}
    rivals = rivals_of(fitted, decided.choice or Choice())
    for before, here in blocks(fitted, scored, recipe.window):
        for name, rival in rivals.items():
            table.setdefault(name, []).append(score(rival(before, here), here))
        ours = model if recipe.window is None else fit(before, recipe, decided)
        table.setdefault(OURS, []).append(score(ours.predictive(here), here))
    joined = {name: Scores(*map(np.concatenate, zip(*parts, strict=True))) for name, parts in table.items()}
    return tabulate(joined, scored, seed=recipe.seed)


def tabulate(scores: dict[str, Scores], scored: Pairs, *, seed: int = 0) -> Report:
    """Return the report of scores by method, the trained model's last."""
    totals = np.stack([found.total for found in scores.values()], axis=1)
    differences, pieces = totals - totals[:, -1:], pieces_of(scored.days)
    drawn = piece_bootstrap(differences, pieces, seed=seed)
    low, high = np.percentile(drawn, _LIMITS, axis=0)
    rows = []
    for k, (name, found) in enumerate(scores.items()):
        covered = np.abs(found.pit - 0.5) < 0.5 * _COVERAGE
        means = [float(np.mean(part)) for part in (found.total, found.occurrence, found.amount, found.crps, covered)]
        bits, occurrence, amount, ranked, coverage = means
        behind = (float(np.mean(differences[:, k])), float(low[k]), float(high[k]))
        rows.append(Row(name, bits, occurrence, amount, ranked, coverage, *behind))
    histograms = {name: np.histogram(found.pit, _BINS, (0.0, 1.0), density=True)[0] for name, found in scores.items()}
    return Report(tuple(rows), len(scored), int(pieces.max()) + 1, bool(scored.atoms), histograms)


def pieces_of(days: Index) -> Index:
    """Return the piece of time of each pair, numbered from 0."""
    different, which = np.unique(days, return_inverse=True)
    count = max(min(different.size, _FEWEST_PIECES), different.size // _PIECE_DAYS)
    return np.asarray(which.reshape(days.shape) * count // different.size)


def piece_bootstrap(values: Array, pieces: Index, *, seed: int, replicates: int = _REPLICATES) -> Array:
    """Return bootstrap means (replicates, columns) of `values` (pairs, columns), resampling `pieces` (pairs,).

    Examples
    --------
    >>> means = piece_bootstrap(np.array([[1.0], [1.0], [4.0]]), np.array([0, 0, 1]), seed=1, replicates=1000)
    >>> np.unique(means)
    array([1., 2., 4.])
    """
    count = int(pieces.max()) + 1
    sums = np.stack([np.bincount(pieces, column, minlength=count) for column in values.T], axis=1)
    sizes = np.bincount(pieces, minlength=count)
    drawn = np.random.default_rng([seed, 3]).multinomial(count, np.full(count, 1.0 / count), size=replicates)
    return np.asarray((drawn @ sums) / (drawn @ sizes)[:, None])


def write_report(report: Report, path: Path) -> None:
    """Write the verdict as a comment, and the rows as CSV."""
    text = io.StringIO()
    text.write(f"# {report.verdict}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["method", "bits", "occurrence", "amount", "crps", "coverage_90", "minus_trained_bits", "low_95", "high_95"]
    )
    for r in report.rows:
        numbers = (r.bits, r.occurrence, r.amount, r.crps, r.coverage, r.difference, r.low, r.high)
        writer.writerow([r.method, *(repr(value) for value in numbers)])
    write_file(path, text.getvalue())


def table_lines(report: Report) -> Sequence[str]:
    """Return the verdict and the rows as lines of text."""
    width = max(len(row.method) for row in report.rows)
    parts = f"  {'occurrence':>10}  {'amount':>7}" if report.atoms else ""
    lines = [report.verdict, ""]
    lines.append(f"{'method':<{width}}  {'bits':>7}{parts}  {'CRPS':>7}  {'in 90 %':>7}  worse by, 95 % interval")
    for row in report.rows:
        parts = f"  {row.occurrence:>10.4f}  {row.amount:>7.4f}" if report.atoms else ""
        behind = f"{row.difference:+.4f}  {row.low:+.4f} to {row.high:+.4f}" if row is not report.rows[-1] else ""
        line = (
            f"{row.method:<{width}}  {row.bits:>7.4f}{parts}  {row.crps:>7.4f}  {100 * row.coverage:>5.1f} %  {behind}"
        )
        lines.append(line.rstrip())
    return lines


def draw_report(report: Report, path: Path) -> None:
    """Draw the differences to the trained model with their intervals, and a PIT histogram of every method."""
    rows = report.rows
    columns = 4
    lines = -(-len(rows) // columns)
    figure = new_figure(11.0, 2.2 + 0.32 * len(rows) + 1.9 * lines)
    grid = figure.add_gridspec(lines + 1, columns, height_ratios=[0.6 + 0.3 * len(rows), *([1.7] * lines)])
    _draw_differences(figure.add_subplot(grid[0, :]), report)
    for k, row in enumerate(rows):
        ax = figure.add_subplot(grid[1 + k // columns, k % columns])
        heights = report.histograms[row.method]
        edges = np.linspace(0.0, 1.0, heights.size + 1)
        ax.stairs(heights, edges, fill=True, color=COLOURS[0 if row is not rows[-1] else 1], alpha=0.8)
        ax.axhline(1.0, color="0.4", linewidth=0.8, linestyle=":")
        ax.set_title(row.method, fontsize=8)
        ax.set(xlim=(0, 1), ylim=(0, max(2.0, min(float(heights.max()) * 1.05, 4.0))))
        ax.tick_params(labelsize=7)
    save_figure(figure.axes[0], str(path))


def _draw_differences(ax: Any, report: Report) -> None:
    """Draw how far each rival is behind; one that is far behind all others is cut off."""
    rivals = report.rows[:-1]
    middle = float(np.median([row.difference for row in rivals]))
    far = max(4.0 * abs(middle), 0.05)
    for place, row in enumerate(reversed(rivals)):
        shown = min(row.difference, far)
        ends = [[shown - min(row.low, shown)], [max(min(row.high, far), shown) - shown]]
        ax.errorbar(shown, place, xerr=ends, fmt="o", color=COLOURS[0], capsize=3, markersize=4)
        if row.difference > far:
            ax.annotate(f"{row.difference:.2f} →", (far, place), ha="right", va="bottom", fontsize=7)
    ax.axvline(0.0, color="0.4", linewidth=0.8)
    names = [f"{row.method}, {row.bits:.3f}" for row in reversed(rivals)]
    ax.set_yticks(range(len(rivals)), names, fontsize=8)
    ax.set_xlabel(f"bits behind the trained model ({report.rows[-1].bits:.3f}), 95 % intervals", fontsize=8)
    ax.set_title("left of the line: better than the trained model", fontsize=8)
