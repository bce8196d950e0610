"""Moments and quantiles of many samples."""

import math

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.data.sample import Samples
from amortized_kde.numerics.jit import entry
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.numerics.weighted import moment_rows, quantile_rows


@entry
def _moment_rows(values: Array, offsets: Index, out: Array, start: int, stop: int) -> None:
    for row in range(start, stop):
        sample = values[offsets[row] : offsets[row + 1]]
        n = sample.size
        out[row] = math.nan
        out[row, 0] = n
        if n == 0:
            continue
        origin = sample[0]
        mean, low, high = 0.0, origin, origin
        for x in sample:
            mean += x - origin
            low, high = min(low, x), max(high, x)
        mean /= n
        # Relative to the range, so that no power overflows or underflows.
        span = max(high - low, 1e-300)
        m2, m3, m4 = 0.0, 0.0, 0.0
        for x in sample:
            d = ((x - origin) - mean) / span
            square = d * d
            m2 += square
            m3 += square * d
            m4 += square * square
        out[row, 1] = origin + mean
        out[row, 2] = span * math.sqrt(m2 / max(n - 1, 1))
        out[row, 3] = math.sqrt(n) * m3 / m2**1.5 if m2 > 0.0 else 0.0
        out[row, 4] = n * m4 / (m2 * m2) if m2 > 0.0 else 1.0
        out[row, 5], out[row, 6] = low, high


def moments(samples: Samples, *, threads: int | None = None) -> Array:
    """Give n, mean, sd, skewness, kurtosis, smallest and largest value of every sample, (samples, 7), in data units.

    The order of a sample's values plays no part. An empty sample has NaN except for n. Where weights differ, n is the
    effective size and the moments are weighted (`numerics/weighted.py`).

    Examples
    --------
    >>> from amortized_kde.data.sample import read_samples
    >>> moments(read_samples([[1.0, 2.0, 6.0]], axis=-1)).round(4)
    array([[3.    , 3.    , 2.6458, 0.5952, 1.5   , 1.    , 6.    ]])
    """
    out = np.empty((len(samples), 7))
    run_in_pieces(
        lambda i, j: _moment_rows(samples.values, samples.offsets, out, i, j),
        len(samples),
        operations=2.0 * samples.values.size,
        threads=threads,
    )
    if samples.weights is not None:
        given, weighted = (samples.values, samples.offsets, samples.weights), np.empty((len(samples), 8))
        run_in_pieces(
            lambda i, j: moment_rows(*given, samples.unequal, weighted, i, j),
            len(samples),
            operations=4.0 * samples.values.size,
            threads=threads,
        )
        out[samples.unequal] = weighted[samples.unequal, :7]
    return out


def quantiles(samples: Samples, probabilities: Array) -> Array:
    """Give quantiles (samples, probabilities) of ascending samples by linear interpolation at (n - 1) p.

    Where weights differ, they are means over a window of the weight (`numerics/weighted.py`), which for equal weights
    is the same.
    """
    n = np.maximum(samples.sizes, 1)[:, None]
    place = (n - 1) * probabilities
    below = np.minimum(place.astype(np.int64), n - 1)
    starts = np.minimum(samples.offsets[:-1], max(samples.values.size - 1, 0))[:, None]
    values = samples.values if samples.values.size else np.zeros(1)
    first = values[starts + below]
    second = values[np.minimum(starts + np.minimum(below + 1, n - 1), values.size - 1)]
    out = np.asarray(first + (place - below) * (second - first))
    if samples.weights is not None:
        given = samples.values, samples.offsets, samples.weights, samples.effective_sizes, samples.unequal
        quantile_rows(*given, probabilities, out, 0, len(samples))
    return out
