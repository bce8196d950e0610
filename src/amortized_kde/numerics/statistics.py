"""Scale statistics, moments and quantiles of ascending rows, with and without weights.

With weights that sum to 1, n = 1/sum w_i^2 is Kish's effective size. The variance is

    sum_i w_i (x_i - mean)^2 / (1 - sum_i w_i^2),

which for equal weights has the divisor n - 1. Skewness and kurtosis are m3/m2^1.5 and m4/m2^2 of the weighted moments.
The quantile at p is the mean of the quantile function Q(u), a step at each value as wide as its weight, over the window

    (1 - 1/n) p <= u <= (1 - 1/n) p + 1/n

(Akinshin 2023, "Weighted quantile estimators"): for equal weights the linear interpolation at (n - 1) p, type 7 of R
and NumPy. It increases with p, is mirrored at 1 - p for mirrored values, and depends on the values only through Q and
n: a value of weight zero, or a value split in two at the same n, changes nothing. The loops with weights are compiled
only where weights differ.
"""

import math

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.numerics import uncompiled
from amortized_kde.numerics.formulas import logarithm
from amortized_kde.numerics.jit import compiled, entry, entry_in_order, in_numpy
from amortized_kde.numerics.registers import LANES, Memory, Real, Variable, Whole
from amortized_kde.numerics.simd import Code, copy_row, instructions


@compiled
def standard_deviation(ascending: Array) -> float:
    """Return the standard deviation of a row with divisor n - 1, in two passes from the smallest value."""
    origin = ascending[0]
    mean = 0.0
    for x in ascending:
        # max() changes nothing, but keeps the compiler from adding the origin and the mean first.
        mean += max(x - origin, 0.0)
    mean /= ascending.size
    largest = max(ascending[-1] - origin, 1e-300)
    total = 0.0
    for x in ascending:
        # Relative to the range, so that no square overflows or underflows.
        d = (max(x - origin, 0.0) - mean) / largest
        total += d * d
    return largest * math.sqrt(total / (ascending.size - 1))


