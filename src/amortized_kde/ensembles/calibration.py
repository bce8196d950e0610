r"""Calibration: correct the location and spread of every ensemble before its density is made.

    x' = \mu + k \sigma (x - m) / s,    \mu = \sum_j a_j t_j,    \sigma = \exp(\sum_j g_j t_j) \sqrt{c^2 + d^2 s^2}

with m and s the mean and standard deviation of the members, and terms t of them and of covariates. The density is that
of the moved members by the network, mixed with one kernel of location mu and standard deviation sigma; both on a power
of the variable if that was better. P(atom) is logistic in terms. The numbers are learned by
`research/training/archive`, and are part of the model's card.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.data.reading import read_bounds, read_numbers
from amortized_kde.data.support import Bounds
from amortized_kde.ensembles.regressors import Summary, is_term, needed_covariates, summarise
from amortized_kde.errors import InvalidParameterError, InvalidSampleError, UnreadableFileError
from amortized_kde.learned.store import read_model

PLACE = "place"
# Kernels as mixtures of normal densities with mean 0: weights and standard deviations; all have variance 1. That of the
# logistic density is the maximum-likelihood fit of three components.
KERNELS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "normal": ((1.0,), (1.0,)),
    "logistic": ((0.34195875, 0.54494745, 0.1130938), (0.6452926, 1.0218104, 1.5975379)),
}


class Power(NamedTuple):
    """The scale on which ensembles are calibrated: (x - origin)^power."""

    power: float = 1.0
    origin: float = 0.0

    def forward(self, x: Array) -> Array:
        """Return values on the scale; what lies below the origin becomes 0, or stays if the power is 1."""
        return x if self.power == 1.0 else np.asarray(np.maximum(x - self.origin, 0.0) ** self.power)

    def back(self, v: Array) -> Array:
        """Return values in the variable's units."""
        return v if self.power == 1.0 else np.asarray(np.maximum(v, 0.0) ** (1.0 / self.power) + self.origin)

    def log_slope(self, x: Array) -> Array:
        """Return the logarithm of the derivative of `forward`."""
        if self.power == 1.0:
            return np.zeros(np.shape(x))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.power) + (self.power - 1.0) * np.log(np.maximum(x - self.origin, 0.0)))


class Corrected(NamedTuple):
    """Calibrated cells: moved members (cells, n), NaN where missing or at an atom; location, spread, P(atoms)."""

    members: Array
    location: Array
    spread: Array
    atom_probability: Array


