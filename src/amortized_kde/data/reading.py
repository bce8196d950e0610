"""Numbers as people hold them: lists, NumPy, masked, pandas and polars objects, anything with ``__array__``.

Any of these enters, a float64 array of the same shape leaves, missing values as NaN. What the numbers are for is not
known here.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array
from amortized_kde.errors import InvalidSampleError


def read_numbers(x: Any, what: str, *, copy: bool = True) -> Array:
    """Turn anything array-like into a float64 array of the same shape, missing values as NaN.

    Without `copy` the caller's own array may come back, to be read and never written.

    Raises
    ------
    InvalidSampleError
        If the entries are not real numbers: strings, dates, booleans, complex numbers, or lists of unequal length.
    """
    if isinstance(x, np.ma.MaskedArray):
        numbers = read_numbers(x.data, what)
        numbers[np.ma.getmaskarray(x)] = np.nan
        return numbers
    try:
        array = x.to_numpy() if hasattr(x, "to_numpy") else np.asarray(x)
    except (ValueError, TypeError) as error:
        raise InvalidSampleError(f"{what} cannot be read as an array of numbers ({error}).") from None
    if array.dtype.kind == "O":
        array = _from_objects(array, what)
    if array.dtype.kind not in "iuf":
        raise InvalidSampleError(f"{what} must hold real numbers, not {_kind(array)}; convert the values first.")
    # Read-only arrays are another type to the compiler, which would compile every loop twice.
    return array.astype(np.float64, copy=copy or not array.flags.writeable)


def _from_objects(array: NDArray[Any], what: str) -> Array:
    out = np.empty(array.shape)
    for position, entry in np.ndenumerate(array):
        where = f"{what}[{', '.join(map(str, position))}]" if position else what
        if entry is None or type(entry).__name__ in ("NAType", "NaTType"):
            out[position] = np.nan
        elif isinstance(entry, (str, bytes, bool, np.bool_, complex)):
            raise InvalidSampleError(f"{where} is {entry!r}, which is not a real number; convert the values first.")
        else:
            try:
                out[position] = float(entry)
            except OverflowError:
                out[position] = np.inf
            except (TypeError, ValueError):
                raise InvalidSampleError(f"{where} is a {type(entry).__name__}, not a number.") from None
    return out


def _kind(array: NDArray[Any]) -> str:
    names = {
        "U": "text",
        "S": "bytes",
        "T": "text",
        "b": "booleans",
        "M": "dates",
        "m": "durations",
        "c": "complex numbers",
    }
    return names.get(array.dtype.kind, f"values of type {array.dtype}")
