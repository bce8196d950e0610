"""What a calibration reads of an ensemble: summaries of its members, and products of them with covariates."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from amortized_kde._types import Array, Flags

# Days in a year of the calendar, for the harmonics of the season.
_YEAR = 365.2425
# Keeps the logarithm of the spread finite where all members are equal; relative to the spread of ensemble means.
_LEAST_SPREAD = 0.01
# Terms that name a covariate or a member start with these.
COVARIATE, MEMBER = "covariate ", "member "
ONE = "1"


@dataclass(frozen=True, eq=False)
class Summary:
    """Summaries of the members of many cells, on the scale on which they are calibrated; arrays have shape (cells,).

    Attributes
    ----------
    members : array of shape (cells, n)
        Corrected for the bias of each member where that is known; NaN for missing ones.
    mean, spread, median : array
        Of the members; the standard deviation has the divisor n - 1, and is 0 for a single member.
    shares : array of shape (cells, atoms)
        Share of the members at each atom.
    centre, width : float
        Mean and standard deviation of the ensemble means of the archive.
    names : sequence of str
        Names of the members, if they are not exchangeable.
    covariates : mapping of str to array
        Covariates, standardised.
    """

    members: Array
    mean: Array
    spread: Array
    median: Array
    shares: Array
    centre: float
    width: float
    names: Sequence[str] = ()
    covariates: Mapping[str, Array] = field(default_factory=dict)

    def term(self, name: str) -> Array:
        """Return a term, such as ``mean*sin1``: the product of its factors."""
        product = np.ones(self.mean.size)
        for factor in name.split("*"):
            product = product * self._factor(factor)
        return product

    def terms(self, names: Sequence[str]) -> Array:
        """Return terms as columns, (cells, terms)."""
        return np.stack([self.term(name) for name in names], axis=1) if names else np.empty((self.mean.size, 0))

    def _factor(self, name: str) -> Array:
        if name.startswith(COVARIATE):
            return self.covariates[name.removeprefix(COVARIATE)]
        if name.startswith(MEMBER):
            column = self.members[:, list(self.names).index(name.removeprefix(MEMBER))]
            # A missing member says nothing; the mean of the others stands for it.
            return np.where(np.isnan(column), 0.0, (column - self.mean) / self.width)
        return FACTORS[name](self)


def _harmonic(function: Callable[[Array], Array], order: int) -> Callable[[Summary], Array]:
    return lambda summary: function(2.0 * math.pi * order / _YEAR * summary.covariates["day_of_year"])


# Every factor is a pure number, so that one penalty suits all their coefficients.
FACTORS: dict[str, Callable[[Summary], Array]] = {
    ONE: lambda s: np.ones(s.mean.size),
    "mean": lambda s: (s.mean - s.centre) / s.width,
    "mean^2": lambda s: ((s.mean - s.centre) / s.width) ** 2,
    "log spread": lambda s: np.log(s.spread / s.width + _LEAST_SPREAD),
    "skew": lambda s: (s.median - s.mean) / s.width,
    "atom share": lambda s: s.shares.sum(axis=1),
    "sin1": _harmonic(np.sin, 1),
    "cos1": _harmonic(np.cos, 1),
    "sin2": _harmonic(np.sin, 2),
    "cos2": _harmonic(np.cos, 2),
}


def needed_covariates(terms: Sequence[str]) -> tuple[str, ...]:
    """Return the covariates that terms are made of, in the order in which they first occur.

    Examples
    --------
    >>> needed_covariates(["mean", "mean*sin1", "covariate height"])
    ('day_of_year', 'height')
    """
    factors = [factor for term in terms for factor in term.split("*")]
    found = [f.removeprefix(COVARIATE) for f in factors if f.startswith(COVARIATE)]
    season = any(f[:3] in ("sin", "cos") for f in factors)
    return tuple(dict.fromkeys((["day_of_year"] if season else []) + found))


def is_term(name: object, members: Sequence[str], covariates: Sequence[str]) -> bool:
    """Return whether a name is a term that can be computed from these members and covariates."""
    known = {*FACTORS, *(COVARIATE + c for c in covariates), *(MEMBER + m for m in members)}
    return isinstance(name, str) and all(factor in known for factor in name.split("*"))


def summarise(
    values: Array,
    at_atom: Flags,
    *,
    biases: Array | None = None,
    centre: float = 0.0,
    width: float = 1.0,
    names: Sequence[str] = (),
    covariates: Mapping[str, Array] | None = None,
) -> Summary:
    """Return the summaries of members (cells, n); `at_atom` (cells, n, atoms) says which of them are at an atom."""
    members = values if biases is None else values - biases
    present = ~np.isnan(members)
    count = np.maximum(present.sum(axis=1), 1)
    with np.errstate(invalid="ignore"):
        mean = np.where(present.any(axis=1), np.sum(members, axis=1, where=present) / count, np.nan)
        squares = np.sum((members - mean[:, None]) ** 2, axis=1, where=present)
    spread = np.sqrt(squares / np.maximum(count - 1, 1))
    return Summary(
        members, mean, spread, _medians(members, count, mean), at_atom.sum(axis=1) / count[:, None],
        centre, width, tuple(names), dict(covariates or {}),
    )  # fmt: skip


def _medians(members: Array, count: Array, mean: Array) -> Array:
    """Return medians of the members that are not NaN; NaN where there are none."""
    ascending = np.sort(members, axis=1)
    rows, middle = np.arange(len(members)), count.astype(np.int64)
    found = 0.5 * (ascending[rows, (middle - 1) // 2] + ascending[rows, middle // 2])
    return np.where(np.isnan(mean), np.nan, found)
