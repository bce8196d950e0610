"""Read the arguments of a density's methods, or raise `InvalidParameterError`."""

import math

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.data.reading import read_numbers
from amortized_kde.errors import InvalidParameterError, InvalidSampleError

# Draws or grid points in one array: 8 GB.
MOST_NUMBERS = 1 << 30


def read_option(given: ArrayLike) -> Array:
    """Return a number; NaN for what is none."""
    try:
        return read_numbers(given, "the option")
    except InvalidSampleError:
        return np.array(math.nan)


def read_size(size: int | tuple[int, ...] | None, most: int = MOST_NUMBERS) -> int:
    """Return the number of draws in an array of this shape."""
    sides = () if size is None else (size,) if isinstance(size, (int, np.integer)) else size
    whole = isinstance(sides, (tuple, list, np.ndarray)) and all(
        isinstance(side, (int, np.integer)) and not isinstance(side, bool) and side >= 0 for side in sides
    )
    if not whole:
        raise InvalidParameterError(f"size must be a whole number or several of them, not {str(size)[:100]}.")
    count = math.prod(int(side) for side in sides)
    if count > most:
        raise InvalidParameterError(f"{count} draws are too many at a time; draw at most {most} in one call.")
    return count


def read_rng(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Return a generator, from one or from a seed."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(f"rng must be a generator, or a whole number of at least 0 ({error}).") from None


def read_probabilities(p: ArrayLike) -> Array:
    """Return probabilities in [0, 1]."""
    given = read_numbers(p, "a probability")
    if not np.all((given >= 0.0) & (given <= 1.0)):
        raise InvalidParameterError("probabilities must lie in [0, 1].")
    return given


def read_mass(mass: ArrayLike) -> float:
    """Return the probability of an interval, inside (0, 1)."""
    given = read_numbers(mass, "the probability of an interval")
    if given.ndim != 0 or not 0.0 < given < 1.0:
        raise InvalidParameterError(f"the probability of an interval must lie between 0 and 1, not {mass!r}.")
    return float(given)
