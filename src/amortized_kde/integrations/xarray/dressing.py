"""Labelled ensembles, dressed: `ensembles.dressed` with coordinates, attributes and chunks kept."""

from collections.abc import Hashable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import xarray as xr

from amortized_kde import ensembles
from amortized_kde.ensembles import Dressing, read_dressing
from amortized_kde.integrations.xarray.apply import Labelled, each_variable
from amortized_kde.integrations.xarray.checks import check_members


def dressed(
    x: Labelled, dressing: Dressing | str | Path | Mapping[Hashable, Dressing | str | Path], dim: Hashable = "member"
) -> Labelled:
    """Members moved and widened: `ensembles.dressed`, in the shape, with the names and attributes, of `x`.

    Parameters
    ----------
    x : DataArray or Dataset
        Of a Dataset every variable with the members' dimension is dressed, and only these are given back.
    dressing : Dressing, str or Path
        The three numbers, or the folder of a model that was trained with them; for a Dataset also a mapping by
        variable.
    dim : hashable
        The members' dimension.

    Examples
    --------
    >>> members = xr.DataArray([[1.0, 3.0]], dims=("time", "member"), name="wind")
    >>> dressed(members, Dressing(0.5, 1.0, 2.0)).values
    array([[0.5, 4.5]])
    """

    def one(x: Any, others: dict[str, Any], *, dressing: Dressing | str | Path | None = None) -> xr.DataArray:
        checked = check_members(x, dim)
        if dressing is None:
            return checked
        found = dressing if isinstance(dressing, Dressing) else read_dressing(dressing)
        made: xr.DataArray = xr.apply_ufunc(
            partial(ensembles.dressed, dressing=found),
            checked,
            input_core_dims=[[dim]],
            output_core_dims=[[dim]],
            dask="parallelized",
            output_dtypes=[float],
            keep_attrs=True,
        )
        return made.transpose(*checked.dims)

    return each_variable(one, x, {}, dim, {"dressing": dressing})
