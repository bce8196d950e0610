"""The public `fit` and `bandwidth`: read the sample, select, build the density."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Flags
from amortized_kde.data.multivariate import MultivariateSample, check_in_box, has_columns, read_box, read_multivariate
from amortized_kde.data.reading import Nan, check_nan, read_bounds, read_sample, read_samples
from amortized_kde.data.sample import Sample, Samples
from amortized_kde.data.support import OPEN, Bounds, check_inside, working_domain
from amortized_kde.density import KernelDensity
from amortized_kde.density.background import Background
from amortized_kde.density.kernels import BINNED_FROM
from amortized_kde.density.multivariate import MultivariateDensity
from amortized_kde.errors import (
    BadRowsWarning,
    DegenerateSampleError,
    FallbackWarning,
    InvalidParameterError,
    UnlikeTrainingWarning,
    warn_caller,
)
from amortized_kde.numerics.floats import quiet
from amortized_kde.numerics.workload import one_sample
from amortized_kde.selection import (
    FAILURES,
    FALLBACKS,
    SELECTORS,
    UNLIKE_TRAINING,
    Selection,
    Selector,
    Smoothing,
    find_selector,
    ladder_at_anchors,
    ladder_of_one,
    smooth,
    ways_unlike,
)
from amortized_kde.selection.multivariate import METHODS, find_method

DEFAULT_METHOD = "amortized"


@quiet
def bandwidth(
    x: ArrayLike | Sequence[ArrayLike],
    *,
    method: str = DEFAULT_METHOD,
    bounds: Sequence[float | None] | None = None,
    axis: int | None = None,
    weights: ArrayLike | Sequence[ArrayLike] | None = None,
    reference: ArrayLike | None = None,
    nan: Nan = "raise",
    threads: int | None = None,
) -> Any:
    """Select one bandwidth: the standard deviation of the Gaussian kernel, in data units.

    By default this is not ``fit(x).bandwidth``. Here the default, ``amortized``, stands for ``amortized:single``, the
    best single bandwidth for the whole sample. In `fit` it stands for ``amortized:adaptive``, where every point has
    bandwidths of its own, and the attribute is their average; in another library's estimator it would smooth too
    little. All other methods give one bandwidth, the same here and in `fit`.

    Parameters
    ----------
    x : array_like
        One sample of shape (n,), or many of them with `axis`.
    method : str
        One of `selectors()`, or R's ``"SJ"``, ``"nrd0"`` or ``"nrd"``.
    bounds : (float or None, float or None), optional
        Hard limits of the variable. The sample must lie inside; of the classical selectors only ``lcv`` uses them
        otherwise.
    axis : int, optional
        The axis along which each sample lies, as in `numpy.std`; NaN is then a missing value. For a list of sequences
        of unequal length, pass ``axis=-1``.
    weights : array_like, optional
        Importance weights, in the shape of `x`; with `axis`, also of length ``x.shape[axis]``, for all samples. Only
        their ratios matter; values of weight zero are dropped, and n is Kish's effective size, (sum w)^2 / sum w^2.
    reference : array_like, optional
        Historical data that set the working domain on the open sides.
    nan : {"raise", "omit"}
        What to do with missing values in one sample.
    threads : int, optional
        At most this many threads; default: all cores.

    Returns
    -------
    float, or ndarray of the shape of `x` without `axis`

    Raises
    ------
    InvalidSampleError, InvalidBoundsError, InvalidParameterError
        If the input cannot be used.
    DegenerateSampleError
        If a single sample has no scale: one value, or all values equal.

    Warns
    -----
    FallbackWarning
        If the selector used its documented fallback (for example where the interquartile range is 0).
    BadRowsWarning
        With `axis`, if some samples have no bandwidth; theirs is NaN.
    UnlikeTrainingWarning
        If a sample is unlike the training data of a learned method.

    Examples
    --------
    >>> round(bandwidth([1, 2, 4, 7], method="silverman"), 4)
    1.527
    >>> bandwidth([[1, 2, 4, 7], [10, 20, 40, 70]], method="silverman", axis=-1).round(4)
    array([ 1.527 , 15.2703])
    >>> round(bandwidth([1, 2, 4, 7], weights=[3, 3, 1, 1], method="silverman"), 4)
    0.6121
    """
    check_nan(nan)
    selector, limits = find_selector(method, "bandwidth"), read_bounds(bounds)
    refuse_calibrated(selector)
    frame = _frame(limits, _read_reference(reference))
    if axis is None:
        sample = read_sample(x, weights=weights, nan=nan)  # type: ignore[arg-type]
        return _one_bandwidth(sample, limits, frame, selector, threads)
    samples = read_samples(x, axis=axis, weights=weights, ascending=selector.ascending)
    outside = samples.outside(limits)
    selection = selector.select(samples, limits, frame, threads=threads)
    selection.bandwidths[outside] = math.nan
    warn_of_rows(samples, outside, selection, selector.name)
    return float(selection.bandwidths[0]) if samples.shape == () else selection.bandwidths.reshape(samples.shape)


@quiet
def fit(
    x: Any,
    *,
    bounds: Any = None,
    method: str | None = None,
    bandwidth: float | None = None,
    weights: ArrayLike | None = None,
    reference: ArrayLike | None = None,
    truncate: bool = False,
    nan: Nan = "raise",
    threads: int | None = None,
) -> Any:
    """Estimate the density of one sample, of one variable or of two to eight.

    Parameters
    ----------
    x : array_like of shape (n,) or (n, d), table, or sequence of d columns
        The sample. With two axes it is one sample of d variables, observations in rows; a table keeps the names of its
        columns. For many samples of one variable call the function `bandwidth` with ``axis=``.
    bounds : (float or None, float or None), optional
        Hard limits; the density is truncated to them and renormalised (paper, eq. 8). For d variables a list of d such
        pairs, or a dict from names of columns to pairs.
    method : str, optional
        One of `selectors()`, or R's ``"SJ"``, ``"nrd0"`` or ``"nrd"``; default: ``"amortized"``, which stands for
        ``"amortized:adaptive"``. For d variables one of ``selectors(multivariate=True)``.
    bandwidth : float, optional
        A bandwidth of your own, the kernel's standard deviation in data units, instead of a method; for one variable.
    weights : array_like of shape (n,), optional
        Importance weights, as in the function `bandwidth`; each point contributes in proportion to its weight.
    reference : array_like, optional
        Historical data that set the working domain on the open sides; for one variable.
    truncate : bool
        Truncate the density at the working domain on the open sides too, as the paper does; for one variable.
    nan : {"raise", "omit"}
        What to do with missing values.
    threads : int, optional
        At most this many threads; default: all cores.

    Returns
    -------
    KernelDensity, or MultivariateDensity for several variables

    Raises
    ------
    AmortizedKdeError
        As the function `bandwidth`, and if both a method and a bandwidth are given.

    Examples
    --------
    >>> d = fit([0.1, 0.2, 0.2, 0.5, 0.9], bounds=(0, 1), method="silverman")
    >>> d
    KernelDensity(n=5, bandwidth=0.146038, bounds=(0.0, 1.0), method='silverman')
    >>> fit([0.1, 0.2, 0.2, 0.5, 0.9], bandwidth=0.1)
    KernelDensity(n=5, bandwidth=0.1, bounds=(None, None), method='given')
    >>> fit({"x": [1, 2, 4, 7], "y": [3, 1, 2, 2]}, method="scott", bounds={"y": (0, None)})
    MultivariateDensity(n=4, names=('x', 'y'), bounds=((None, None), (0.0, None)), method='scott')
    """
    if has_columns(x):
        if bandwidth is not None or reference is not None or truncate:
            raise InvalidParameterError(
                "bandwidth, reference and truncate are for samples of one variable; leave them out."
            )
        return _multivariate_density(read_multivariate(x, weights=weights, nan=nan), bounds, method, threads)
    if method is not None and bandwidth is not None:
        raise InvalidParameterError("give either method or bandwidth, not both.")
    selector, limits = find_selector(DEFAULT_METHOD if method is None else method, "density"), read_bounds(bounds)
    refuse_calibrated(selector)
    sample = read_sample(x, weights=weights, nan=nan)
    history = _read_reference(reference)
    check_inside(sample.values, limits)
    domain = None
    # A constant sample has no domain of its own; methods fail below with a clearer message than that.
    if truncate or sample.values[0] < sample.values[-1]:
        domain = working_domain(sample.values, limits, size=sample.effective_size, reference=history)
    ends = domain if truncate and domain is not None else limits
    if bandwidth is not None:
        return KernelDensity.from_sample(sample, bandwidth, ends, domain=domain)
    if selector.adaptive is not None:
        return _adaptive_density(sample, ends, selector, domain, threads)
    h = _one_bandwidth(sample, limits, _frame(limits, history), selector, threads)
    return KernelDensity.from_sample(sample, h, ends, domain=domain, method=selector.name)


def _adaptive_density(
    sample: Sample, bounds: Bounds, selector: Selector, domain: Bounds | None, threads: int | None
) -> KernelDensity:
    assert selector.adaptive is not None
    model, batch = selector.adaptive(), sample.as_batch()
    with one_sample(sample.values.size):
        smoothing = smooth(model, batch, np.array([bounds.lower]), np.array([bounds.upper]), threads=threads)
    _raise_or_warn(smoothing, sample, selector)
    anchors = None
    if sample.values.size < BINNED_FROM or batch.weights is not None:
        rungs, shares = ladder_of_one(smoothing, sample)
    else:
        rungs, shares, anchors = ladder_at_anchors(smoothing, sample.values.size)
    rungs, shares = _distinct(rungs, shares)
    background = Background(bounds.lower, bounds.upper, float(smoothing.locations[0]), float(smoothing.scales[0]))
    return KernelDensity.from_ladder(
        sample,
        rungs,
        shares,
        bounds=bounds,
        epsilon=float(smoothing.epsilons[0]),
        background=background,
        domain=domain,
        method=selector.name,
        anchors=anchors,
    )


def _distinct(rungs: Array, shares: Array) -> tuple[Array, Array]:
    """Rungs that are equal after rounding to subnormal numbers, joined."""
    positive, first = np.unique(rungs, return_index=True)
    return (rungs, shares) if positive.size == rungs.size else (positive, np.add.reduceat(shares, first, axis=0))


def _multivariate_density(
    sample: MultivariateSample, bounds: Any, method: str | None, threads: int | None
) -> MultivariateDensity:
    chosen, box = find_method(method), read_box(bounds, sample.names)
    check_in_box(sample.values, box, sample.names)
    margins = None
    if chosen.needs_margins or any(limits != OPEN for limits in box):
        selector = find_selector(DEFAULT_METHOD, "density")
        margins = tuple(
            _adaptive_density(sample.column(axis), limits, selector, None, threads) for axis, limits in enumerate(box)
        )
    parts = chosen.estimate(sample, margins, threads)
    return MultivariateDensity(parts, sample.values, sample.every_weight, sample.names, box, chosen.name)


def selectors(*, multivariate: bool = False) -> tuple[str, ...]:
    """Return the names that ``method=`` accepts, for one variable or for several.

    Examples
    --------
    >>> "silverman" in selectors()
    True
    >>> "abramson" in selectors(multivariate=True)
    True
    """
    return tuple(METHODS if multivariate else SELECTORS)


def _read_reference(reference: ArrayLike | None) -> Array | None:
    return None if reference is None else read_sample(reference, what="reference").values


def _frame(bounds: Bounds, reference: Array | None) -> Bounds:
    """Return the ends of the working domain that do not depend on the sample; infinite where it sets them."""
    return bounds if reference is None else working_domain(reference, bounds)


def _one_bandwidth(sample: Sample, bounds: Bounds, frame: Bounds, selector: Selector, threads: int | None) -> float:
    check_inside(sample.values, bounds)
    with one_sample(sample.values.size):
        selection = selector.select(sample.as_batch(), bounds, frame, threads=threads)
    _raise_or_warn(selection, sample, selector)
    return float(selection.bandwidths[0])


def _raise_or_warn(result: Selection | Smoothing, sample: Sample, selector: Selector) -> None:
    """Raise or warn as the code of one sample's result requires."""
    method, code = selector.name, int(result.codes[0])
    if code in FAILURES:
        raise DegenerateSampleError(
            f"method {method!r} has no answer for this sample of {sample.values.size}: {FAILURES[code]}; "
            "pass your own bandwidth as bandwidth= (on the command line: --bandwidth)."
        )
    if not np.all(result.bandwidths > 0.0) or not np.all(np.isfinite(result.bandwidths)):
        raise InvalidParameterError(
            f"method {method!r} has no finite bandwidth for this sample; use another method, or check the files of its "
            "model."
        )
    if code in FALLBACKS:
        warn_caller(f"{method}: {FALLBACKS[code]}.", FallbackWarning)
    if code == UNLIKE_TRAINING and result.unlike is not None:
        ways = " and ".join(ways_unlike(result.unlike[0]))
        warn_caller(
            f"{method}: this sample is unlike the model's training data ({ways}); "
            "compare the result with other methods.",
            UnlikeTrainingWarning,
        )


