"""Log-densities of many finite normal mixtures, exact however far an argument is from all components."""

import math

import numpy as np

from amortized_kde._types import Array
from amortized_kde.numerics.gaussian import exp_nonpositive
from amortized_kde.numerics.jit import compiled, entry

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Terms are cut at e^-600 = 3e-261 of the highest peak (lower ones would be subnormal, which is slow); a sum
# above 1e-240 of it does not notice.
_CUT = -600.0
_SAFE = 1e-240


@entry
def log_normal_sums(weights: Array, locations: Array, scales: Array, at: Array, out: Array) -> None:
    """Write log sum_k w_k phi((x - m_k)/s_k)/s_k (rows, m) at finite x, row r under mixture r of (rows, K)."""
    peaks = np.empty(weights.shape[1])
    for row in range(at.shape[0]):
        highest = -math.inf
        for k in range(peaks.size):
            peaks[k] = math.log(weights[row, k] / scales[row, k]) - _LOG_SQRT_2PI
            highest = max(highest, peaks[k])
        out[row] = 0.0
        for k in range(peaks.size):
            if peaks[k] - highest > _CUT:
                _add_terms(peaks[k] - highest, locations[row, k], scales[row, k], at[row], out[row])
        for j in range(at.shape[1]):
            if out[row, j] > _SAFE:
                out[row, j] = highest + math.log(out[row, j])
            else:
                out[row, j] = _log_sum(peaks, locations[row], scales[row], at[row, j])


@compiled
def _add_terms(peak: float, location: float, scale: float, x: Array, total: Array) -> None:
    per_scale = 1.0 / scale
    for j in range(x.size):
        u = (x[j] - location) * per_scale
        total[j] += exp_nonpositive(max(peak - 0.5 * u * u, _CUT))


@compiled
def _log_sum(peaks: Array, locations: Array, scales: Array, x: float) -> float:
    """Return the log of the sum shifted by its largest term, for arguments far from all components."""
    largest = -math.inf
    for k in range(peaks.size):
        largest = max(largest, peaks[k] - 0.5 * ((x - locations[k]) / scales[k]) ** 2)
    total = 0.0
    for k in range(peaks.size):
        total += math.exp(peaks[k] - 0.5 * ((x - locations[k]) / scales[k]) ** 2 - largest)
    return largest + math.log(total)
