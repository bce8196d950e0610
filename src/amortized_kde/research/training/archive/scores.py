"""Logarithmic scores of pairs in bits, the dressing that minimises their mean, and the report on held-out time.

A dressing is x' = a + b m + c (x - m), with the ensemble mean m. It starts from the regression of the observations on
the means, and from the ratio of the residuals' spread to that of the members; then Nelder and Mead's method minimises
the mean score of densities fitted to the dressed members. It needs no derivative, and copes with bounds.

Scores are correlated from place to place and from day to day. The report's bootstrap therefore draws whole pieces of
time, the same ones for all methods. Every dressed rival has the dressing that is best for it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from amortized_kde._types import Array, Index
from amortized_kde.ensembles.answers import score_parts_of
from amortized_kde.ensembles.options import Options, read_ensembles
from amortized_kde.learned.model import Model
from amortized_kde.research.training.archive.pairs import HELD_OUT, TRAINING, Pairs, Split
from amortized_kde.selection import find_selector, selector_of

Scorer = Callable[[Pairs], Array]

_LN2 = math.log(2.0)
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Values that a dressing is fitted to: with twenty members per pair, the fit is within 0.001 bits of the best, and an
# evaluation takes a tenth of a second.
_VALUES = 60_000
# Most evaluations, and tolerances: in bits, and in units of the first steps.
_EVALUATIONS, _BITS, _STEP = 100, 1e-4, 0.03
_NARROWEST, _WIDEST = 0.02, 50.0
_REPLICATES, _LIMITS = 2000, (2.5, 97.5)
TUNED = "tuned model"


def gaussian_scores(pairs: Pairs) -> Array:
    """Return scores of the normal density with the members' mean and sd (divisor n - 1), truncated to the bounds."""
    x = pairs.members.astype(np.float64)
    mean, sd = np.nanmean(x, axis=1), np.nanstd(x, axis=1, ddof=1)
    z = (pairs.observations - mean) / sd
    low, high = ((end - mean) / sd for end in pairs.bounds)
    inside = _log_between(low, high)
    return np.asarray((0.5 * z * z + np.log(sd) + _LOG_SQRT_2PI + inside) / _LN2)


def _log_between(low: Array, high: Array) -> Array:
    """Return the logarithm of the normal probability between two limits, accurate in the tails."""
    # In the lower tail, where differences lose no digits.
    flip = low > 0.0
    near, far = np.where(flip, -low, high), np.where(flip, -high, low)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(log_ndtr(near) + np.log1p(-np.exp(log_ndtr(far) - log_ndtr(near))))


def silverman_scores(pairs: Pairs) -> Array:
    """Return scores of kernel densities by Silverman's rule."""
    return _scores(pairs, None)


def model_scores(model: Model) -> Scorer:
    """Return the function that scores densities by a model."""
    return lambda pairs: _scores(pairs, model)


def _scores(pairs: Pairs, model: Model | None) -> Array:
    read = read_ensembles(pairs.members, Options.read(bounds=pairs.limits, method="silverman"))
    selector = find_selector("silverman") if model is None else selector_of("a model in training", model)
    _, amount, _ = score_parts_of(replace(read, selector=selector), pairs.observations)
    return amount


class _Start(NamedTuple):
    """The least-squares dressing, and the sizes of the first steps; the level is at the centre of the means."""

    centre: float
    level: float
    slope: float
    spread: float
    units: tuple[float, float, float]

    def numbers(self, steps: Array) -> Array:
        """Return (a, b, c) after moving by `steps` units."""
        moves = steps * self.units
        slope = self.slope + moves[1]
        spread = min(max(self.spread * math.exp(moves[2]), _NARROWEST), _WIDEST)
        return np.array([self.level + moves[0] - slope * self.centre, slope, spread])


def _least_squares(pairs: Pairs) -> _Start:
    x, y = pairs.members.astype(np.float64), pairs.observations
    means, variances = np.nanmean(x, axis=1), np.nanvar(x, axis=1, ddof=1)
    centre, level = float(means.mean()), float(y.mean())
    spread_of_means = float(means.var())
    slope = float(np.mean((means - centre) * (y - level)) / spread_of_means) if spread_of_means > 0.0 else 1.0
    rest = float(np.std(y - level - slope * (means - centre)))
    ratio = min(max(rest / math.sqrt(float(variances.mean())), _NARROWEST), _WIDEST)
    unit = rest if rest > 0.0 else math.sqrt(float(variances.mean()))
    units = (0.2 * unit, 0.2 * unit / math.sqrt(spread_of_means) if spread_of_means > 0.0 else 0.1, 0.2)
    return _Start(centre, level, slope, ratio, units)


