"""Check coordinates of time, in any calendar of the CF conventions."""

from collections.abc import Hashable

import numpy as np
import xarray as xr

from amortized_kde.errors import InvalidSampleError


def check_times(x: xr.DataArray, dim: Hashable) -> None:
    """Raise `InvalidSampleError` unless there is a time coordinate along `dim` that increases.

    What is learned from earlier times is judged on later ones, so that their order must be known, and a time that
    occurs twice could be on both sides.
    """
    if dim not in x.indexes:
        raise InvalidSampleError(
            f"the forecasts have no coordinate {dim!r}, so that the order of their times is unknown; add the times, or "
            "name their dimension (--time-dim)."
        )
    times = x.indexes[dim]
    if times.isna().any():
        raise InvalidSampleError(f"time {int(np.argmax(times.isna()))} along {dim!r} is missing; remove it first.")
    if not times.is_unique:
        first = times[times.duplicated()][0]
        raise InvalidSampleError(
            f"time {first} occurs {int(np.sum(times == first))} times along {dim!r}; keep one forecast for each time, "
            "and put others, such as lead times, along a dimension of their own."
        )
    if not times.is_monotonic_increasing:
        at = int(np.argmax(np.asarray(times[1:] < times[:-1]))) + 1
        raise InvalidSampleError(
            f"the times along {dim!r} are not in order, {times[at]} comes after {times[at - 1]}; sort them first: "
            f"data.sortby({dim!r})."
        )


def calendar_of(x: xr.DataArray, dim: Hashable) -> str | None:
    """Return the calendar of a coordinate of dates, None for one of other values."""
    index = x.indexes.get(dim)
    if isinstance(index, xr.CFTimeIndex):
        return str(index.calendar)
    return "proleptic_gregorian" if index is not None and index.dtype.kind == "M" else None
