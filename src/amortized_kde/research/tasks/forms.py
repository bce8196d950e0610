"""The ten forms that a compound density is made of: those of `standard.py` without its mixtures, and four more.

Arguments y (rows, m) and shape parameters (rows, 2) enter, log-densities and probabilities leave; in the compiled
loops a stream enters and a variate leaves. Location, scale and weight are not known here.
"""

import math

import numpy as np
from scipy import special

from amortized_kde._types import Array, Flags, Words
from amortized_kde.numerics.jit import compiled
from amortized_kde.numerics.streams import next_uniform
from amortized_kde.research.tasks.sampling import other_variate
from amortized_kde.research.tasks.standard import CODES, STANDARDS, Standard
from amortized_kde.research.tasks.variates import normal_variate

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_STUDENT = STANDARDS[CODES["student"]]


def _column(shape: Array) -> Array:
    return shape[:, 0, None]


def _positive(shape: Array) -> Flags:
    return np.asarray((shape > 0.0).all(axis=1))


def _origin(shape: Array) -> Array:
    """Where these forms are placed: none of them needs its mean, which may not exist."""
    return np.zeros(shape.shape[0])


def _normal_logpdf(y: Array, shape: Array) -> Array:
    return np.asarray(-0.5 * y * y - _LOG_SQRT_2PI)


def _normal_cdf(y: Array, shape: Array) -> Array:
    return np.asarray(special.ndtr(y))


def _pareto_logpdf(y: Array, shape: Array) -> Array:
    alpha = _column(shape)
    return np.asarray(np.log(alpha) - (alpha + 1.0) * np.log1p(y))


def _pareto_cdf(y: Array, shape: Array) -> Array:
    return np.asarray(-np.expm1(-_column(shape) * np.log1p(y)))


def _weibull_logpdf(y: Array, shape: Array) -> Array:
    k = _column(shape)
    return np.asarray(np.log(k) + (k - 1.0) * np.log(y) - y**k)


def _weibull_cdf(y: Array, shape: Array) -> Array:
    return np.asarray(-np.expm1(-(y ** _column(shape))))


def _folded_logpdf(y: Array, shape: Array) -> Array:
    return _STUDENT.logpdf(y, shape) + math.log(2.0)


def _folded_cdf(y: Array, shape: Array) -> Array:
    return 1.0 - 2.0 * _STUDENT.cdf(-y, shape)


_HALF_LINE = (0.0, math.inf)
# Shape parameters are those of `STANDARDS`; α of Lomax's density α (1 + y)^(-α-1), k of Weibull's, and ν of the
# absolute value of a Student variate. Each form keeps the code it has there; normals stand where mixtures do.
FORMS = (
    Standard("normal", _normal_logpdf, _normal_cdf, _origin, _positive),
    *STANDARDS[1:],
    Standard("pareto", _pareto_logpdf, _pareto_cdf, _origin, _positive, support=_HALF_LINE),
    Standard("weibull", _weibull_logpdf, _weibull_cdf, _origin, _positive, support=_HALF_LINE),
    Standard("folded", _folded_logpdf, _folded_cdf, _origin, _positive, support=_HALF_LINE),
)
NORMAL, LAPLACE, STUDENT, GAMMA, BETA, _LOGISTIC, LOGNORMAL, PARETO, WEIBULL, FOLDED = range(len(FORMS))
LOWEST = np.array([form.support[0] for form in FORMS])
HIGHEST = np.array([form.support[1] for form in FORMS])


@compiled
def form_variate(code: int, state: Words, shape: Array) -> float:
    """Draw from the form with this code."""
    if code == NORMAL:
        return normal_variate(state)
    if code == PARETO:
        return math.expm1(-math.log(next_uniform(state)) / shape[0])
    if code == WEIBULL:
        return (-math.log(next_uniform(state))) ** (1.0 / shape[0])
    if code == BETA and shape[1] == 1.0:
        # Uniform numbers and ramps: inversion is quicker than two gammas.
        return next_uniform(state) ** (1.0 / shape[0])
    if code == FOLDED:
        return abs(other_variate(STUDENT, state, shape))
    return other_variate(code, state, shape)
