"""The density estimators of the contests: selectors of this package, other Python libraries, and R.

All get the same bounds; an estimator that takes none is truncated to them and renormalised. Estimators in R fit a whole
batch of samples in one process (`ask_r`). ``logspline`` is from the R package of that name, after Kooperberg and Stone.
``ssden`` is Gu's smoothing spline, from the package ``gss``, which needs a finite domain: on an open side ``ssden``
extends it past the sample by a twentieth of the range, its own default, and ``ssden, wide`` by the whole range. Between
two known bounds they are the same. Where ssden does not converge, logspline replaces it and the failure is counted.
``kde1d`` is Nagler's local-likelihood estimator, from pyvinecopulib: log-quadratic, its default, on a transformed scale
between known bounds. Its density is zero far from the data, and at the bounds.
"""

import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.support import Bounds
from amortized_kde.density import KernelDensity
from amortized_kde.errors import DegenerateSampleError, MissingExtraError
from amortized_kde.estimate import fit
from amortized_kde.selection import SELECTORS
from contests.mixtures import Mixture, bic_mixture, dirichlet_mixture, standardised

LogDensity = Callable[[Array], Array]
Fit = Callable[[Array, Bounds], LogDensity]

UNDER_TEST = "amortized"
_LEARNED_PREFIXES = ("amortized", "adaptive")
CLASSICAL = tuple(name for name in SELECTORS if not name.startswith(_LEARNED_PREFIXES))
SCIPY = "scipy gaussian_kde"
DIRICHLET = "Gaussian mixture (Dirichlet process)"
BIC = "Gaussian mixture (BIC)"
KDE1D = "kde1d"
# Replaces a method where that has no answer.
FALL_BACK = "silverman"
R_RIVALS = ("logspline", "ssden", "ssden, wide")
_R_SCRIPT = Path(__file__).with_name("rivals.R")
_R_PACKAGES = "stopifnot(requireNamespace('logspline', quietly = TRUE), requireNamespace('gss', quietly = TRUE))"


def fit_density(method: str, sample: Array, bounds: Bounds) -> LogDensity:
    """Fit a rival, or any method of this package, to one sample.

    Parameters
    ----------
    method : str
        A name from `RIVALS`, or one that `fit` takes.
    sample : array of shape (n,)
    bounds : Bounds
        Hard limits, infinite where open.

    Returns
    -------
    callable
        Natural log-density at an array of points inside the bounds.

    Raises
    ------
    AmortizedKdeError
        If one of our methods has no answer.

    Examples
    --------
    >>> log_density = fit_density(SCIPY, np.array([0.1, 0.4, 0.5]), Bounds(0.0, 1.0))
    >>> x = (np.arange(1000) + 0.5) / 1000
    >>> round(float(np.exp(log_density(x)).mean()), 6)
    1.0
    """
    return RIVALS.get(method, _method(method))(sample, bounds)


def fit_or_fall_back(method: str, sample: Array, bounds: Bounds, failures: Counter[str]) -> LogDensity:
    """Fit a method; where it has no answer, count its message and return Silverman's density.

    Other errors, such as an unknown name or a missing model, are raised.
    """
    try:
        return fit_density(method, sample, bounds)
    except _NO_ANSWER.get(method, DegenerateSampleError) as error:
        failures[str(error)] += 1
        return fit_density(FALL_BACK, sample, bounds)


def _method(method: str) -> Fit:
    def density(sample: Array, bounds: Bounds) -> LogDensity:
        found = fit(sample, bounds=bounds, method=method, threads=1)
        return lambda y: np.asarray(found.logpdf(y, threads=1))

    return density


def _scipy(sample: Array, bounds: Bounds) -> LogDensity:
    """SciPy's estimator with its default, Scott's factor; our loops sum the kernels, since they are faster."""
    found = import_module("scipy.stats").gaussian_kde(sample)
    return _kernel(sample, float(np.sqrt(found.covariance[0, 0])), bounds)


def _arviz_bandwidth(sample: Array, bounds: Bounds) -> LogDensity:
    """The improved Sheather-Jones bandwidth of arviz-stats in an exact kernel estimate, truncated to the bounds."""
    return _kernel(sample, float(import_module("arviz_stats.base").array_stats.get_bw(sample, "isj")), bounds)


