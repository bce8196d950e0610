"""The Sheather-Jones plug-in selector, solve-the-equation form (paper, Appendix A.2).

``sheather-jones`` solves h = [c1 / psi4(alpha h^(5/7))]^(1/5) tightly, with pair sums relative to the sample's median:
exact for n <= 5000, above that with pairs counted in bins of hmax/100. The bandwidth then differs by less than 1e-3
relative, or 1e-2 where narrow clusters bring it below hmax/20, and not at all for data rounded to steps wider than a
bin. ``sheather-jones-r`` repeats R's ``bw.SJ(x, method = "ste")`` with its bins, which depend on the position of zero,
its loose tolerance and its errors. It does not repeat the overflow of R's bin numbers where |x| exceeds 2^31 bins (for
example 100 normal values at an offset of 1e8), where R silently returns a few per cent of the right bandwidth.

With weights, n is their effective size and a pair counts n^2 w_i w_j, so that with the n terms on the diagonal the
functionals are n/(n - 1) times sums of w_i w_j over all i and j. ``sheather-jones-r`` takes no weights.
"""

import math

import numpy as np

from amortized_kde._outcome import (
    ALPHA_NOT_FINITE,
    NO_BRACKET,
    NO_SOLUTION,
    OK,
    TOO_FEW,
    TOO_SPARSE,
)
from amortized_kde._types import Array
from amortized_kde.numerics.jit import compiled, entry, in_numpy
from amortized_kde.numerics.pairs import LARGEST_EXACT, NEGLIGIBLE_SQUARED_DISTANCE, lag_counts, lag_sum, pair_sum
from amortized_kde.numerics.roots import ROOT, SEARCH, advance
from amortized_kde.numerics.statistics import interquartile_range, standard_deviation
from amortized_kde.selection.rules import Rows, counts_of, robust_scale, silverman_of, size_of, values_of

SQRT_2PI = math.sqrt(2.0 * math.pi)
# Constants of Sheather and Jones (1991), as in R's bw.SJ.
SJ_IQR, SJ_A, SJ_B, SJ_ALPHA, SJ_HMAX = 1.349, 1.24, 1.23, 1.357, 1.144
R_BINS = 1000
# The largest squared distance in R, under its name there.
R_DELMAX = 1000.0


@compiled
def _psi(pair_sum: float, n: float, spare: float, h: float, diagonal: float, power: float) -> float:
    """Estimate of the integral of f^(r) f from the sum over pairs: He_r(0) = 3 or -15, power r + 1 of h.

    `spare` is n - 1, passed separately because with weights it can be so small that the difference would be rounding.
    """
    return (2.0 * pair_sum + diagonal * n) / (n * spare * h**power * SQRT_2PI)


