"""Densities, probabilities and quantiles of forecasts."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.data.reading import read_bounds, read_numbers, read_samples
from amortized_kde.data.sample import Samples
from amortized_kde.data.support import Bounds
from amortized_kde.density.kernel_sum import KernelSum
from amortized_kde.density.kernels import SingleBandwidth
from amortized_kde.ensembles import answers
from amortized_kde.ensembles.options import Members, Options
from amortized_kde.errors import InvalidSampleError
from amortized_kde.numerics import mixture
from amortized_kde.numerics.threads import run_in_pieces


def densities(
    x: Members,
    at: ArrayLike,
    *,
    bounds: Sequence[float | None] | None = None,
    method: str | None = None,
    bandwidth: ArrayLike | None = None,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    covariates: Mapping[str, ArrayLike] | None = None,
    threads: int | None = None,
) -> Array:
    """Return densities of many ensembles, each at its own arguments or all at the same.

    With atoms, this is the density away from them, which integrates to 1 minus their probability. Other parameters as
    in `log_scores`.

    Parameters
    ----------
    at : float, array_like of shape (m,) or (..., m)
        Where to evaluate, in data units.

    Returns
    -------
    ndarray of shape (..., m), or (...) for a single argument

    Examples
    --------
    >>> densities([[1.0, 2.0, 4.0], [3.0, 5.0, np.nan]], [2.0, 3.0], bandwidth=1.0).round(4)
    array([[0.2316, 0.1793],
           [0.1232, 0.2265]])
    """
    return answers.densities(
        x, at, options=Options.read(bounds, method, bandwidth, atoms, climatology, threads, covariates)
    )


def probabilities(
    x: Members,
    thresholds: ArrayLike,
    *,
    above: bool = False,
    bounds: Sequence[float | None] | None = None,
    method: str | None = None,
    bandwidth: ArrayLike | None = None,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    covariates: Mapping[str, ArrayLike] | None = None,
    threads: int | None = None,
) -> Array:
    """Return probabilities of values up to thresholds, or of values above them.

    Both have a small relative error, however small they are. The probability up to an atom includes it.
    Other parameters as in `log_scores`.

    Parameters
    ----------
    thresholds : float, array_like of shape (m,) or (..., m)
        In data units, the same for all ensembles or different ones for each.
    above : bool
        Return the probability of exceeding the thresholds instead.

    Returns
    -------
    ndarray of shape (..., m), or (...) for a single threshold

    Examples
    --------
    >>> probabilities([[1.0, 3.0], [2.0, 8.0]], [2.0, 9.0], bandwidth=1.0).round(4)
    array([[0.5   , 1.    ], [0.25  , 0.9207]])
    >>> probabilities([[0.0, 0.0, 0.0, 2.0]], 0.0, above=True, bounds=(0, None), bandwidth=1.0, atoms=(0,))
    array([0.3])
    """
    options = Options.read(bounds, method, bandwidth, atoms, climatology, threads, covariates)
    return answers.probabilities(x, thresholds, options=options, above=above)


def quantiles(
    x: Members,
    p: ArrayLike,
    *,
    bounds: Sequence[float | None] | None = None,
    method: str | None = None,
    bandwidth: ArrayLike | None = None,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    covariates: Mapping[str, ArrayLike] | None = None,
    threads: int | None = None,
) -> Array:
    """Return quantiles of many ensembles' densities.

    An atom is the quantile of all probabilities over which it makes the distribution function jump. Other parameters as
    in `log_scores`.

    Parameters
    ----------
    p : float, array_like of shape (m,) or (..., m)
        Probabilities in [0, 1].

    Returns
    -------
    ndarray of shape (..., m), or (...) for a single probability, in data units

    Raises
    ------
    InvalidParameterError
        If a probability is outside [0, 1] or NaN; and as `log_scores`.

    Examples
    --------
    >>> quantiles([[1.0, 3.0], [2.0, 8.0]], [0.25, 0.5], bandwidth=1.0).round(4)
    array([[0.9495, 2.    ],
           [2.    , 5.    ]])
    """
    return answers.quantiles(
        x, p, options=Options.read(bounds, method, bandwidth, atoms, climatology, threads, covariates)
    )


def atom_probabilities(
    x: Members,
    atoms: Sequence[float],
    *,
    bounds: Sequence[float | None] | None = None,
    method: str | None = None,
    covariates: Mapping[str, ArrayLike] | None = None,
) -> Array:
    r"""Return probabilities of atoms, values that many members share exactly, such as no rain.

    Parameters as in `log_scores`.

    Returns
    -------
    ndarray of shape (..., a)
        One probability per atom, in ascending order of the atoms; NaN for an ensemble without members, or with one that
        is infinite or outside the bounds.

    Notes
    -----
    With m of n members at an atom, and a atoms,

    .. math:: P(\text{atom}) = \frac{m + 1/2}{n + (a + 1)/2},

    which is (m + 1/2)/(n + 1) for a single atom. This is the posterior mean under Jeffreys' prior, in coding known as
    the Krichevsky-Trofimov estimate. Its excess logarithmic score over the best fixed probability in hindsight has, up
    to a constant, the least upper bound. It is never 0, so that no outcome scores infinity only because no member was
    there. A model that was trained on an archive (`method`) has a probability that was learned there.

    Examples
    --------
    >>> atom_probabilities([[0.0, 0.0, 0.0, 2.0], [1.0, 2.0, np.nan, np.nan]], (0,))
    array([[0.7       ], [0.16666667]])
    """
    return answers.atom_probabilities(x, options=Options.read(bounds, method, atoms=atoms, covariates=covariates))


def log_densities(
    x: ArrayLike,
    bandwidths: ArrayLike,
    y: ArrayLike,
    *,
    bounds: Sequence[float | None] | None = None,
    weights: ArrayLike | None = None,
    threads: int | None = None,
) -> Array:
    """Return natural log-densities of many samples, each with its own bandwidth and arguments, perhaps weighted.

    `bounds`, `threads` and errors as in `log_scores`.

    Parameters
    ----------
    x : array_like of shape (..., n)
        One sample along the last axis; NaN is a missing value.
    bandwidths : array_like of shape (...)
        In data units. A sample with the bandwidth NaN, without values, or with values outside the bounds gives NaN.
    y : array_like of shape (..., m) or (m,)
        Arguments of each density.
    weights : array_like of shape (..., n) or (n,), optional
        Importance weights of each sample, or the same for all; only their ratios matter.

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
        raise InvalidSampleError(f"bandwidths have shape {h.shape}, but the samples have shape {samples.shape}.")
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
    """Sum all terms again where weights over hundreds of decades left a sum too small."""
    assert samples.weights is not None
    for row in np.flatnonzero((np.isnan(out) & ~np.isnan(at)).any(axis=-1) & (bandwidths > 0.0) & (samples.sizes > 0)):
        here = slice(samples.offsets[row], samples.offsets[row + 1])
        points = samples.values[here]
        if points[0] >= bounds.lower and points[-1] <= bounds.upper:
            kernels = SingleBandwidth(points, samples.weights[here], float(bandwidths[row]), bounds)
            out[row] = KernelSum(kernels).log_density(at[row])
