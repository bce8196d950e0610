"""Covariates of labelled ensembles: the day of the year, lead times, places, and variables that the user names."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from amortized_kde.ensembles.calibration import PLACE, Calibration
from amortized_kde.errors import InvalidParameterError
from amortized_kde.integrations.xarray.checks import listing

DAY_OF_YEAR = "day_of_year"
# Names of dimensions of lead times.
_LEADS = ("lead_time", "lead", "leadtime", "step", "forecast_period", "prediction_timedelta")
_JOIN, _IS = ";", "="


def member_names(x: xr.DataArray, dim: Hashable) -> tuple[str, ...]:
    """Return the names of the members if their coordinate has names, which makes them different models; else ()."""
    if dim not in x.coords or x.coords[dim].dtype.kind not in "UTSO":
        return ()
    return tuple(map(str, x.coords[dim].values))


def lead_dimension(x: xr.DataArray) -> Hashable | None:
    """Return the dimension of lead times, None if there is none, or only one of them."""
    return next((name for name in _LEADS if x.sizes.get(name, 0) > 1 and name in x.coords), None)


def day_of_year(x: xr.DataArray, time_dim: Hashable | None = None) -> xr.DataArray | None:
    """Return the day of the year of each time, from a coordinate of dates; None if there is none, or several."""
    dated = {name: c for name, c in x.coords.items() if _is_date(c)}
    for name in (time_dim, "valid_time", "time"):
        if name in dated:
            dated = {name: dated[name]}
    if len(dated) != 1:
        return None
    found: xr.DataArray = next(iter(dated.values())).dt.dayofyear.astype(float)
    return found.reset_coords(drop=True)


def _is_date(coordinate: xr.DataArray) -> bool:
    if coordinate.dtype.kind == "M":
        return True
    first = coordinate.values.reshape(-1)[:1]
    return coordinate.dtype.kind == "O" and first.size == 1 and hasattr(first[0], "calendar")


def numbers_of(array: xr.DataArray, name: Hashable) -> xr.DataArray:
    """Return a covariate as numbers, durations in hours."""
    if array.dtype.kind == "m":
        array = array / np.timedelta64(1, "h")
    if array.dtype.kind not in "iuf":
        raise InvalidParameterError(f"the covariate {name!r} must hold numbers, not values of type {array.dtype}.")
    return array.astype(float).reset_coords(drop=True)


def place_keys(x: xr.DataArray, dims: Sequence[Hashable]) -> xr.DataArray:
    """Return the place of every cell along `dims` as text, such as ``lat=44;lon=8``.

    Examples
    --------
    >>> x = xr.DataArray(np.zeros((2, 2)), dims=("lat", "lon"), coords={"lat": [44.0, 45.5], "lon": [8, 9]})
    >>> place_keys(x, ("lat", "lon")).values.tolist()
    [['lat=44;lon=8', 'lat=44;lon=9'], ['lat=45.5;lon=8', 'lat=45.5;lon=9']]
    """
    total = xr.DataArray(np.array("", object))
    for name in dims:
        coordinate = x.coords[name] if name in x.coords else xr.DataArray(np.arange(x.sizes[name]), dims=[name])
        texts = np.array([f"{name}{_IS}{_text(value)}" for value in coordinate.values.reshape(-1)], object)
        part = xr.DataArray(texts.reshape(coordinate.shape), dims=coordinate.dims)
        total = part if total.dims == () and not total.values.item() else total + _JOIN + part
    return total


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)


def needed(
    x: xr.DataArray, calibration: Calibration, given: Mapping[str, Any] | None = None
) -> dict[str, xr.DataArray]:
    """Return what a calibration needs of the ensembles, as numbers; places as their positions, -1 if unknown.

    Raises
    ------
    InvalidParameterError
        If a covariate is neither given nor a coordinate, or dates or places are missing.
    """
    found = {}
    for name in calibration.needs:
        if given is not None and name in given:
            array = given[name]
            found[name] = numbers_of(array if isinstance(array, xr.DataArray) else xr.DataArray(array), name)
        elif name == DAY_OF_YEAR:
            found[name] = _dates(x)
        elif name == PLACE:
            found[name] = _places(x, calibration)
        elif name in x.coords:
            found[name] = numbers_of(x.coords[name], name)
        else:
            raise InvalidParameterError(
                f"the model was trained with the covariate {name!r}, which the ensembles lack; their coordinates are: "
                f"{listing(x.coords)}. Add it to the file, or pass it in covariates=."
            )
    return found


def _dates(x: xr.DataArray) -> xr.DataArray:
    found = day_of_year(x)
    if found is None:
        raise InvalidParameterError(
            "the model was trained with the season, but the ensembles have no coordinate of dates; add the time, or "
            "train with --no-season."
        )
    return found


def _places(x: xr.DataArray, calibration: Calibration) -> xr.DataArray:
    positions = {key: number for number, key in enumerate(calibration.places)}
    dims = [part.split(_IS)[0] for part in next(iter(positions)).split(_JOIN)]
    missing = [name for name in dims if name not in x.coords and name not in x.dims]
    if missing:
        raise InvalidParameterError(
            f"the model has corrections for places along {listing(dims)}, but the ensembles have no {missing[0]!r}; "
            "add it as a coordinate."
        )
    keys = place_keys(x, dims)
    numbers = np.array([positions.get(key, -1) for key in keys.values.reshape(-1)], float)
    return xr.DataArray(numbers.reshape(keys.shape), dims=keys.dims)