@compiled
def _solve(ascending: Array, counts: Array | None, n: float, spare: float, scale: float) -> float:
    """The tight solution, found in units in which the robust scale is 1; NaN if there is none."""
    unit = (ascending - ascending[ascending.size // 2]) / scale
    hmax = SJ_HMAX * n**-0.2
    step = hmax / 100.0
    lags = np.empty((3, 0))
    if unit.size > LARGEST_EXACT:
        # 40 scales reach D = 110 at every pilot bandwidth below 3.8 scales.
        lags = lag_counts(unit, counts, None, step, int(min(unit[-1] - unit[0], 40.0) / step))
    search = np.zeros(SEARCH)
    search[0], search[1], search[2], search[3] = 0.1 * hmax, hmax, 1e-14 * hmax, 99.0
    # One place evaluates all sums: psi6 at b first, psi4 at a next, then the equation at each proposed h.
    td, alpha, h, power = 0.0, 0.0, 0.0, 7.0
    c3, c2, c1, c0 = 1.0, -15.0, 45.0, -15.0
    g = SJ_B * n ** (-1 / 9)
    while not math.isnan(g):
        if unit.size > LARGEST_EXACT:
            total = lag_sum(lags[0], lags[1], step, g, c3, c2, c1, c0, NEGLIGIBLE_SQUARED_DISTANCE)
        else:
            total = pair_sum(unit, counts, g, c3, c2, c1, c0)
        psi = _psi(total, n, spare, g, c0, power)
        if power == 7.0:
            td, power, g = -psi, 5.0, SJ_A * n ** (-1 / 7)
            c3, c2, c1, c0 = 0.0, 1.0, -6.0, 3.0
            continue
        equation = math.nan
        if alpha == 0.0:
            alpha = SJ_ALPHA * (psi / td) ** (1 / 7) if td > 0.0 and psi > 0.0 else math.nan
        else:
            equation = (1.0 / (2.0 * math.sqrt(math.pi) * n * psi)) ** 0.2 - h
        h = advance(search, equation)
        g = alpha * h ** (5.0 / 7.0)
    return scale * search[ROOT] if math.isfinite(alpha) else math.nan


@entry
def sheather_jones_rows(rows: Rows, start: int, stop: int) -> None:
    """Write the tightly solved Sheather-Jones bandwidth of every row."""
    for row in range(start, stop):
        ascending = values_of(rows, row)
        scale, rows.codes[row] = robust_scale(ascending, rows.spreads, row, SJ_IQR)
        rows.bandwidths[row] = math.nan
        if rows.codes[row] >= OK:
            n, spare = size_of(ascending, rows.spreads, row)
            rows.bandwidths[row] = _solve(ascending, counts_of(rows.counts, rows.offsets, row), n, spare, scale)
            if math.isnan(rows.bandwidths[row]):
                rows.codes[row] = NO_SOLUTION
                rows.bandwidths[row], _ = silverman_of(ascending, rows.spreads, row)


@compiled
def _r_residual(lags: Array, step: float, n: int, alpha: float, h: float) -> float:
    g = alpha * h ** (5.0 / 7.0)
    roughness = _psi(lag_sum(lags[0], lags[1], step, g, 0.0, 1.0, -6.0, 3.0, R_DELMAX), n, n - 1.0, g, 3.0, 5.0)
    return (1.0 / (2.0 * math.sqrt(math.pi) * n) / roughness) ** 0.2 - h


@compiled
def _r_lags(ascending: Array, step: float) -> Array:
    """R's counts of pairs by the distance of their bins, whose numbers are truncated toward zero."""
    lags = np.zeros((2, R_BINS))
    for lag in range(R_BINS):
        lags[1, lag] = lag
    bins = np.empty(ascending.size, np.int64)
    for i in range(ascending.size):
        bins[i] = int(ascending[i] / step)
    for i in range(ascending.size):
        for j in range(i):
            # For values a few ulps apart, quotients round to more than 1000 bins.
            lags[0, min(bins[i] - bins[j], R_BINS - 1)] += 1.0
    return lags


@in_numpy(_r_lags)
def _r_lags_in_numpy(ascending: Array, step: float) -> Array:
    bins = np.trunc(ascending / step).astype(np.int64)
    i, j = np.tril_indices(bins.size, -1)
    counts = np.bincount(np.minimum(bins[i] - bins[j], R_BINS - 1), minlength=R_BINS)
    return np.stack([counts.astype(np.float64), np.arange(float(R_BINS))])


@compiled
def _r_zero(lags: Array, step: float, n: int, alpha: float, low: float, high: float) -> float:
    """Brent's method with the stopping rule of R's uniroot; the tolerance is a tenth of the lower end."""
    tolerance = 0.1 * low
    a, b = low, high
    fa = _r_residual(lags, step, n, alpha, a)
    fb = _r_residual(lags, step, n, alpha, b)
    c, fc = a, fa
    for _ in range(1001):
        previous = b - a
        if abs(fc) < abs(fb):
            a, b, c = b, c, b
            fa, fb, fc = fb, fc, fb
        enough = 2.0 * 2.220446049250313e-16 * abs(b) + 0.5 * tolerance
        step_to = 0.5 * (c - b)
        if abs(step_to) <= enough or fb == 0.0:
            break
        if abs(previous) >= enough and abs(fa) > abs(fb):
            cb = c - b
            if a == c:
                t1 = fb / fa
                p, q = cb * t1, 1.0 - t1
            else:
                q, t1, t2 = fa / fc, fb / fc, fb / fa
                p = t2 * (cb * q * (q - t1) - (b - a) * (t1 - 1.0))
                q = (q - 1.0) * (t1 - 1.0) * (t2 - 1.0)
            if p > 0.0:
                q = -q
            else:
                p = -p
            if p < 0.75 * cb * q - 0.5 * abs(enough * q) and p < abs(0.5 * previous * q):
                step_to = p / q
        if abs(step_to) < enough:
            step_to = enough if step_to > 0.0 else -enough
        a, fa = b, fb
        b += step_to
        fb = _r_residual(lags, step, n, alpha, b)
        if (fb > 0.0 and fc > 0.0) or (fb < 0.0 and fc < 0.0):
            c, fc = a, fa
    return b


@compiled
def _r_bandwidth(ascending: Array) -> tuple[float, int]:
    n = ascending.size
    if n < 2:
        return math.nan, TOO_FEW
    scale = min(standard_deviation(ascending), interquartile_range(ascending) / SJ_IQR)
    if not scale > 0.0:
        return math.nan, TOO_SPARSE
    step = (ascending[-1] - ascending[0]) * 1.01 / R_BINS
    lags = _r_lags(ascending, step)
    a, b = SJ_A * scale * n ** (-1 / 7), SJ_B * scale * n ** (-1 / 9)
    td = -_psi(lag_sum(lags[0], lags[1], step, b, 1.0, -15.0, 45.0, -15.0, R_DELMAX), n, n - 1.0, b, -15.0, 7.0)
    if not (0.0 < td < math.inf):
        return math.nan, TOO_SPARSE
    psi4 = _psi(lag_sum(lags[0], lags[1], step, a, 0.0, 1.0, -6.0, 3.0, R_DELMAX), n, n - 1.0, a, 3.0, 5.0)
    alpha = SJ_ALPHA * (psi4 / td) ** (1 / 7)
    if not math.isfinite(alpha):
        return math.nan, ALPHA_NOT_FINITE
    high = SJ_HMAX * scale * n**-0.2
    low = 0.1 * high
    trial = 1
    while _r_residual(lags, step, n, alpha, low) * _r_residual(lags, step, n, alpha, high) > 0.0:
        if trial > 99:
            return math.nan, NO_BRACKET
        if trial % 2 == 1:
            high *= 1.2
        else:
            low /= 1.2
        trial += 1
    return _r_zero(lags, step, n, alpha, low, high), OK


@entry
def sheather_jones_r_rows(rows: Rows, start: int, stop: int) -> None:
    """Write the bandwidth of R's bw.SJ(method = "ste") of every row."""
    for row in range(start, stop):
        rows.bandwidths[row], rows.codes[row] = _r_bandwidth(values_of(rows, row))
