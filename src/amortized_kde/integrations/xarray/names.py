"""Names, units and other attributes of results, in the manner of the CF conventions."""

from dataclasses import dataclass
from typing import Any

import xarray as xr


@dataclass(frozen=True)
class Kind:
    """What a result is: the end of its name, its long name, and its units; {} stands for those of the variable."""

    suffix: str
    long_name: str
    units: str | None


KINDS = {
    kind.suffix: kind
    for kind in (
        Kind("bandwidth", "kernel bandwidth of {}", "{}"),
        Kind("log_score", "logarithmic score of {}", "bits"),
        Kind("log_score_occurrence", "logarithmic score of {}, whether an atom was hit", "bits"),
        Kind("log_score_amount", "logarithmic score of {}, where no atom was hit", "bits"),
        Kind("crps", "continuous ranked probability score of {}", "{}"),
        Kind("pit", "probability integral transform of {}", "1"),
        Kind("density", "probability density of {}", "1/({})"),
        Kind("probability_below", "probability of {} up to the threshold", "1"),
        Kind("probability_above", "probability of {} above the threshold", "1"),
        Kind("quantile", "quantile of {}", "{}"),
        Kind("atom_probability", "probability that {} is exactly the atom", "1"),
    )
}
# What describes the variable itself and would be wrong of a score.
_OWN = ("standard_name", "long_name", "units", "cell_methods", "valid_min", "valid_max", "valid_range")
_OWN_TOO = ("actual_range", "flag_values", "flag_meanings", "ancillary_variables")


def named(result: xr.DataArray, x: xr.DataArray, kind: str, more: dict[str, Any]) -> xr.DataArray:
    """Give the result its name and attributes: the variable's, where they still hold, and its own."""
    what = KINDS[kind]
    title = x.attrs.get("long_name") or x.attrs.get("standard_name") or x.name or "the variable"
    attrs = {key: value for key, value in x.attrs.items() if key not in (*_OWN, *_OWN_TOO)}
    if kind == "quantile" and "standard_name" in x.attrs:
        attrs["standard_name"] = x.attrs["standard_name"]
    attrs["long_name"] = what.long_name.format(title)
    units = _units(what, x.attrs.get("units"))
    if units is not None:
        attrs["units"] = units
    result = result.rename(kind if x.name is None else f"{x.name}_{kind}")
    result.attrs = attrs | more
    return result


def _units(kind: Kind, own: Any) -> str | None:
    """The kind's units; none if they hang on the variable's and it has none."""
    if kind.units is None or "{}" not in kind.units:
        return kind.units
    if own is None:
        return None
    return "1" if kind.suffix == "density" and str(own) == "1" else kind.units.format(own)
