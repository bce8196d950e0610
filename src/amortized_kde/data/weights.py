r"""Importance weights: how much each value of a sample counts, and for how many equal ones all of them stand.

Weights as people give them enter; shares that sum to 1 in each sample leave, and Kish's effective size

.. math:: n = \Big(\sum_i w_i\Big)^2 \Big/ \sum_i w_i^2,

which takes the place of the number of values wherever a formula has one. Many samples are flat, as in `sample.py`. What
is done with the values is not known here.
"""

from typing import Any

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.data.reading import read_numbers
from amortized_kde.errors import InvalidSampleError

# A share of the largest weight so small counts as none: products of such numbers underflow.
_FAINTEST = 1e-300


def read_weights(weights: Any, shape: tuple[int, ...]) -> Array:
    """Read weights for values of that shape.

    Raises
    ------
    InvalidSampleError
        If they are not numbers, or of another shape.
    """
    given = read_numbers(weights, "weights")
    if given.shape != shape:
        raise InvalidSampleError(f"weights have shape {given.shape}, but x has shape {shape}.")
    return given


def relative_weights(weights: Array) -> Array:
    """Divide by the largest along the last axis, so that no sum overflows or underflows; the faintest become 0.

    Raises
    ------
    InvalidSampleError
        If a weight is missing, infinite or negative.

    Examples
    --------
    >>> relative_weights(np.array([[1e308, 1e307], [0.0, 0.0]]))
    array([[1. , 0.1], [0. , 0. ]])
    """
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if bad.size:
        raise InvalidSampleError(f"weights must be finite and not negative; {weights.flat[bad[0]]} is not.")
    largest = weights.max(axis=-1, initial=0.0, keepdims=True)
    relative = weights / np.where(largest > 0.0, largest, 1.0)
    return np.where(relative > _FAINTEST, relative, 0.0)


def divided_by_sums(weights: Array, offsets: Index) -> Array:
    """Divide the weights of each sample by their sum.

    Examples
    --------
    >>> divided_by_sums(np.array([1.0, 3.0, 5.0]), np.array([0, 2, 2, 3]))
    array([0.25, 0.75, 1.  ])
    """
    return np.asarray(weights / np.repeat(_over_rows(np.add, weights, offsets), np.diff(offsets)))


def have_unequal(weights: Array, offsets: Index) -> Flags:
    """Tell which samples have weights that differ; all others are treated as if none had been given."""
    return np.asarray(_over_rows(np.minimum, weights, offsets) < _over_rows(np.maximum, weights, offsets))


def effective_sizes(weights: Array, offsets: Index) -> Array:
    """Give Kish's effective size of each sample; the number of values, to the last bit, where weights are equal.

    Examples
    --------
    >>> effective_sizes(np.array([0.25, 0.75, 0.5, 0.5]), np.array([0, 2, 4]))
    array([1.6, 2. ])
    """
    sizes = np.diff(offsets).astype(np.float64)
    unequal = have_unequal(weights, offsets)
    with np.errstate(divide="ignore", invalid="ignore"):
        kish = _over_rows(np.add, weights, offsets) ** 2 / _over_rows(np.add, weights**2, offsets)
    return np.where(unequal, kish, sizes)


def effective_size(weights: Array | None, count: int) -> float:
    """Give the effective size of one sample of `count` values.

    Examples
    --------
    >>> effective_size(np.array([0.25, 0.75]), 2), effective_size(None, 2)
    (1.6, 2.0)
    """
    return float(count) if weights is None else float(effective_sizes(weights, np.array([0, count]))[0])


def evened_among_ties(values: Array, weights: Array, offsets: Index) -> Array:
    """Give values that are equal, and so cannot be told apart, equal parts of their common weight.

    Examples
    --------
    >>> evened_among_ties(np.array([1.0, 2.0, 2.0]), np.array([0.5, 0.1, 0.4]), np.array([0, 3]))
    array([0.5 , 0.25, 0.25])
    """
    begins = np.append(values[1:] != values[:-1], True)
    begins[offsets[(offsets > 0) & (offsets < values.size)] - 1] = True
    edges = np.concatenate([[0], np.flatnonzero(begins) + 1])
    if edges.size == values.size + 1:
        return weights
    counts = np.diff(edges)
    return np.repeat(_over_rows(np.add, weights, edges) / counts, counts)


def _over_rows(ufunc: np.ufunc, flat: Array, offsets: Index) -> Array:
    """The ufunc reduced over each sample; 0 where there are no values."""
    out, used = np.zeros(offsets.size - 1), np.diff(offsets) > 0
    # reduceat takes a start without values for one with the next value, so empty samples are left out.
    out[used] = ufunc.reduceat(flat, offsets[:-1][used]) if used.any() else 0.0
    return out