def _kernel(sample: Array, h: float, bounds: Bounds) -> LogDensity:
    found = KernelDensity(sample, bandwidth=h, bounds=bounds)
    return lambda y: np.asarray(found.logpdf(y, threads=1))


def _arviz_grid(sample: Array, bounds: Bounds) -> LogDensity:
    """The density of arviz-stats as returned: 512 bins between the bounds, or the extremes on an open side.

    It is interpolated between the middles of bins, and zero outside.
    """
    limits = [float(end) if np.isfinite(end) else None for end in bounds]
    array_stats = import_module("arviz_stats.base").array_stats
    grid, density, _ = array_stats.kde(sample, bw="isj", custom_lims=limits)
    half = 0.5 * (grid[1] - grid[0])

    def log_density(y: Array) -> Array:
        with np.errstate(divide="ignore"):
            inside = np.log(np.interp(y, grid, density))
        return np.where((y >= grid[0] - half) & (y <= grid[-1] + half), inside, -np.inf)

    return log_density


def _of_mixture(fit_mixture: Callable[[Array], Mixture]) -> Fit:
    """A mixture, truncated to the bounds."""

    def density(sample: Array, bounds: Bounds) -> LogDensity:
        found = standardised(fit_mixture, sample)
        log_mass = float(np.log(found.mass(bounds)))
        return lambda y: found.log_density(y) - log_mass

    return density


def _kde1d(sample: Array, bounds: Bounds) -> LogDensity:
    """Between the bounds, on the whole line where they are open; the density is interpolated on the library's grid."""
    lower, upper = (float(end) if np.isfinite(end) else None for end in bounds)
    found = import_module("pyvinecopulib.core").Kde1d(xmin=lower, xmax=upper).fit(np.ascontiguousarray(sample))
    if not np.isfinite(found.values).all():
        raise ValueError("the density is not finite")
    return lambda y: np.asarray(found.logpdf(np.ascontiguousarray(y)))


RIVALS: dict[str, Fit] = {
    **{method: _method(method) for method in CLASSICAL},
    SCIPY: _scipy,
    "arviz-stats isj": _arviz_bandwidth,
    "arviz-stats kde": _arviz_grid,
    DIRICHLET: _of_mixture(dirichlet_mixture),
    BIC: _of_mixture(bic_mixture),
    KDE1D: _kde1d,
}

# What other libraries raise for a sample that they cannot handle.
_NO_ANSWER = {method: (ValueError, ArithmeticError, RuntimeError) for method in RIVALS if method not in CLASSICAL}


class RAnswers(NamedTuple):
    """Log-densities of each task at its points, NaN where no estimator answered, and failures by message."""

    log_densities: list[Array]
    failures: Counter[str]


def has_r() -> bool:
    """Return whether Rscript and both packages are installed."""
    rscript = shutil.which("Rscript")
    return rscript is not None and subprocess.run([rscript, "-e", _R_PACKAGES], capture_output=True).returncode == 0


def ask_r(rival: str, samples: Sequence[Array], bounds: Sequence[Bounds], points: Sequence[Array]) -> RAnswers:
    """Fit an R estimator to every sample with its bounds, and evaluate it at the points.

    Raises
    ------
    MissingExtraError
        If Rscript is missing or stops, for instance because a package is missing.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_tasks(folder, samples, bounds, points)
        try:
            done = subprocess.run(["Rscript", str(_R_SCRIPT), rival, name], capture_output=True, text=True)
        except OSError as error:
            raise MissingExtraError(f"{rival} needs R, with its packages logspline and gss ({error}).") from None
        if done.returncode != 0:
            raise MissingExtraError(f"{rival} in R stopped with code {done.returncode}: {done.stderr.strip()[-500:]}")
        flat = np.fromfile(folder / "answers.bin")
        failures = Counter((folder / "failures.txt").read_text().splitlines())
    return RAnswers(np.split(flat, np.cumsum([at.size for at in points])[:-1]), failures)


def _write_tasks(folder: Path, samples: Sequence[Array], bounds: Sequence[Bounds], points: Sequence[Array]) -> None:
    arrays = {
        "values": np.concatenate(samples),
        "points": np.concatenate(points),
        "sizes": [x.size for x in samples],
        "counts": [at.size for at in points],
        "limits": np.array(bounds),
    }
    for name, array in arrays.items():
        np.asarray(array, np.float64).tofile(folder / f"{name}.bin")
