"""Many densities at once: arrays of samples, bandwidths and arguments enter, an array of log-densities leaves."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.data.reading import read_bounds, read_numbers, read_samples
from amortized_kde.data.sample import Samples
from amortized_kde.data.support import Bounds
from amortized_kde.density.sums import truncated_sum
from amortized_kde.errors import InvalidSampleError
from amortized_kde.numerics import mixture
from amortized_kde.numerics.threads import run_in_pieces


def log_densities(
    x: ArrayLike,
    bandwidths: ArrayLike,
    y: ArrayLike,
    *,
    bounds: Sequence[float | None] | None = None,
    weights: ArrayLike | None = None,
    threads: int | None = None,
) -> Array:
    """Natural log-densities of many samples at once, each with its own bandwidth and arguments.

    Parameters
    ----------
    x : array_like of shape (..., n)
        One sample along the last axis; NaN is a missing value.
    bandwidths : array_like of shape (...)
        Data units. A row whose bandwidth is NaN, or whose sample is empty or leaves the bounds, gives NaN.
    y : array_like of shape (..., m) or (m,)
        Arguments of each density.
    bounds : (float or None, float or None), optional
        Hard limits of all of them.
    weights : array_like of shape (..., n) or (n,), optional
        Importance weights of the values, or of those of all samples; only their ratios matter.
    threads : int, optional
        At most so many threads; by default all cores.

    Returns
    -------
    ndarray of shape (..., m)

    Examples
    --------
    >>> log_densities([[0.0, 1.0], [5.0, 5.5]], [0.5, 0.1], [[0.5], [5.0]]).round(4)
    array([[-0.7258], [ 0.6905]])
    """
    samples = read_samples(x, axis=-1, weights=weights)
    h = read_numbers(bandwidths, "bandwidths")
    if h.shape != samples.shape:
        raise InvalidSampleError(f"bandwidths have shape {h.shape}, but there are samples of shape {samples.shape}.")
    at = read_numbers(y, "y")
    if at.ndim == 0 or (at.ndim > 1 and at.shape[:-1] != samples.shape):
        raise InvalidSampleError(f"y has shape {at.shape}; its leading axes must be {samples.shape}, as those of x.")
    shape = (*samples.shape, at.shape[-1])
    at = np.ascontiguousarray(np.broadcast_to(at, shape)).reshape(len(samples), shape[-1])
    limits = read_bounds(bounds)
    out = np.empty(at.shape)
    run_in_pieces(
        lambda i, j: mixture.log_density_rows(
            samples.values, samples.offsets, samples.weights, h.ravel(), limits.lower, limits.upper, at, out, i, j
        ),
        len(samples),
        operations=float(samples.values.size) * at.shape[1],
        threads=threads,
    )
    if samples.weights is not None:
        _fill_in(samples, h.ravel(), limits, at, out)
    return out.reshape(shape)


def _fill_in(samples: Samples, bandwidths: Array, bounds: Bounds, at: Array, out: Array) -> None:
    """Sum again, all terms, where weights over hundreds of decades left a sum too small."""
    assert samples.weights is not None
    for row in np.flatnonzero((np.isnan(out) & ~np.isnan(at)).any(axis=-1) & (bandwidths > 0.0) & (samples.sizes > 0)):
        own = slice(samples.offsets[row], samples.offsets[row + 1])
        points = samples.values[own]
        if points[0] >= bounds.lower and points[-1] <= bounds.upper:
            density = truncated_sum(points, samples.weights[own], float(bandwidths[row]), *bounds)
            density.log_density(at[row], out[row], 0, out.shape[1])