@dataclass(frozen=True)
class Calibration:
    """A correction of ensembles that was learned on an archive. Plain data, as stored in a model's card.

    Attributes
    ----------
    bounds, atoms
        Of the variable, as given in training.
    resolution : float
        Unit to which the observations are rounded, 0 if they are exact.
    power : float
        Ensembles are calibrated on the scale (x - lower bound)^power; all numbers below are on that scale.
    members : dict of str to float
        Bias of every member, by name; empty if the members are exchangeable.
    centre, width : float
        Mean and standard deviation of the ensemble means in the archive.
    covariates : dict of str to (float, float)
        Centre and scale of every covariate other than the day of year.
    location : dict of str to float
        Coefficients of the terms of mu.
    log_spread : dict of str to float
        Coefficients of the terms of log sigma.
    floor, slope : float
        c and d.
    places : dict of str to (float, float)
        Additions to mu and log sigma at each place.
    occurrence : tuple of dict of str to float
        For each atom, coefficients of the terms of log P(atom) / P(no atom).
    kernel : str
        ``normal`` or ``logistic``.
    share : float
        Probability of the kernel; the rest is that of the network's density.
    stretch : float
        k, the spread of the moved members relative to sigma.
    """

    bounds: tuple[float | None, float | None] | None = None
    atoms: tuple[float, ...] = ()
    resolution: float = 0.0
    power: float = 1.0
    members: dict[str, float] = field(default_factory=dict)
    centre: float = 0.0
    width: float = 1.0
    covariates: dict[str, tuple[float, float]] = field(default_factory=dict)
    location: dict[str, float] = field(default_factory=lambda: {"mean": 1.0})
    log_spread: dict[str, float] = field(default_factory=dict)
    floor: float = 0.0
    slope: float = 1.0
    places: dict[str, tuple[float, float]] = field(default_factory=dict)
    occurrence: tuple[dict[str, float], ...] = ()
    kernel: str = "normal"
    share: float = 0.0
    stretch: float = 1.0

    @property
    def scale(self) -> Power:
        """The scale on which ensembles are calibrated."""
        return Power(self.power, 0.0 if self.power == 1.0 else read_bounds(self.bounds).lower)

    @property
    def limits(self) -> Bounds:
        """The bounds on that scale."""
        lower, upper = read_bounds(self.bounds)
        return Bounds(0.0 if self.power != 1.0 else lower, upper)

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """Names of the covariates that must be given: ``day_of_year``, ``place``, and those named in training."""
        terms = [*self.location, *self.log_spread, *(term for atom in self.occurrence for term in atom)]
        return needed_covariates(terms) + ((PLACE,) if self.places else ())

    def as_card(self) -> dict[str, Any]:
        """Return the calibration as plain data."""
        return asdict(self)

    def summarise(self, values: Array, covariates: Mapping[str, Array]) -> Summary:
        """Return the summaries of members (cells, n) in the variable's units."""
        if self.members and values.shape[-1] != len(self.members):
            raise InvalidSampleError(
                f"the ensembles have {values.shape[-1]} members, but the model was trained with the "
                f"{len(self.members)} members {', '.join(self.members)}; give these, with NaN for missing ones."
            )
        standardised = {
            name: np.asarray(values) if name == "day_of_year" else _standard(values, self, name)
            for name, values in covariates.items()
            if name == "day_of_year" or name in self.covariates
        }
        return summarise(
            self.scale.forward(values),
            np.stack([values == atom for atom in self.atoms], axis=2) if self.atoms else np.zeros((*values.shape, 0)),
            biases=np.array(list(self.members.values())) if self.members else None,
            centre=self.centre,
            width=self.width,
            names=tuple(self.members),
            covariates=standardised,
        )

    def moments(self, summary: Summary, places: Sequence[Any] | None = None) -> tuple[Array, Array]:
        """Return mu and sigma of each cell."""
        spread = np.sqrt(self.floor**2 + (self.slope * summary.spread) ** 2)
        mu = _predictor(summary, self.location)
        log = _predictor(summary, self.log_spread)
        if places is not None:
            known = np.array([self.places.get(str(place), (0.0, 0.0)) for place in places]).reshape(-1, 2)
            mu, log = mu + known[:, 0], log + known[:, 1]
        return mu, np.exp(log) * spread

    def correct(self, values: Array, covariates: Mapping[str, Any]) -> Corrected:
        """Return the calibrated cells of members (cells, n) in the variable's units, NaN for missing ones."""
        summary = self.summarise(values, covariates)
        mu, sigma = self.moments(summary, covariates.get(PLACE) if self.places else None)
        away = ~np.isin(values, self.atoms)
        with np.errstate(divide="ignore", invalid="ignore"):
            stretch = np.where(summary.spread > 0.0, self.stretch * sigma / summary.spread, 0.0)
            moved = mu[:, None] + stretch[:, None] * (summary.members - summary.mean[:, None])
        moved = np.where(away, np.clip(moved, *self.limits), np.nan)
        return Corrected(moved, mu, sigma, self._atom_probability(summary))

    def _atom_probability(self, summary: Summary) -> Array:
        """Return the probabilities of the atoms, (cells, atoms)."""
        if not self.occurrence:
            return np.empty((summary.mean.size, 0))
        logits = np.stack([_predictor(summary, atom) for atom in self.occurrence], axis=1)
        top = np.maximum(logits.max(axis=1, keepdims=True), 0.0)
        raised = np.exp(logits - top)
        return np.asarray(raised / (np.exp(-top) + raised.sum(axis=1, keepdims=True)))


def _standard(values: Any, calibration: Calibration, name: str) -> Array:
    centre, scale = calibration.covariates[name]
    return np.asarray((np.asarray(values, np.float64) - centre) / scale)


def _predictor(summary: Summary, coefficients: Mapping[str, float]) -> Array:
    return np.asarray(summary.terms(list(coefficients)) @ np.array(list(coefficients.values()), np.float64))


