"""The pairs of an archive as rows of regressions: summaries, terms as standardised columns, cells of observations."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.ensembles.calibration import Calibration
from amortized_kde.ensembles.regressors import COVARIATE, MEMBER, ONE, Summary
from amortized_kde.research.training.archive.likelihood import Kernel, LocationScale
from amortized_kde.research.training.archive.pairs import Pairs

# Terms of mu and of log sigma by group, in the order in which they are tried; a group may need another.
GROUPS: dict[str, tuple[tuple[str, ...], tuple[str, ...], str | None]] = {
    "season": (("sin1", "cos1"), ("sin1", "cos1"), None),
    "second harmonic": (("sin2", "cos2", "mean*sin1", "mean*cos1"), ("sin2", "cos2"), "season"),
    "summaries": (("skew", "log spread", "mean^2"), ("mean",), None),
    "summaries by season": (
        ("log spread*sin1", "log spread*cos1", "skew*sin1", "skew*cos1"),
        (),
        "season",
    ),
    "covariates": ((), (), None),
    "members": ((), (), None),
}


class Design:
    """Pairs on the scale of a power, with the columns of terms.

    Parameters
    ----------
    pairs : Pairs
    power : float
        1, or a power of the distance from the lower bound.
    """

    def __init__(self, pairs: Pairs, power: float = 1.0) -> None:
        self.pairs = pairs
        self.blank = _blank(pairs, power)
        scale = self.blank.scale
        lower, upper = pairs.bounds
        self.outcomes = scale.forward(pairs.observations)
        self.away: Flags = pairs.at_atom < 0
        half = 0.5 * pairs.resolution
        ends = [np.clip(pairs.observations + side, lower, upper) for side in (-half, half)]
        low, high = (scale.forward(end) for end in ends)
        self.edges = (low, high) if pairs.resolution > 0.0 else None
        with np.errstate(divide="ignore", invalid="ignore"):
            # The logarithm of the derivative of the scale, or its mean over the cell.
            self.log_slope = np.log((high - low) / (ends[1] - ends[0])) if half else scale.log_slope(pairs.observations)

    @cached_property
    def summary(self) -> Summary:
        """The summaries of all pairs."""
        return self.blank.summarise(self.pairs.members, self.pairs.covariates)

    @cached_property
    def place_numbers(self) -> tuple[Index, tuple[str, ...]]:
        """The number of each pair's place, and the names of the places."""
        assert self.pairs.places is not None
        names, numbers = np.unique(self.pairs.places, return_inverse=True)
        return numbers.reshape(-1), tuple(map(str, names))

    def terms(self, group: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the terms of mu and log sigma in a group."""
        if group == "covariates":
            named = tuple(COVARIATE + name for name in self.pairs.covariates if name != "day_of_year")
            return named, named
        if group == "members":
            # All but one, since together with the mean they would be linearly dependent.
            return tuple(MEMBER + name for name in self.pairs.names[1:]), ()
        location, spread, _ = GROUPS[group]
        share = ("atom share",) if group == "summaries" and self.pairs.atoms else ()
        return location + share, spread

    def columns(self, terms: Sequence[str]) -> tuple[Array, Array, Array]:
        """Return terms as columns with mean 0 and variance 1, with their means and standard deviations."""
        raw = self.summary.terms(list(terms))
        centre, scale = raw.mean(axis=0), raw.std(axis=0)
        centre, scale = np.where(scale > 1e-12, centre, 0.0), np.where(scale > 1e-12, scale, 1.0)
        return (raw - centre) / scale, centre, scale

    def rows(
        self, groups: Sequence[str], kernel: str, penalty: float
    ) -> tuple[LocationScale, tuple[str, ...], tuple[str, ...]]:
        """Return the location-scale model of all pairs, and its terms."""
        location = ("mean", *(term for group in groups for term in self.terms(group)[0]))
        spread = tuple(term for group in groups for term in self.terms(group)[1])
        columns = self.columns(location)[0]
        model = LocationScale(
            np.column_stack([np.ones(len(self.pairs)), columns]),
            self.columns(spread)[0],
            np.maximum(self.summary.spread, 1e-9 * self.blank.width),
            self.outcomes,
            Kernel.of(kernel),
            self.blank.limits,
            self.edges,
            penalty=penalty,
        )
        return model, location, spread

    def unscale(self, location: Sequence[str], spread: Sequence[str], theta: Array) -> dict[str, object]:
        """Return coefficients of terms as they are, from those of standardised columns."""
        count = len(location) + 1
        _, centre, scale = self.columns(location)
        a = theta[1:count] / scale
        _, spread_centre, spread_scale = self.columns(spread)
        g = theta[count + 2 :] / spread_scale
        factor = float(np.exp(-g @ spread_centre))
        return {
            "location": {ONE: float(theta[0] - a @ centre)} | dict(zip(location, map(float, a), strict=True)),
            "log_spread": dict(zip(spread, map(float, g), strict=True)),
            "floor": factor * float(np.exp(theta[count])),
            "slope": factor * float(np.exp(theta[count + 1])),
        }


def _blank(pairs: Pairs, power: float) -> Calibration:
    """Return a calibration with the standards of the pairs, and no correction yet."""
    covariates = {
        name: (float(values.mean()), float(values.std()) or 1.0)
        for name, values in pairs.covariates.items()
        if name != "day_of_year"
    }
    first = Calibration(pairs.limits, pairs.atoms, pairs.resolution, power, covariates=covariates)
    values = first.scale.forward(pairs.members)
    biases: dict[str, float] = {}
    if pairs.names:
        mean = np.nanmean(values, axis=1, keepdims=True)
        biases = {
            name: float(np.nan_to_num(np.nanmean(column)))
            for name, column in zip(pairs.names, (values - mean).T, strict=True)
        }
        values = values - np.array(list(biases.values()))
    means = np.nanmean(values, axis=1)
    return Calibration(
        pairs.limits, pairs.atoms, pairs.resolution, power, biases, float(means.mean()),
        float(means.std()) or 1.0, covariates,
    )  # fmt: skip