def fit_dressing(pairs: Pairs, scorer: Scorer, *, seed: int) -> Array:
    """Return (a, b, c) with the lowest mean score on the pairs, or on a random subset if there are many."""
    from scipy.optimize import minimize

    most = max(_VALUES // pairs.members.shape[1], 100)
    if len(pairs) > most:
        pairs = pairs.where(np.sort(np.random.default_rng([seed, 1]).choice(len(pairs), most, replace=False)))
    start = _least_squares(pairs)

    def mean_score(steps: Array) -> float:
        return float(np.mean(scorer(pairs.dressed(start.numbers(steps)))))

    corners = np.concatenate([np.zeros((1, 3)), np.eye(3)])
    options = {"initial_simplex": corners, "maxfev": _EVALUATIONS, "fatol": _BITS, "xatol": _STEP}
    found = minimize(mean_score, np.zeros(3), method="Nelder-Mead", options=options)
    return start.numbers(found.x)


@dataclass(frozen=True)
class Row:
    """A method's mean score in bits, and the difference to the tuned model's with its 95 % interval."""

    method: str
    score: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Report:
    """Rows, the tuned model last; the number of held-out pairs; number and length (in steps) of bootstrap pieces."""

    rows: tuple[Row, ...]
    pairs: int
    pieces: int
    piece_length: int


def compare(
    pairs: Pairs, split: Split, *, untuned: Model, tuned: Model, numbers: Array | None = None, seed: int = 0
) -> Report:
    """Score the held-out pairs by all methods; if the tuned model has a dressing (a, b, c), rivals are dressed too."""
    part = split.part_of(pairs.times)
    training, held_out = pairs.where(part == TRAINING), pairs.where(part == HELD_OUT)
    rivals: dict[str, Scorer] = {
        "gaussian": gaussian_scores,
        "silverman": silverman_scores,
        "untuned model": model_scores(untuned),
    }
    scores = {name: scorer(held_out) for name, scorer in rivals.items()}
    if numbers is not None:
        for name, scorer in rivals.items():
            scores[f"{name}, dressed"] = scorer(held_out.dressed(fit_dressing(training, scorer, seed=seed)))
    last = TUNED if numbers is None else f"{TUNED}, dressed"
    scores[last] = model_scores(tuned)(held_out.dressed(numbers))
    table, pieces = np.stack(list(scores.values()), axis=1), split.pieces_of(held_out.times)
    means, differences = table.mean(axis=0), table - table[:, -1:]
    low, high = np.percentile(piece_bootstrap(differences, pieces, seed=seed), _LIMITS, axis=0)
    rows = zip(scores, means, differences.mean(axis=0), low, high, strict=True)
    return Report(
        tuple(Row(name, *map(float, values)) for name, *values in rows),
        len(held_out),
        int(pieces.max()) + 1,
        split.piece_length,
    )


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
    """Write the rows as CSV, in bits."""
    lines = ["method,mean_log_score_bits,minus_tuned_bits,low_95,high_95,pairs,pieces,piece_length"]
    tail = f"{report.pairs},{report.pieces},{report.piece_length}"
    lines += [f'"{r.method}",{r.score!r},{r.difference!r},{r.low!r},{r.high!r},{tail}' for r in report.rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def table_lines(report: Report) -> Sequence[str]:
    """Return the rows as lines of text, after a heading."""
    width = max(len(row.method) for row in report.rows)
    lines = [f"{'method':<{width}}  {'bits':>8}  {'minus tuned':>11}  95 % interval"]
    for row in report.rows:
        difference = f"{row.difference:>11.4f}  {row.low:.4f} to {row.high:.4f}" if row is not report.rows[-1] else ""
        lines.append(f"{row.method:<{width}}  {row.score:>8.4f}  {difference}".rstrip())
    return lines