def calibrated(
    x: ArrayLike, model: Calibration | str | Path, covariates: Mapping[str, ArrayLike] | None = None
) -> Array:
    r"""Return members corrected for bias and spread: :math:`x' = \mu + k\sigma (x - m)/s`.

    Scores and probabilities of a model that was trained with a calibration apply it themselves; this shows what they
    apply.

    Parameters
    ----------
    x : array_like of shape (..., n)
        Members along the last axis; NaN is a missing member, and is kept. Members at an atom are kept too.
    model : Calibration, str or Path
        The calibration, or the folder of a model that was trained with one.
    covariates : mapping of str to array_like of shape (...), optional
        What the calibration needs besides the members: ``day_of_year`` (1 to 366), ``place``, and covariates that were
        named in training.

    Returns
    -------
    ndarray of shape (..., n)
        Inside the bounds.

    Raises
    ------
    InvalidSampleError, InvalidParameterError, UnreadableFileError
        If `x` does not hold numbers, a covariate is missing, or the folder has no model with a calibration.

    Examples
    --------
    >>> warm = Calibration(location={"1": -0.5, "mean": 1.0}, floor=3.0, slope=0.0)
    >>> calibrated([[1.0, 3.0, 5.0]], warm)
    array([[-0.5,  2.5,  5.5]])
    """
    chosen = model if isinstance(model, Calibration) else read_calibration(model)
    values = read_numbers(x, "x")
    cells = values.shape[:-1]
    rows = values.reshape(math.prod(cells), values.shape[-1])
    found = chosen.correct(rows, read_covariates(chosen, covariates, cells))
    moved = chosen.scale.back(found.members)
    return np.asarray(np.where(np.isin(rows, chosen.atoms), rows, moved)).reshape(values.shape)


def read_covariates(
    calibration: Calibration, given: Mapping[str, ArrayLike] | None, cells: tuple[int, ...]
) -> dict[str, Any]:
    """Return the needed covariates, one value for each cell; raise `InvalidParameterError` if one is missing."""
    found: dict[str, Any] = {}
    for name in calibration.needs:
        if given is None or name not in given:
            raise InvalidParameterError(
                f"the model was trained with the covariate {name!r}, which is missing here; pass it in covariates=."
            )
        values = np.asarray(given[name])
        if name != PLACE:
            values = read_numbers(values, f"the covariate {name!r}", copy=False)
            if not np.all(np.isfinite(values)):
                raise InvalidSampleError(f"the covariate {name!r} has missing or infinite values; fill them in first.")
        try:
            found[name] = np.broadcast_to(values, cells).reshape(-1)
        except ValueError:
            raise InvalidSampleError(
                f"the covariate {name!r} has shape {values.shape}, but the ensembles have shape {cells}."
            ) from None
    return found


def read_calibration(folder: str | Path) -> Calibration:
    """Read the calibration of a trained model; the folder may be written ``amortized:FOLDER``.

    Raises
    ------
    UnreadableFileError
        If the folder holds no valid model, or its calibration is damaged.
    InvalidParameterError
        If the model was trained without a calibration.
    """
    path = Path(str(folder).removeprefix("amortized:"))
    found = calibration_of(read_model(path).card, str(path))
    if found is None:
        raise InvalidParameterError(f"the model in {path} was trained without a calibration; train it with --archive.")
    return found


def calibration_of(card: Mapping[str, Any], where: str) -> Calibration | None:
    """Return the calibration in a card, None if there is none; raise `UnreadableFileError` if it is damaged."""
    stored = card.get("calibration")
    if stored is None:
        return None
    try:
        found = _from_card(stored)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableFileError(f"the calibration in the card of {where} is damaged ({error}).") from None
    return found


def _from_card(stored: Mapping[str, Any]) -> Calibration:
    """Return a calibration from plain data, every entry checked."""
    bounds = None if stored["bounds"] is None else (stored["bounds"][0], stored["bounds"][1])
    read_bounds(bounds)
    names, covariates = list(stored["members"]), list(stored["covariates"])

    def numbers(entries: Mapping[str, Any], terms: bool = True) -> dict[str, float]:
        for name in entries:
            if terms and not is_term(name, names, covariates):
                raise ValueError(f"unknown term {name!r}")
        return {str(name): _finite(value) for name, value in entries.items()}

    def couples(entries: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
        return {str(name): (_finite(a), _finite(b)) for name, (a, b) in entries.items()}

    if stored["kernel"] not in KERNELS:
        raise ValueError(f"unknown kernel {stored['kernel']!r}")
    plain = ("resolution", "power", "centre", "width", "floor", "slope", "share", "stretch")
    found = Calibration(
        bounds=bounds,
        atoms=tuple(_finite(atom) for atom in stored["atoms"]),
        members=numbers(stored["members"], terms=False),
        covariates=couples(stored["covariates"]),
        location=numbers(stored["location"]),
        log_spread=numbers(stored["log_spread"]),
        places=couples(stored["places"]),
        occurrence=tuple(numbers(atom) for atom in stored["occurrence"]),
        kernel=stored["kernel"],
        **{name: _finite(stored[name]) for name in plain},
    )
    valid = 0.0 <= found.share <= 1.0 and found.width > 0.0 and found.stretch > 0.0 and 0.0 < found.power <= 1.0
    if not valid or len(found.occurrence) not in (0, len(found.atoms)) or not math.isfinite(found.scale.origin):
        raise ValueError("a number is out of range")
    return found


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)