@compiled
def interquartile_range(ascending: Array) -> float:
    """Return the interquartile range of a row, by linear interpolation at (n - 1) p (type 7 of R and NumPy)."""
    # Relative to the median, so that neither an offset nor an outlier rounds the quartiles.
    distance, origin = 0.0, ascending[ascending.size // 2]
    for sign in (-1.0, 1.0):
        position = (ascending.size - 1) * (0.5 + 0.25 * sign)
        i = int(position)
        following = min(i + 1, ascending.size - 1)
        distance += sign * (ascending[i] - origin + (position - i) * (ascending[following] - ascending[i]))
    return distance


@entry
def moment_rows(
    values: Array, offsets: Index, weights: Array, wanted: Flags, out: Array, start: int, stop: int
) -> None:
    """Write n, mean, sd, skewness, kurtosis, minimum, maximum and n - 1 of the rows that are wanted, in any order."""
    for row in range(start, stop):
        if not wanted[row]:
            continue
        x, w = values[offsets[row] : offsets[row + 1]], weights[offsets[row] : offsets[row + 1]]
        heaviest = 0
        for i in range(x.size):
            if w[i] > w[heaviest]:
                heaviest = i
        # Relative to the heaviest value: where it has nearly all the weight, its distance from the mean is tiny.
        away = x - x[heaviest]
        others, squares, mean, low, high = 0.0, 0.0, 0.0, x[0], x[0]
        for i in range(x.size):
            mean += w[i] * away[i]
            low, high = min(low, x[i]), max(high, x[i])
            if i != heaviest:
                others += w[i]
                squares += w[i] * w[i]
        total = others + w[heaviest]
        # (sum w)^2 - sum w^2 without cancellation, because one weight can be nearly all.
        spare = others * (total + w[heaviest]) - squares
        squares += w[heaviest] * w[heaviest]
        mean /= total
        # Relative to the range, so that no power overflows or underflows.
        span = max(high - low, 1e-300)
        m2, m3, m4 = 0.0, 0.0, 0.0
        for i in range(x.size):
            d = (away[i] - mean) / span
            square = d * d
            m2 += w[i] * square
            m3 += w[i] * square * d
            m4 += w[i] * square * square
        m2, m3, m4 = m2 / total, m3 / total, m4 / total
        out[row, 0], out[row, 7] = total * total / squares, spare / squares
        out[row, 1] = x[heaviest] + mean
        out[row, 2] = span * math.sqrt(m2 / spare) * total if m2 > 0.0 else 0.0
        # One division after the other: with weights over hundreds of decades m2 alone can be 1e-300.
        out[row, 3] = m3 / m2 / math.sqrt(m2) if m2 > 0.0 else 0.0
        out[row, 4] = m4 / m2 / m2 if m2 > 0.0 else 1.0
        out[row, 5], out[row, 6] = low, high


@compiled
def _over_window(x: Array, w: Array, origin: float, n: float, p: float, turned: bool) -> float:
    """The mean of Q(u) - origin over the window at p, from the lower end, or from the upper end if `turned`."""
    low = (1.0 - 1.0 / n) * p
    high, below = low + 1.0 / n, 0.0
    total, width = 0.0, 0.0
    for j in range(x.size):
        i = x.size - 1 - j if turned else j
        above = below + w[i]
        part = min(above, high) - max(below, low)
        if part > 0.0:
            total += part * (x[i] - origin)
            width += part
        below = above
        if below >= high:
            break
    return total / width


@entry
def quantile_rows(
    values: Array,
    offsets: Index,
    weights: Array,
    sizes: Array,
    wanted: Flags,
    probabilities: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write the quantiles (rows, probabilities) of the ascending rows that are wanted; `sizes` are their n."""
    for row in range(start, stop):
        if not wanted[row]:
            continue
        x, w = values[offsets[row] : offsets[row + 1]], weights[offsets[row] : offsets[row + 1]]
        # Relative to the median, so that an outlier does not round the others.
        middle, below = 0, w[0]
        while below < 0.5 and middle < x.size - 1:
            middle += 1
            below += w[middle]
        for k in range(probabilities.size):
            turned = probabilities[k] > 0.5
            # From the nearer end, so that mirrored rows have the mirrored sums.
            p = 1.0 - probabilities[k] if turned else probabilities[k]
            out[row, k] = x[middle] + _over_window(x, w, x[middle], sizes[row], p, turned)


@instructions
def _spacing_moments(
    code: Code, x: Memory, times: Memory, count: Whole, per_unit: Real, least: Real, tie: Real, out: Memory, at: Whole
) -> None:
    """Write the five statistics of `spacing_rows` of `count` spacings between values x, each counted some times.

    Past the last value x is finite, and times are 0, up to a multiple of `LANES`.
    """

    def spacing(j: Whole) -> Real:
        # Where nothing counts, any positive number.
        return (times.lanes(j) > 0.0).choose((x.lanes(j + 1) - x.lanes(j)) * per_unit, 1.0)

    number, total, tied, zero, square, cube = (Variable(code.lanes(0.0)) for _ in range(6))
    with code.loop(count, 0, LANES) as j:
        s, weight = spacing(j), times.lanes(j)
        number.set(number.get() + weight)
        total.set(weight * logarithm(s + least) + total.get())
        tied.set(weight * (tie / (s + tie)) + tied.get())
        zero.set(s.is_nonzero().choose(0.0, weight) + zero.get())
    per_number = 1.0 / number.get().over_lanes(Real.__add__)
    mean = total.get().over_lanes(Real.__add__) * per_number
    with code.loop(count, 0, LANES) as j:
        off, weight = logarithm(spacing(j) + least) - mean, times.lanes(j)
        square.set(weight * off * off + square.get())
        cube.set(weight * off * off * off + cube.get())
    out.put(at, mean.first())
    for k, sums in enumerate((square, cube, tied, zero)):
        out.put(at + 1 + k, (sums.get().over_lanes(Real.__add__) * per_number).first())


@entry_in_order
def spacing_rows(
    values: Array,
    offsets: Index,
    anchors: Index,
    anchor_offsets: Index,
    per_unit: Array,
    least: float,
    tie: float,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write statistics of the spacings s beside anchors of ascending rows, in units of 1/``per_unit[row]``.

    They are mean, variance and third central moment of ln(s + least), and means of tie/(tie + s) and of s = 0. A
    spacing counts once for each anchor that it adjoins; where there is none, nothing is written.
    """
    longest = 0
    for row in range(start, stop):
        longest = max(longest, offsets[row + 1] - offsets[row])
    x, times = np.empty(longest + LANES), np.empty(longest + LANES)
    for j in range(x.size):
        x[j] = 0.0
    for row in range(start, stop):
        count, number = offsets[row + 1] - offsets[row] - 1, 0
        copy_row(values, offsets[row], count + 1, x, 0)
        for j in range(times.size):
            times[j] = 0.0
        for a in range(anchor_offsets[row], anchor_offsets[row + 1]):
            for j in range(max(anchors[a] - 1, 0), min(anchors[a] + 1, count)):
                times[j] += 1.0
                number += 1
        if number > 0:
            _spacing_moments(x, times, count, per_unit[row], least, tie, out, 5 * row)


in_numpy(spacing_rows)(uncompiled.spacing_rows)
