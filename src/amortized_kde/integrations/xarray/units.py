"""Units after the CF conventions: convert observations to the forecasts' unit, or say that it cannot be done."""

from typing import NamedTuple

import xarray as xr

from amortized_kde.errors import InvalidSampleError


class _Unit(NamedTuple):
    """A unit: the value in its kind's first unit is ``factor * value + offset``."""

    kind: str
    factor: float
    offset: float = 0.0


_KNOT = 1852.0 / 3600.0
_SPELLINGS = {
    "k kelvin degk deg_k degree_k degrees_k": _Unit("temperature", 1.0),
    "c °c degc deg_c celsius degree_c degrees_c degree_celsius degrees_celsius": _Unit("temperature", 1.0, 273.15),
    "f °f degf deg_f fahrenheit degree_f degrees_f": _Unit("temperature", 5.0 / 9.0, 459.67 * 5.0 / 9.0),
    # One kilogram of water on a square metre is one millimetre.
    "mm millimeter millimeters millimetre millimetres kg_m-2 kg/m2 kg_m2-1 l_m-2 l/m2": _Unit("length", 1.0),
    "m meter meters metre metres m_of_water_equivalent": _Unit("length", 1000.0),
    "cm": _Unit("length", 10.0),
    "in inch inches": _Unit("length", 25.4),
    "kg_m-2_s-1 kg/m2/s mm_s-1 mm/s": _Unit("rate", 1.0),
    "m_s-1 m/s ms-1": _Unit("speed", 1.0),
    "km_h-1 km/h km/hr km_hr-1 kmh kmh-1 kph": _Unit("speed", 1.0 / 3.6),
    "kt kts kn knot knots": _Unit("speed", _KNOT),
    "mph mi/h mile/h miles/h": _Unit("speed", 0.44704),
    "mm_h-1 mm/h mm/hr mm_hr-1": _Unit("rate", 1.0 / 3600.0),
    "mm_d-1 mm/d mm_day-1 mm/day": _Unit("rate", 1.0 / 86_400.0),
    "pa pascal": _Unit("pressure", 1.0),
    "hpa mb mbar millibar": _Unit("pressure", 100.0),
    "kpa": _Unit("pressure", 1000.0),
    "1": _Unit("fraction", 1.0),
    "% percent": _Unit("fraction", 0.01),
}
_UNITS = {spelling: unit for spellings, unit in _SPELLINGS.items() for spelling in spellings.split()}


def in_units_of(x: xr.DataArray, obs: xr.DataArray) -> xr.DataArray:
    """Return observations in the forecasts' unit; where one has no ``units``, they are taken for equal.

    Temperature, precipitation, speed, pressure and fractions are converted. Other units must be spelled alike.

    Parameters
    ----------
    x : DataArray
        Forecasts.
    obs : DataArray
        Observations.

    Raises
    ------
    InvalidSampleError
        If the units differ, and no conversion is known.

    Examples
    --------
    >>> seen = xr.DataArray([10.0], dims="time", attrs={"units": "degC"})
    >>> in_units_of(xr.DataArray([[280.0, 281.0]], dims=("time", "member"), attrs={"units": "K"}), seen).item()
    283.15
    """
    there, here = (_spelled(array.attrs.get("units")) for array in (x, obs))
    if here == there or "" in (here, there):
        return obs
    ours, theirs = _UNITS.get(there), _UNITS.get(here)
    if ours is None or theirs is None or ours.kind != theirs.kind:
        raise InvalidSampleError(
            f"the forecasts are in {x.attrs['units']!r} and the observations in {obs.attrs['units']!r}, which "
            "cannot be converted into each other; convert one of them, or correct its attribute units."
        )
    if ours == theirs:
        return obs
    converted = (obs.astype(float) * theirs.factor + (theirs.offset - ours.offset)) / ours.factor
    return converted.rename(obs.name).assign_attrs({**obs.attrs, "units": x.attrs["units"]})


def _spelled(units: object) -> str:
    """Return units in lower case, with underscores for blanks and without signs of powers."""
    text = "" if units is None else str(units).strip().lower()
    for sign in ("**", "^"):
        text = text.replace(sign, "")
    return "_".join(text.replace("·", " ").replace("*", " ").split())
