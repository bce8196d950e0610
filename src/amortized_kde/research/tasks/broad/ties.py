"""Ties as in real data: rounded samples, and samples with repeated values."""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Flags, Index, Words
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.streams import next_uniform, start_stream

# One sample in ten is rounded, one in fifty is resampled from itself.
_ROUNDED_PROBABILITY, _RESAMPLED_PROBABILITY = 0.10, 0.02
# The unit, in spreads, is log-uniform from a hundredth to one.
_LOG_FINEST = math.log(0.01)


class Ties(NamedTuple):
    """Rounding units (0: not rounded), a number that is rounded to itself, and which samples are resampled."""

    units: Array
    anchors: Array
    resampled: Flags


def choose_ties(chance: dict[str, Array], spread: Array, low: Array, high: Array) -> Ties:
    """Choose units of which the natural bounds are multiples, as in real data: 0 and 100 percent.

    Rounding to the nearest multiple then never leaves the bounds.
    """
    tie = chance["tie"]
    units = np.where(tie < _ROUNDED_PROBABILITY, spread * np.exp(chance["unit"] * _LOG_FINEST), 0.0)
    both = (units > 0.0) & np.isfinite(low) & np.isfinite(high)
    width = np.where(both, high, 1.0) - np.where(both, low, 0.0)
    steps = np.maximum(np.rint(width / np.where(both, units, 1.0)), 1.0)
    units = np.where(both, width / steps, units)
    anchors = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, chance["phase"] * units))
    return Ties(units, anchors, (tie >= _ROUNDED_PROBABILITY) & (tie < _ROUNDED_PROBABILITY + _RESAMPLED_PROBABILITY))


@compiled
def _rounded(x: float, unit: float, anchor: float) -> float:
    return anchor + unit * np.rint((x - anchor) / unit)


@compiled
def _round_row(row: Array, unit: float, anchor: float, lower: float, upper: float) -> None:
    # Clipped, because the upper bound is a multiple of the unit only up to rounding.
    for i in range(row.size):
        row[i] = min(max(_rounded(row[i], unit, anchor), lower), upper)


@compiled
def _resample_row(row: Array, state: Words) -> bool:
    """Resample a row with replacement unless it would be constant; counting keeps it ascending."""
    before, counts = row.copy(), np.zeros(row.size, np.int64)
    for _ in range(row.size):
        counts[min(int(next_uniform(state) * row.size), row.size - 1)] += 1
    if counts.max() == row.size:
        return False
    at = 0
    for i in range(row.size):
        row[at : at + counts[i]] = before[i]
        at += counts[i]
    return True


@entry
def tie_samples(
    values: Array,
    offsets: Index,
    ties: Ties,
    lower: Array,
    upper: Array,
    words: Words,
    first: int,
    start: int,
    stop: int,
) -> None:
    """Round or resample the ascending samples start .. stop - 1 in place, within their bounds.

    A sample without bounds that rounding would make constant is left as it is and its unit becomes 0, because neither
    scale nor bounds would remain to estimate a density from. Resampling never makes a sample constant.
    """
    state = np.empty(4, np.uint64)
    for t in range(start, stop):
        row, unit, anchor = values[offsets[t] : offsets[t + 1]], ties.units[t], ties.anchors[t]
        if unit > 0.0:
            constant = _rounded(row[0], unit, anchor) == _rounded(row[-1], unit, anchor)
            if constant and lower[t] == -math.inf and upper[t] == math.inf:
                ties.units[t] = 0.0
            else:
                _round_row(row, unit, anchor, lower[t], upper[t])
        elif ties.resampled[t]:
            start_stream(state, words, first + t)
            ties.resampled[t] = _resample_row(row, state)