def refuse_calibrated(selector: Selector) -> None:
    """Raise `InvalidParameterError` if the selector's model calibrates forecasts, which a sample alone is not."""
    load = getattr(selector.select, "load", None)
    if load is not None and "calibration" in load().card:
        raise InvalidParameterError(
            f"{selector.name!r} calibrates forecasts before it estimates their densities; use the functions of "
            "amortized_kde.ensembles, or train with --no-calibration."
        )


def warn_of_rows(samples: Samples, outside: Flags, selection: Selection, method: str) -> None:
    """Warn of samples without a bandwidth, of fallbacks and of samples unlike the training data, with their counts."""
    empty = (samples.sizes == 0) & ~samples.unusable
    fine = ~(empty | samples.unusable | outside)
    reasons = {
        "infinite value": samples.unusable,
        "empty or all missing": empty,
        "outside the bounds": outside,
        **{sentence: fine & (selection.codes == code) for code, sentence in FAILURES.items()},
    }
    counts = {reason: int(np.sum(rows)) for reason, rows in reasons.items() if np.any(rows)}
    if counts:
        listing = "; ".join(f"{count} × {reason}" for reason, count in counts.items())
        warn_caller(
            f"{sum(counts.values())} of {len(samples)} samples have no answer (NaN): {listing}.", BadRowsWarning
        )
    for code, sentence in FALLBACKS.items():
        count = int(np.sum(fine & (selection.codes == code)))
        if count:
            warn_caller(f"{method}, {count} of {len(samples)} samples: {sentence}.", FallbackWarning)
    count = int(np.sum(fine & (selection.codes == UNLIKE_TRAINING)))
    if count:
        warn_caller(
            f"{method}: {count} of {len(samples)} samples are unlike the model's training data.",
            UnlikeTrainingWarning,
        )
