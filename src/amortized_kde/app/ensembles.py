"""Many forecasts at once: a row an ensemble, perhaps with what was observed; bandwidths, scores and ranks leave.

Arrays enter and leave; what they look like on the page is not known here.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import binom

import amortized_kde as akde
from amortized_kde._types import Array
from amortized_kde.app.turns import in_turn
from amortized_kde.data.reading import read_bounds
from amortized_kde.ensembles import log_densities

Limits = tuple[float | None, float | None]

_BINS = 10


@dataclass(frozen=True, eq=False)
class Verified:
    """For each ensemble: members that are there, bandwidth, and if it was observed, score in bits and PIT.

    NaN where an ensemble has no answer; a score is infinite where the observation lies outside the bounds.
    """

    members: NDArray[np.int64]
    bandwidths: Array
    scores: Array
    pit: Array

    @property
    def mean_score(self) -> float:
        """Mean over all finite scores; NaN if there is none."""
        finite = self.scores[np.isfinite(self.scores)]
        return float(finite.mean()) if finite.size else math.nan


@dataclass(frozen=True, eq=False)
class Pit:
    """A histogram of PIT values: counts, what is expected in each bin, where 95 % of counts fall, and a sentence."""

    counts: NDArray[np.int64]
    expected: float
    band: tuple[float, float]
    sentence: str


def verify(members: Array, observed: Array | None, *, method: str, bounds: Limits) -> Verified:
    """Smooth every ensemble with one bandwidth of its own, and score what was observed.

    Parameters
    ----------
    members : array of shape (rows, members)
        NaN where a member is missing.
    observed : array of shape (rows,), optional
        NaN where nothing was observed.
    method : str
        One of `amortized_kde.selectors()`.
    bounds : (float or None, float or None)
        Hard limits of all densities.

    Examples
    --------
    >>> found = verify(np.array([[1.0, 2.0, 4.0]]), np.array([2.0]), method="silverman", bounds=(None, None))
    >>> found.bandwidths.round(3), found.scores.round(3), found.pit.round(3)
    (array([0.809]), array([2.007]), array([0.466]))
    """
    # Ensembles without an answer are counted on the page.
    with in_turn(quiet=True):
        bandwidths = np.asarray(akde.bandwidth(members, axis=-1, method=method, bounds=bounds))
    count = np.sum(~np.isnan(members), axis=1)
    if observed is None:
        nothing = np.full(len(members), math.nan)
        return Verified(count, bandwidths, nothing, nothing)
    log = log_densities(members, bandwidths, observed[:, None], bounds=bounds)[:, 0]
    scores = np.where(np.isnan(observed), math.nan, -log / math.log(2.0))
    return Verified(count, bandwidths, scores, _pit(members, bandwidths, observed, bounds))


def _pit(members: Array, bandwidths: Array, observed: Array, bounds: Limits) -> Array:
    """Probability below each observation: mean of the kernels' masses, over their masses between the bounds."""
    limits, h = read_bounds(bounds), bandwidths[:, None]
    below = ndtr((limits.lower - members) / h)
    inside = np.nansum(ndtr((limits.upper - members) / h) - below, axis=1)
    reached = np.clip(observed, limits.lower, limits.upper)[:, None]
    with np.errstate(invalid="ignore"):
        pit = np.nansum(ndtr((reached - members) / h) - below, axis=1) / inside
    return np.where(np.isnan(bandwidths) | np.isnan(observed), math.nan, np.clip(pit, 0.0, 1.0))


def judge_pit(pit: Array) -> Pit:
    """Count PIT values in ten bins and say what their histogram tells.

    Examples
    --------
    >>> judge_pit(np.linspace(0.005, 0.995, 100)).sentence
    'The histogram is as flat as chance allows: the forecasts are reliable.'
    """
    there = pit[~np.isnan(pit)]
    counts, _ = np.histogram(there, bins=_BINS, range=(0.0, 1.0))
    band = binom.ppf([0.025, 0.975], max(there.size, 1), 1.0 / _BINS)
    return Pit(counts, there.size / _BINS, (float(band[0]), float(band[1])), _sentence(there))


def _sentence(pit: Array) -> str:
    if pit.size < 2 * _BINS:
        return f"{pit.size} observations are too few to say whether the forecasts are reliable."
    # Mean and variance of a uniform distribution, with three standard errors of each.
    slope = (pit.mean() - 0.5) / math.sqrt(1.0 / 12.0 / pit.size)
    spread = (np.mean((pit - 0.5) ** 2) - 1.0 / 12.0) / math.sqrt(1.0 / 180.0 / pit.size)
    findings = []
    if abs(slope) > 3.0:
        findings.append(f"observations fall too often in the {'upper' if slope > 0 else 'lower'} half of the forecasts")
    if abs(spread) > 3.0:
        findings.append("the forecasts are too narrow" if spread > 0 else "the forecasts are too wide")
    if not findings:
        return "The histogram is as flat as chance allows: the forecasts are reliable."
    return f"The histogram is not flat: {' and '.join(findings)}."
