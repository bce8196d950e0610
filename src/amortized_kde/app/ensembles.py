"""Many forecasts at once: bandwidths, scores and ranks of a table with one ensemble per row."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

import amortized_kde as akde
from amortized_kde._types import Array
from amortized_kde.app.comparing import in_turn
from amortized_kde.app.curves import Limits
from amortized_kde.data.reading import read_sample
from amortized_kde.data.sample import Sample
from amortized_kde.ensembles import log_scores, pit

_BINS = 10
# Names that mark the column of observations, and parts of names of columns that are neither.
_OBSERVED = ("obs", "observed", "observation", "truth", "outcome", "y")
_LABELS = re.compile(
    r"\b(id|index|row|station|site|place|location|lat|latitude|lon|longitude|elevation|altitude|lead|step|horizon|"
    r"date|time|year|month|day|hour|init|run|cycle|valid)\b"
)


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
class Reliability:
    """A histogram of ranks: counts, the expected count, the interval of 95 % of counts, and a sentence."""

    counts: NDArray[np.int64]
    expected: float
    band: tuple[float, float]
    sentence: str


def guess_members(names: Sequence[str]) -> tuple[list[int], int | None]:
    """Guess which columns of numbers are members, and which one has the observations.

    Columns that are numbered alike are members, such as m1, m2, ...; if there are none, all columns that do not have
    the name of a station, a time or another label.

    Examples
    --------
    >>> guess_members(["station", "lead_time", "m1", "m2", "obs"])
    ([2, 3], 4)
    >>> guess_members(["lat", "control", "warm", "cold"])
    ([1, 2, 3], None)
    """
    plain = [re.sub(r"[\W_]+", " ", name).strip().lower() for name in names]
    observed = next((k for k, name in enumerate(plain) if name in _OBSERVED), None)
    others = [k for k, name in enumerate(plain) if k != observed and not _LABELS.search(name)]
    stems = {k: re.sub(r" ?\d+$", "", plain[k]) for k in others if plain[k][-1:].isdigit()}
    stem, count = (Counter(stems.values()).most_common(1) or [("", 0)])[0]
    return ([k for k in stems if stems[k] == stem] if count > 1 else others), observed


def one_density(members: Array, bandwidth: float, bounds: Limits) -> tuple[Sample, akde.KernelDensity] | None:
    """Return an ensemble without missing members, and the density that `verify` scores; None if it has none."""
    if math.isnan(bandwidth):
        return None
    sample = read_sample(members, nan="omit")
    return sample, akde.KernelDensity(sample.values, bandwidth, bounds=bounds)


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


def judge_ranks(members: Array, observed: Array) -> Reliability:
    """Count where observations rank among their members, in ten bins, and say whether the forecasts are reliable.

    The ranks are those among the members themselves: a smoothed forecast is wider than its members, and would make a
    reliable ensemble look too wide.

    Examples
    --------
    >>> members = np.random.default_rng(1).normal(size=(100, 9))
    >>> judge_ranks(members[:, 1:], members[:, 0]).sentence
    'The histogram is as flat as chance allows: the forecasts are reliable.'
    """
    known = relative_ranks(members, observed)
    known = known[~np.isnan(known)]
    counts, _ = np.histogram(known, bins=_BINS, range=(0.0, 1.0))
    band = binom.ppf([0.025, 0.975], max(known.size, 1), 1.0 / _BINS)
    return Reliability(counts, known.size / _BINS, (float(band[0]), float(band[1])), _sentence(known))


def relative_ranks(members: Array, observed: Array) -> Array:
    """Return ranks between 0 and 1, uniform if observation and members come from one distribution.

    An observation with k of m members below it has a rank drawn between k / (m + 1) and (k + e + 1) / (m + 1), where e
    members are equal to it; so ensembles of all sizes compare. The draws are the same in every call.

    Parameters
    ----------
    members : array of shape (rows, members)
        NaN where a member is missing.
    observed : array of shape (rows,)
        NaN where there is none.

    Returns
    -------
    array of shape (rows,)
        NaN where the observation is missing, or there are fewer than two members.
    """
    y = observed[:, None]
    size, below, equal = (np.sum(kind, axis=1) for kind in (~np.isnan(members), members < y, members == y))
    drawn = (below + (equal + 1) * np.random.default_rng(0).random(len(members))) / (size + 1)
    return np.where(np.isnan(observed) | (size < 2), math.nan, drawn)


def _sentence(ranks: Array) -> str:
    if ranks.size < 2 * _BINS:
        return f"{ranks.size} observations are too few to say whether the forecasts are reliable."
    # Mean and variance of a uniform distribution, with three standard errors of each.
    slope = (ranks.mean() - 0.5) / math.sqrt(1.0 / 12.0 / ranks.size)
    spread = (np.mean((ranks - 0.5) ** 2) - 1.0 / 12.0) / math.sqrt(1.0 / 180.0 / ranks.size)
    findings = []
    if abs(slope) > 3.0:
        findings.append(f"observations fall too often in the {'upper' if slope > 0 else 'lower'} half of the forecasts")
    if abs(spread) > 3.0:
        findings.append("the forecasts are too narrow" if spread > 0 else "the forecasts are too wide")
    if not findings:
        return "The histogram is as flat as chance allows: the forecasts are reliable."
    return f"The histogram is not flat: {' and '.join(findings)}."
