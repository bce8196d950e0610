"""Random Gaussian mixtures with any number of components (paper, section 3.3).

A number of components and a seed enter, densities on [-1, 1] leave, a fresh one for each task.
"""

import math

import numpy as np
from numpy.typing import NDArray

from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.streams import next_uniform, start_stream
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.numerics.variates import log_gamma_variate, normal_variate
from amortized_kde.tasks.densities import Densities, stack

__all__ = ["draw_mixtures"]

Array = NDArray[np.float64]
Words = NDArray[np.uint64]

# Eq. 15: the concentration; eq. 16: reference scale and log-scale dispersion; below eq. 17: limits of a scale.
_LOG_ALPHA = math.log(0.5), math.log(4.0)
_LOG_REFERENCE = math.log(0.025), math.log(0.22)
_DISPERSION = 0.10, 1.00
_LOG_SCALE = math.log(0.015), math.log(0.45)
_BOUNDS = (-1.0, 1.0)
# A component costs about as much as this many additions.
_COST = 100.0


@compiled
def _uniform(state: Words, low: float, high: float) -> float:
    return low + (high - low) * next_uniform(state)


@compiled
def _fill_weights(weights: Array, concentration: float, state: Words) -> None:
    """Dirichlet weights through logarithms: the largest is never lost, however small the concentration."""
    largest = -math.inf
    for k in range(weights.size):
        weights[k] = log_gamma_variate(state, concentration)
        largest = max(largest, weights[k])
    total = 0.0
    for k in range(weights.size):
        weights[k] = math.exp(weights[k] - largest)
        total += weights[k]
    for k in range(weights.size):
        weights[k] /= total


@compiled
def _log_scale(state: Words, centre: float, dispersion: float) -> float:
    """A normal log-scale, truncated by drawing again: at least 0.69 of the law lies inside, so it ends soon."""
    while True:
        value = centre + dispersion * normal_variate(state)
        if _LOG_SCALE[0] <= value <= _LOG_SCALE[1]:
            return value


@entry
def _fill_mixtures(shapes: Array, words: Words, first: int, start: int, stop: int) -> None:
    state = np.empty(4, np.uint64)
    count = shapes.shape[1] // 3
    for t in range(start, stop):
        start_stream(state, words, first + t)
        alpha = math.exp(_uniform(state, _LOG_ALPHA[0], _LOG_ALPHA[1]))
        _fill_weights(shapes[t, :count], alpha / count, state)
        centre = _uniform(state, _LOG_REFERENCE[0], _LOG_REFERENCE[1])
        dispersion = _uniform(state, _DISPERSION[0], _DISPERSION[1])
        for k in range(count):
            shapes[t, count + k] = _uniform(state, -1.0, 1.0)
            shapes[t, 2 * count + k] = math.exp(_log_scale(state, centre, dispersion))


def draw_mixtures(
    components: int, count: int, *, words: Words, first: int = 0, threads: int | None = None
) -> Densities:
    r"""Draw the mixtures of tasks first .. first + count - 1 (paper, eqs. 14 to 17).

    .. math:: \alpha \sim LU[0.5, 4],\; w \sim \mathrm{Dirichlet}(\alpha/K),\; \mu_k \sim U[-1, 1],\;
        \log\sigma_k \sim N(\log\sigma_0, \tau^2) \text{ within } [0.015, 0.45],

    with σ0 ~ LU[0.025, 0.22] and τ ~ U[0.1, 1] for each task; truncated to [-1, 1].

    Parameters
    ----------
    components : int
        K >= 1.
    count : int
        How many mixtures.
    words : array of shape (4,), uint64
        The streams, from `stream_words`.
    first : int
        Index of the first task: a task's mixture depends on its index and the words only.
    threads : int, optional
        The most threads to use; the answer does not depend on it.

    Raises
    ------
    InvalidParameterError
        If K is below 1.

    Examples
    --------
    >>> from amortized_kde.numerics.streams import stream_words
    >>> draw_mixtures(8, 3, words=stream_words(0, 0)).shapes.shape
    (3, 24)
    """
    if components < 1:
        raise InvalidParameterError(f"A mixture needs at least one component, not {components}.")
    shapes = np.empty((count, 3 * components))
    run_in_pieces(
        lambda start, stop: _fill_mixtures(shapes, words, first, start, stop),
        count,
        operations=_COST * shapes.size,
        threads=threads,
    )
    # Locations and scales are independent of the weights, so sorting these changes no law, and a draw finds
    # its component after two steps on average.
    shapes[:, :components] = -np.sort(-shapes[:, :components], axis=1)
    return stack("mixture", shapes, origins=np.zeros(count), slopes=np.ones(count), bounds=_BOUNDS)
