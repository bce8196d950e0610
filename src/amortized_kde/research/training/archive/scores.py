"""Logarithmic scores of pairs in bits, by rivals and models; lower is better. JAX is not known here."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import log_ndtr

from amortized_kde._types import Array
from amortized_kde.ensembles.answers import score_parts_of
from amortized_kde.ensembles.options import Options, read_ensembles
from amortized_kde.learned.model import Model
from amortized_kde.research.training.archive.pairs import Pairs
from amortized_kde.selection import find_selector, selector_of

Scorer = Callable[[Pairs], Array]

_LN2 = math.log(2.0)
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


def gaussian_scores(pairs: Pairs) -> Array:
    """Of the normal density with the members' mean and sd (divisor n - 1), cut at the bounds and renormalised."""
    x = pairs.members.astype(np.float64)
    mean, sd = np.nanmean(x, axis=1), np.nanstd(x, axis=1, ddof=1)
    z = (pairs.observations - mean) / sd
    low, high = ((end - mean) / sd for end in pairs.bounds)
    inside = _log_between(low, high)
    return np.asarray((0.5 * z * z + np.log(sd) + _LOG_SQRT_2PI + inside) / _LN2)


def _log_between(low: Array, high: Array) -> Array:
    """Logarithm of the normal probability between two limits, which may lie far in one tail."""
    # From the side on which there is less, where differences lose no digits.
    flip = low > 0.0
    near, far = np.where(flip, -low, high), np.where(flip, -high, low)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(log_ndtr(near) + np.log1p(-np.exp(log_ndtr(far) - log_ndtr(near))))


def silverman_scores(pairs: Pairs) -> Array:
    """Of kernel densities by Silverman's rule."""
    return _scores(pairs, None)


def model_scores(model: Model) -> Scorer:
    """Of densities by a model."""
    return lambda pairs: _scores(pairs, model)


def _scores(pairs: Pairs, model: Model | None) -> Array:
    read = read_ensembles(pairs.members, Options.read(bounds=pairs.limits, method="silverman"))
    selector = find_selector("silverman") if model is None else selector_of("a model in training", model)
    _, amount, _ = score_parts_of(replace(read, selector=selector), pairs.observations)
    return amount
