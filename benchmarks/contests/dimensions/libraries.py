"""Peers from other Python libraries: scikit-learn, statsmodels, GetDist and pyvinecopulib."""

import logging
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from amortized_kde._types import Array
from contests.dimensions.kernels import Kernels
from contests.dimensions.scoring import LogDensity
from contests.dimensions.truths import Limits, NormalMixture
from contests.mixtures import MOST_COMPONENTS, VARIANCE_FLOOR

COVARIANCES = ("full", "tied", "diag", "spherical")
# A covariance type is given up when BIC has not improved for this many numbers of components.
_PATIENCE = 2
# Copula values are kept this far from 0 and 1, as pyvinecopulib does itself.
_EDGE = 1e-10


def bic_mixture(sample: Array) -> NormalMixture:
    """Return scikit-learn's mixture with the lowest BIC over numbers of components and four types of covariance.

    Columns are standardised; 1 to 9 components as in mclust, with d + 1 rows for each at least. A component's variance
    is increased by a thousandth of the columns', as in one dimension: with less, a few neighbours become a component.
    """
    n, d = sample.shape
    location, scale = np.mean(sample, axis=0), np.std(sample, axis=0)
    if (scale == 0.0).any():
        raise ValueError("a column is constant")
    z = (sample - location) / scale
    most = max(1, min(MOST_COMPONENTS, n // (d + 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = min((fit for kind in COVARIANCES for fit in _mixtures(z, kind, most)), key=lambda fit: fit[0])[1]
    covariances = _full_covariances(model, d)
    return NormalMixture(
        np.asarray(model.weights_ / np.sum(model.weights_)),
        location + scale * model.means_,
        covariances * np.outer(scale, scale),
    )


def _mixtures(z: Array, kind: str, most: int) -> list[tuple[float, Any]]:
    """Fits with 1, 2, … components and their BIC, until it has not improved twice in a row."""
    from sklearn.mixture import GaussianMixture

    fits: list[tuple[float, Any]] = []
    for k in range(1, most + 1):
        model = GaussianMixture(k, covariance_type=kind, reg_covar=VARIANCE_FLOOR, max_iter=300, random_state=0).fit(z)
        fits.append((float(model.bic(z)), model))
        best = int(np.argmin([bic for bic, _ in fits]))
        if k - 1 - best >= _PATIENCE:
            break
    return fits


def _full_covariances(model: Any, d: int) -> Array:
    """Covariances (k, d, d) of any type."""
    k, found = model.n_components, model.covariances_
    shapes: dict[str, Callable[[], Array]] = {
        "full": lambda: found,
        "tied": lambda: np.repeat(found[None], k, axis=0),
        "diag": lambda: found[:, :, None] * np.eye(d),
        "spherical": lambda: found[:, None, None] * np.eye(d),
    }
    return shapes[model.covariance_type]()


def normal_reference(sample: Array) -> Kernels:
    """KDEMultivariate of statsmodels with its default bandwidths, by the normal reference rule; the sum is ours."""
    n, d = sample.shape
    module = import_module("statsmodels.nonparametric.kernel_density")
    bandwidths = module.KDEMultivariate(sample, var_type="c" * d, bw="normal_reference").bw
    return Kernels(sample, np.diag(bandwidths), np.ones(n))


def getdist_density(sample: Array, bounds: Limits | None = None) -> LogDensity:
    """Return GetDist's estimate in two dimensions with its defaults, for independent rows and hard limits.

    Defaults are a plug-in bandwidth, a linear boundary correction and one multiplicative bias correction. The density
    is interpolated on a grid, normalised there, and zero outside.
    """
    d = sample.shape[1]
    if d != 2:
        raise ValueError(f"GetDist has densities of two columns, not of {d}")
    # It warns, by the root logger, whenever it uses its fallback width.
    logging.getLogger().setLevel(logging.ERROR)
    names = ["a", "b"]
    ranges = {} if bounds is None else {name: list(pair) for name, pair in zip(names, bounds, strict=True)}
    samples = import_module("getdist").MCSamples(
        samples=sample, names=names, ranges=ranges, sampler="uncorrelated", settings={"ignore_rows": 0}
    )
    found = samples.get2DDensityGridData(0, 1, num_plot_contours=0)
    x, y, grid = np.asarray(found.x), np.asarray(found.y), np.maximum(found.P, 0.0)
    mass = np.trapezoid(np.trapezoid(grid, x, axis=1), y)
    spline = import_module("scipy.interpolate").RegularGridInterpolator(
        (x, y), grid.T / mass, bounds_error=False, fill_value=0.0
    )

    def log_density(points: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(spline(points)))

    return log_density


def _vine(families: str, sample: Array, bounds: Limits | None) -> LogDensity:
    """Margins by kde1d, and a vine copula of them with some families of pair copulas."""
    library, core = import_module("pyvinecopulib"), import_module("pyvinecopulib.core")
    ends = bounds or ((None, None),) * sample.shape[1]
    margins = [
        core.Kde1d(xmin=low, xmax=high).fit(np.ascontiguousarray(column))
        for (low, high), column in zip(ends, sample.T, strict=True)
    ]

    def at(x: Array, name: str) -> Array:
        columns = [getattr(m, name)(np.ascontiguousarray(c)) for m, c in zip(margins, x.T, strict=True)]
        return np.stack(columns, axis=1)

    def ranks(x: Array) -> Array:
        return np.asfortranarray(np.clip(at(x, "cdf"), _EDGE, 1.0 - _EDGE))

    controls = library.FitControlsVinecop(family_set=getattr(library.families, families))
    copula = library.Vinecop.from_data(ranks(sample), controls=controls)

    def log_density(x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.sum(np.log(at(x, "pdf")), axis=1) + np.log(copula.pdf(ranks(x))))

    return log_density


def kernel_vine(sample: Array, bounds: Limits | None = None) -> LogDensity:
    """Return a vine of kernel copulas (transformed local likelihood) with kde1d margins, from pyvinecopulib."""
    return _vine("nonparametric", sample, bounds)


def any_vine(sample: Array, bounds: Limits | None = None) -> LogDensity:
    """Return pyvinecopulib's default, every family of pair copulas by AIC, with kde1d margins."""
    return _vine("all", sample, bounds)
