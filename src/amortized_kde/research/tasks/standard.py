"""The standard densities that all tasks are made of, before they are moved, scaled, mirrored and truncated.

Functions take arguments y (rows, m) and shape parameters (rows, p), one density a row. `variates.py` draws from the
same densities.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from amortized_kde._types import Array, Flags
from amortized_kde.numerics.gaussian import exp_nonpositive
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.threads import run_in_pieces

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Eight terms of a mixture run side by side in SIMD lanes, so that one costs less than an operation.
_COST = 0.25
# Terms are cut at e^-600 = 3e-261 of the highest peak (lower ones would be subnormal, which is slow); a sum
# above 1e-240 of it does not notice.
_CUT = -600.0
_SAFE = 1e-240


def _positive(shape: Array) -> Flags:
    return np.asarray((shape > 0.0).all(axis=1))


def _centre(shape: Array) -> Array:
    return np.zeros(shape.shape[0])


@dataclass(frozen=True)
class Standard:
    """One standard density g(y; shape), without location, scale or bounds.

    ``logpdf(y, shape)`` is called inside `support` only, ``cdf(y, shape)`` inside it and on its ends. ``mean(shape)``
    (rows,) is the point that a family's location moves. ``valid(shape)`` (rows,) says which rows are valid parameters.
    """

    name: str
    logpdf: Callable[[Array, Array], Array]
    cdf: Callable[[Array, Array], Array]
    mean: Callable[[Array], Array] = _centre
    valid: Callable[[Array], Flags] = _positive
    support: tuple[float, float] = (-math.inf, math.inf)


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


def components(shape: Array) -> tuple[Array, Array, Array]:
    """Split the shape parameters of a mixture (rows, 3K) into weights, locations and scales (rows, K) each."""
    count = shape.shape[1] // 3
    return shape[:, :count], shape[:, count : 2 * count], shape[:, 2 * count : 3 * count]


def _column(shape: Array, which: int) -> Array:
    return shape[:, which, None]


def _mixture_logpdf(y: Array, shape: Array) -> Array:
    out = np.empty(y.shape)
    weights, locations, scales = components(shape)

    def work(start: int, stop: int) -> None:
        rows = slice(start, stop)
        log_normal_sums(weights[rows], locations[rows], scales[rows], y[rows], out[rows])

    run_in_pieces(work, y.shape[0], operations=_COST * y.size * weights.shape[1])
    return out


def _mixture_cdf(y: Array, shape: Array) -> Array:
    weights, locations, scales = components(shape)
    total = np.zeros(y.shape)
    for k in range(weights.shape[1]):
        total += _column(weights, k) * special.ndtr((y - _column(locations, k)) / _column(scales, k))
    return total


def _mixture_valid(shape: Array) -> Flags:
    weights, _, scales = components(shape)
    # Weights are rounded numbers; what their sum misses of 1 would be a bias of the sampler.
    whole = np.abs(weights.sum(axis=1) - 1.0) < 1e-12
    whole &= shape.shape[1] > 0 and shape.shape[1] % 3 == 0
    return whole & (weights >= 0.0).all(axis=1) & (scales > 0.0).all(axis=1)


def _mixture_mean(shape: Array) -> Array:
    weights, locations, _ = components(shape)
    return np.asarray((weights * locations).sum(axis=1))


def _laplace_cdf(y: Array, shape: Array) -> Array:
    tail = 0.5 * np.exp(-np.abs(y))
    return np.where(y < 0.0, tail, 1.0 - tail)


def _student_logpdf(y: Array, shape: Array) -> Array:
    nu = _column(shape, 0)
    constant = special.gammaln(0.5 * (nu + 1.0)) - special.gammaln(0.5 * nu) - 0.5 * np.log(nu * math.pi)
    return np.asarray(constant - 0.5 * (nu + 1.0) * np.log1p(y * y / nu))


def _gamma_logpdf(y: Array, shape: Array) -> Array:
    k = _column(shape, 0)
    return np.asarray((k - 1.0) * np.log(y) - y - special.gammaln(k))


def _beta_logpdf(y: Array, shape: Array) -> Array:
    a, b = _column(shape, 0), _column(shape, 1)
    return np.asarray((a - 1.0) * np.log(y) + (b - 1.0) * np.log1p(-y) - special.betaln(a, b))


def _lognormal_logpdf(y: Array, shape: Array) -> Array:
    tau, log_y = _column(shape, 0), np.log(y)
    return np.asarray(-0.5 * (log_y / tau) ** 2 - log_y - np.log(tau) - _LOG_SQRT_2PI)


def _lognormal_cdf(y: Array, shape: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(special.ndtr(np.log(y) / _column(shape, 0)))


def _pareto_logpdf(y: Array, shape: Array) -> Array:
    alpha = _column(shape, 0)
    return np.asarray(np.log(alpha) - (alpha + 1.0) * np.log1p(y))


def _weibull_logpdf(y: Array, shape: Array) -> Array:
    k = _column(shape, 0)
    return np.asarray(np.log(k) + (k - 1.0) * np.log(y) - y**k)


_HALF_LINE = (0.0, math.inf)
# Shape parameters, by column: mixture weights, locations and scales; nu; k; a and b; tau (paper, Table 1).
STANDARDS = (
    Standard("mixture", _mixture_logpdf, _mixture_cdf, _mixture_mean, _mixture_valid),
    Standard("laplace", lambda y, shape: -np.abs(y) - math.log(2.0), _laplace_cdf),
    Standard("student", _student_logpdf, lambda y, shape: special.stdtr(_column(shape, 0), y)),
    Standard(
        "gamma",
        _gamma_logpdf,
        lambda y, shape: special.gammainc(_column(shape, 0), y),
        lambda shape: shape[:, 0].copy(),
        support=_HALF_LINE,
    ),
    Standard(
        "beta",
        _beta_logpdf,
        lambda y, shape: special.betainc(_column(shape, 0), _column(shape, 1), y),
        lambda shape: shape[:, 0] / (shape[:, 0] + shape[:, 1]),
        support=(0.0, 1.0),
    ),
    Standard(
        "logistic", lambda y, shape: -np.abs(y) - 2.0 * np.log1p(np.exp(-np.abs(y))), lambda y, shape: special.expit(y)
    ),
    Standard(
        "lognormal", _lognormal_logpdf, _lognormal_cdf, lambda shape: np.exp(0.5 * shape[:, 0] ** 2), support=_HALF_LINE
    ),
)
# A density names its standard form by its place in the table, which compiled loops can read.
CODES = {standard.name: code for code, standard in enumerate(STANDARDS)}
_STUDENT = STANDARDS[CODES["student"]]

# The forms that a compound is made of. Shape parameters are those of `STANDARDS`; α of Lomax's density
# α (1 + y)^(-α-1), k of Weibull's, and ν of the absolute value of a Student variate. Each form keeps its code of
# `STANDARDS`, with normals in place of mixtures; none of the new ones needs its mean, which may not exist.
FORMS = (
    Standard("normal", lambda y, shape: -0.5 * y * y - _LOG_SQRT_2PI, lambda y, shape: special.ndtr(y)),
    *STANDARDS[1:],
    Standard(
        "pareto", _pareto_logpdf, lambda y, shape: -np.expm1(-_column(shape, 0) * np.log1p(y)), support=_HALF_LINE
    ),
    Standard("weibull", _weibull_logpdf, lambda y, shape: -np.expm1(-(y ** _column(shape, 0))), support=_HALF_LINE),
    Standard(
        "folded",
        lambda y, shape: _STUDENT.logpdf(y, shape) + math.log(2.0),
        lambda y, shape: 1.0 - 2.0 * _STUDENT.cdf(-y, shape),
        support=_HALF_LINE,
    ),
)
NORMAL, LAPLACE, STUDENT, GAMMA, BETA, LOGISTIC, LOGNORMAL, PARETO, WEIBULL, FOLDED = range(len(FORMS))
LOWEST = np.array([form.support[0] for form in FORMS])
HIGHEST = np.array([form.support[1] for form in FORMS])
