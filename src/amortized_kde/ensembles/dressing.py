"""Affine dressing: shift and scale every ensemble by three numbers before its density is made.

    x' = a + b m + c (x - m),    m the ensemble's mean

a and b correct the bias, c the spread. The numbers are learned on an archive by `research/training/archive`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Flags
from amortized_kde.data.reading import read_bounds, read_numbers
from amortized_kde.errors import InvalidParameterError
from amortized_kde.learned.store import read_model


@dataclass(frozen=True)
class Dressing:
    """The three numbers of an affine dressing, with the bounds and atoms of the variable.

    Attributes
    ----------
    shift : float
        a, in the variable's units.
    slope : float
        b.
    spread : float
        c, positive.
    bounds : (float or None, float or None), optional
        Hard limits of the variable; members that would lie outside are moved to the limit.
    atoms : tuple of float
        Values with a probability of their own; members there are not moved, and m is the mean of the others.
    """

    shift: float
    slope: float
    spread: float
    bounds: tuple[float | None, float | None] | None = None
    atoms: tuple[float, ...] = ()

    def as_card(self) -> dict[str, Any]:
        """Return the dressing as plain data."""
        bounds = None if self.bounds is None else list(self.bounds)
        numbers = {"shift": self.shift, "slope": self.slope, "spread": self.spread}
        return {**numbers, "bounds": bounds, "atoms": list(self.atoms)}

    @property
    def limits(self) -> tuple[float, float]:
        """Limits of moved members: the bounds, or the next number inside where a bound is an atom."""
        lower, upper = read_bounds(self.bounds)
        inside = np.nextafter(lower, upper) if lower in self.atoms else lower
        return float(inside), float(np.nextafter(upper, lower)) if upper in self.atoms else upper


def dressed(x: ArrayLike | Sequence[ArrayLike], dressing: Dressing | str | Path) -> Array:
    r"""Return members shifted and scaled: :math:`x' = a + b m + c (x - m)`, with m the mean of the members.

    Parameters
    ----------
    x : array_like of shape (..., n)
        Members along the last axis; NaN is a missing member, and is kept.
    dressing : Dressing, str or Path
        The dressing, or the folder of a model that was trained with one.

    Returns
    -------
    ndarray of shape (..., n)
        An ensemble is returned unchanged if the bounds would leave a single value of it, or if a member is infinite.

    Raises
    ------
    InvalidSampleError, InvalidParameterError, UnreadableFileError
        If `x` does not hold numbers, or the folder no model with a dressing.

    Examples
    --------
    >>> dressed([[1.0, 2.0, 6.0]], Dressing(0.5, 1.0, 2.0))
    array([[-0.5,  1.5,  9.5]])
    >>> dressed([[1.0, 2.0, 6.0]], Dressing(0.5, 1.0, 2.0, bounds=(0, None)))
    array([[0. , 1.5, 9.5]])
    """
    chosen = dressing if isinstance(dressing, Dressing) else read_dressing(dressing)
    values = read_numbers(x, "x")
    free = ~np.isin(values, chosen.atoms) & ~np.isnan(values)
    number = free.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        mean = np.sum(values, axis=-1, keepdims=True, where=free) / np.maximum(number, 1)
        moved = chosen.shift + chosen.slope * mean + chosen.spread * (values - mean)
    moved = np.clip(moved, *chosen.limits)
    fit = np.isfinite(mean) & (_apart(moved, free) | ~_apart(values, free))
    return np.asarray(np.where(free & fit, moved, values))


def _apart(values: Array, free: Flags) -> Flags:
    """Return which rows have two different free values."""
    low = np.min(values, axis=-1, keepdims=True, where=free, initial=np.inf)
    return np.asarray(low < np.max(values, axis=-1, keepdims=True, where=free, initial=-np.inf))


def read_dressing(folder: str | Path) -> Dressing:
    """Read the dressing of a trained model; the folder may be written ``amortized:FOLDER``.

    Raises
    ------
    UnreadableFileError
        If the folder holds no valid model.
    InvalidParameterError
        If the model was trained without a dressing.
    """
    path = Path(str(folder).removeprefix("amortized:"))
    card = read_model(path).card
    if "dressing" not in card:
        raise InvalidParameterError(f"the model in {path} was trained without a dressing; train it with --dress.")
    stored = card["dressing"]
    bounds = None if stored["bounds"] is None else (stored["bounds"][0], stored["bounds"][1])
    return Dressing(stored["shift"], stored["slope"], stored["spread"], bounds, tuple(stored["atoms"]))
