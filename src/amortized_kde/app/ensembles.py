"""Many forecasts at once: bandwidths, scores and PIT values of a table with one ensemble per row."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

import amortized_kde as akde
from amortized_kde._types import Array
from amortized_kde.app.comparing import in_turn
from amortized_kde.app.curves import Limits
from amortized_kde.ensembles import log_scores, pit

_BINS = 10


@dataclass(frozen=True, eq=False)
class Verified:
    """Number of members, bandwidth, score in bits and PIT of every ensemble, each of shape (rows,).

    NaN where an ensemble has no density or no observation; a score is infinite where the observation lies outside the
    bounds.
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
    """A histogram of PIT values: counts, the expected count, the interval of 95 % of counts, and a sentence."""

    counts: NDArray[np.int64]
    expected: float
    band: tuple[float, float]
    sentence: str


def verify(members: Array, observed: Array | None, *, method: str, bounds: Limits) -> Verified:
    """Smooth every ensemble with its own bandwidth, and score the observations.

    Parameters
    ----------
    members : array of shape (rows, members)
        NaN where a member is missing.
    observed : array of shape (rows,), optional
        NaN where there is none.
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
    scores, transforms = np.full((2, len(members)), math.nan)
    # Ensembles without an answer are counted on the page.
    with in_turn(quiet=True):
        bandwidths = np.asarray(akde.bandwidth(members, axis=-1, method=method, bounds=bounds))
        answered = ~np.isnan(bandwidths)
        if observed is not None and answered.any():
            forecasts, outcomes = members[answered], observed[answered]
            given: dict[str, Any] = {"bounds": bounds, "bandwidth": bandwidths[answered]}
            scores[answered] = log_scores(forecasts, outcomes, **given)
            transforms[answered] = pit(forecasts, outcomes, **given)
    return Verified(np.sum(~np.isnan(members), axis=1), bandwidths, scores, transforms)


def judge_pit(transforms: Array) -> Pit:
    """Count PIT values in ten bins, and say whether the forecasts are reliable.

    Examples
    --------
    >>> judge_pit(np.linspace(0.005, 0.995, 100)).sentence
    'The histogram is as flat as chance allows: the forecasts are reliable.'
    """
    known = transforms[~np.isnan(transforms)]
    counts, _ = np.histogram(known, bins=_BINS, range=(0.0, 1.0))
    band = binom.ppf([0.025, 0.975], max(known.size, 1), 1.0 / _BINS)
    return Pit(counts, known.size / _BINS, (float(band[0]), float(band[1])), _sentence(known))


def _sentence(transforms: Array) -> str:
    if transforms.size < 2 * _BINS:
        return f"{transforms.size} observations are too few to say whether the forecasts are reliable."
    # Mean and variance of a uniform distribution, with three standard errors of each.
    slope = (transforms.mean() - 0.5) / math.sqrt(1.0 / 12.0 / transforms.size)
    spread = (np.mean((transforms - 0.5) ** 2) - 1.0 / 12.0) / math.sqrt(1.0 / 180.0 / transforms.size)
    findings = []
    if abs(slope) > 3.0:
        findings.append(f"observations fall too often in the {'upper' if slope > 0 else 'lower'} half of the forecasts")
    if abs(spread) > 3.0:
        findings.append("the forecasts are too narrow" if spread > 0 else "the forecasts are too wide")
    if not findings:
        return "The histogram is as flat as chance allows: the forecasts are reliable."
    return f"The histogram is not flat: {' and '.join(findings)}."
