"""Diagrams of calibration: reliability of probabilities, and ranks of observations among the members."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Index
from amortized_kde.data.reading import read_numbers
from amortized_kde.density.plotting import COLOURS, new_axes
from amortized_kde.ensembles.answers import check_seed
from amortized_kde.ensembles.forecasts import probabilities as exceedance
from amortized_kde.ensembles.options import Members, one_each
from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.numerics.streams import stream_words, uniforms_at

# The stream from which ranks are drawn.
_RANK_PURPOSE = 9


class Reliability(NamedTuple):
    """The data of reliability diagrams: one bin of forecast probabilities along the last axis.

    Attributes
    ----------
    forecast : ndarray of shape (..., bins)
        Mean forecast probability in each bin; NaN in an empty one.
    observed : ndarray of shape (..., bins)
        Relative frequency with which the event occurred; NaN in an empty bin.
    counts : ndarray of shape (..., bins)
        Numbers of forecasts.
    edges : ndarray of shape (bins + 1,)
        A bin includes its lower edge; the last one also its upper edge.
    """

    forecast: Array
    observed: Array
    counts: Index
    edges: Array

    def plot(self, ax: Any = None, *, labels: Sequence[str] = ()) -> Any:
        """Draw the diagram on matplotlib axes (default: new ones), and return these.

        There is one line for each diagram, named by `labels`. The area of a point is proportional to its count; a bar
        spans two standard errors of a frequency to either side.
        """
        ax = new_axes() if ax is None else ax
        ax.plot([0.0, 1.0], [0.0, 1.0], color="0.6", linewidth=0.8)
        rows = (np.reshape(part, (-1, self.edges.size - 1)) for part in self[:3])
        for k, (p, f, n) in enumerate(zip(*rows, strict=True)):
            kept, colour = n > 0, COLOURS[k % len(COLOURS)]
            p, f, n = p[kept], f[kept], n[kept]
            error = 2.0 * np.sqrt(f * (1.0 - f) / n)
            ax.errorbar(p, f, error, color=colour, linewidth=1.2, label=labels[k] if k < len(labels) else None)
            ax.scatter(p, f, 12.0 + 140.0 * n / n.sum(), color=colour, zorder=3, clip_on=False)
        ax.set(xlabel="forecast probability", ylabel="observed frequency", xlim=(0.0, 1.0), ylim=(0.0, 1.0))
        if len(labels):
            ax.legend(frameon=False, loc="upper left")
        return ax


def reliability_of(probabilities: ArrayLike, outcomes: ArrayLike, *, bins: int | ArrayLike = 10) -> Reliability:
    """Return the reliability of any forecast probabilities: how often the event occurred where it had each probability.

    Parameters
    ----------
    probabilities : array_like
        Forecast probabilities in [0, 1]; NaN is a missing forecast.
    outcomes : array_like, of a shape that broadcasts to that of the probabilities
        Whether the event occurred: true or false, or 1 and 0; NaN is a missing observation.
    bins : int or array_like
        Number of equal bins, or their edges from 0 to 1.

    Raises
    ------
    InvalidSampleError, InvalidParameterError
        If probabilities are outside [0, 1], outcomes are not 0 or 1, or the bins do not cover [0, 1].

    Examples
    --------
    >>> found = reliability_of([0.1, 0.2, 0.8, 0.9], [False, True, True, True], bins=2)
    >>> found.observed
    array([0.5, 1. ])
    """
    edges = read_bins(bins)
    p, hit = read_numbers(probabilities, "probabilities"), _read_outcomes(outcomes)
    if np.any((p < 0.0) | (p > 1.0)):
        raise InvalidSampleError("probabilities must lie in [0, 1].")
    try:
        hit = np.broadcast_to(hit, p.shape)
    except ValueError:
        raise InvalidSampleError(f"outcomes have shape {hit.shape}, but probabilities have {p.shape}.") from None
    return Reliability(*_means(*binned(p.reshape(-1), hit.reshape(-1), edges=edges)), edges)


def reliability(
    x: Members,
    obs: ArrayLike,
    thresholds: ArrayLike,
    *,
    bins: int | ArrayLike = 10,
    bounds: Sequence[float | None] | None = None,
    method: str | None = None,
    bandwidth: ArrayLike | None = None,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    threads: int | None = None,
) -> Reliability:
    """Return the reliability of probabilities of exceeding thresholds, one diagram for each, over all ensembles.

    `bins` as in `reliability_of`, other parameters as in `log_scores`. Ensembles without an answer and missing
    observations are left out.

    Parameters
    ----------
    thresholds : float or array_like of shape (m,)
        In data units.

    Returns
    -------
    Reliability
        Arrays of shape (m, bins), or (bins,) for a single threshold.

    Examples
    --------
    >>> x = np.random.default_rng(1).normal(size=(500, 21))
    >>> found = reliability(x[:, 1:], x[:, 0], [0.0, 1.0], bins=5, method="silverman")
    >>> found.counts.sum(axis=-1)
    array([500, 500])
    """
    levels = read_numbers(thresholds, "thresholds")
    if levels.ndim > 1:
        raise InvalidSampleError(f"thresholds have shape {levels.shape}; give one number or a list for all ensembles.")
    edges, given = read_bins(bins), {"bounds": bounds, "method": method, "bandwidth": bandwidth, "atoms": atoms}
    p = exceedance(x, levels.reshape(-1), above=True, climatology=climatology, threads=threads, **given)  # type: ignore[arg-type]
    observed = one_each(read_numbers(obs, "obs"), "obs", p.shape[:-1])[:, None]
    hit = np.where(np.isnan(observed), math.nan, observed > levels.reshape(-1))
    rows = [binned(p_k, hit_k, edges=edges) for p_k, hit_k in zip(p.reshape(hit.shape).T, hit.T, strict=True)]
    sums = (np.reshape(part, (*levels.shape, edges.size - 1)) for part in zip(*rows, strict=True))
    return Reliability(*_means(*sums), edges)


def binned(p: Array, hit: Array, *, edges: Array) -> tuple[Array, Array, Array]:
    """Return sums of probabilities and outcomes, and counts, in bins: (bins,) each."""
    known = ~np.isnan(p) & ~np.isnan(hit)
    p, hit, size = p[known], hit[known], edges.size - 1
    place = np.minimum(np.searchsorted(edges, p, side="right") - 1, size - 1)
    sums = (np.bincount(place, weights, size) for weights in (p, hit, np.ones(p.size)))
    return tuple(np.asarray(total, np.float64) for total in sums)  # type: ignore[return-value]


def _means(p: Array, hits: Array, count: Array) -> tuple[Array, Array, Index]:
    with np.errstate(invalid="ignore"):
        return p / count, hits / count, count.astype(np.int64)


def _read_outcomes(outcomes: ArrayLike) -> Array:
    given = np.asarray(outcomes)
    values = read_numbers(given.astype(float) if given.dtype == bool else given, "outcomes")
    if not np.all((values == 0.0) | (values == 1.0) | np.isnan(values)):
        raise InvalidSampleError(
            "outcomes must be true or false (1 or 0): compare observations with a threshold first."
        )
    return values


def read_bins(bins: int | ArrayLike) -> Array:
    """Return edges of bins; raise `InvalidParameterError` unless they increase from 0 to 1."""
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool) and bins >= 1:
        # Not linspace, whose 0.3 is above 3/10: shares of ten members would fall into the bin below.
        return np.arange(int(bins) + 1) / int(bins)
    edges = read_numbers(bins, "bins") if np.ndim(bins) == 1 else np.empty(0)
    if edges.size < 2 or edges[0] != 0.0 or edges[-1] != 1.0 or not np.all(np.diff(edges) > 0.0):
        raise InvalidParameterError(
            f"bins must be a number of at least 1, or edges that increase from 0 to 1, not {bins!r}."
        )
    return edges


def ranks(x: ArrayLike, obs: ArrayLike, *, seed: int = 0) -> Array:
    """Return ranks of observations among the members, 1 to n + 1, equally frequent if the ensembles are calibrated.

    An observation below all n members has rank 1. Where it equals members, as for rain, its rank is drawn from those
    that are possible; the draw depends only on `seed` and the position of the cell.

    Parameters
    ----------
    x : array_like of shape (..., n)
        Members along the last axis.
    obs : array_like of shape (...)
        Observations, one per ensemble, or fewer that broadcast.
    seed : int
        Of the draws, at least 0.

    Returns
    -------
    ndarray of shape (...)
        NaN where a member or the observation is missing: a rank among fewer members means something else.

    Examples
    --------
    >>> ranks([[1.0, 2.0, 4.0], [3.0, 5.0, np.nan]], [2.5, 4.0])
    array([ 3., nan])
    """
    members = _read_members(x)
    shape = members.shape[:-1]
    y = one_each(read_numbers(obs, "obs"), "obs", shape).reshape(shape)
    return draw_ranks(members, y, seed=check_seed(seed))


def rank_histogram(x: ArrayLike, obs: ArrayLike, *, seed: int = 0) -> Index:
    """Return how many observations have each rank among the members, as in `ranks`.

    A flat histogram is that of calibrated ensembles; a U-shaped one shows too little spread, a slope shows bias. Cells
    with a missing member or observation are left out.

    Returns
    -------
    ndarray of shape (n + 1,)

    Examples
    --------
    >>> rank_histogram([[1.0, 2.0], [3.0, 5.0], [2.0, 7.0]], [1.5, 4.0, 9.0])
    array([0, 2, 1])
    """
    members = _read_members(x)
    found = ranks(members, obs, seed=seed)
    return np.bincount(found[~np.isnan(found)].astype(np.int64) - 1, minlength=members.shape[-1] + 1)


def _read_members(x: ArrayLike) -> Array:
    members = read_numbers(x, "x", copy=False)
    if members.ndim == 0 or members.shape[-1] == 0:
        raise InvalidSampleError("ranks need members along the last axis of x, which has none.")
    # Decimals in single precision equal only other such numbers.
    return members.astype(np.float32) if getattr(x, "dtype", None) == np.float32 else members


def draw_ranks(members: Array, y: Array, cells: Index | None = None, *, seed: int) -> Array:
    """Return ranks of observations among the members (..., n), drawn by the cells' numbers, by default positions."""
    shape = members.shape[:-1]
    numbers = np.arange(math.prod(shape)) if cells is None else np.array(np.broadcast_to(cells, shape)).reshape(-1)
    uniforms = uniforms_at(stream_words(seed, _RANK_PURPOSE), numbers).reshape(shape)
    outcome = np.broadcast_to(y.astype(members.dtype), shape)[..., None]
    below, equal = np.sum(members < outcome, axis=-1), np.sum(members == outcome, axis=-1)
    found = 1.0 + below + np.minimum(np.floor(uniforms * (equal + 1)), equal)
    missing = np.isnan(members).any(axis=-1) | np.isnan(outcome[..., 0])
    return np.asarray(np.where(missing, math.nan, found))
