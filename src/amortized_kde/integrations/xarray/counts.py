"""How many cells have no answer, and numbers for all cells: what must not depend on chunks."""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr

from amortized_kde.integrations.xarray.checks import is_lazy


def tally(result: xr.DataArray, obs: xr.DataArray | None = None) -> dict[str, int]:
    """Count what went wrong in a result; a lazy one is computed for it.

    Parameters
    ----------
    result : DataArray
        Scores, or another result with one number a cell.
    obs : DataArray, optional
        The observations that were given.

    Returns
    -------
    dict
        ``cells``; ``cells_without_answer``, which are NaN though their observation is there;
        ``observations_missing``, if `obs` is given; and ``infinite``, of scores those whose observation lies outside
        the bounds.

    Examples
    --------
    >>> tally(xr.DataArray([1.5, np.nan, np.inf]), xr.DataArray([0.0, 1.0, -2.0]))
    {'cells': 3, 'cells_without_answer': 1, 'observations_missing': 0, 'infinite': 1}
    """
    missing = result.isnull()
    parts: dict[str, xr.DataArray] = {"cells_without_answer": missing, "infinite": abs(result) == math.inf}
    if obs is not None:
        absent = obs.isnull().broadcast_like(missing)
        parts["cells_without_answer"] = missing & ~absent
        parts["observations_missing"] = absent
    # One computation for all sums, so that a lazy result is made once.
    counts = xr.Dataset({name: part.sum() for name, part in parts.items()}).compute()
    found = {"cells": int(result.size), **{name: int(value) for name, value in counts.items()}}
    order = ("cells", "cells_without_answer", "observations_missing", "infinite")
    return {name: found[name] for name in order if name in found}


def counted(result: xr.DataArray, obs: xr.DataArray | None = None) -> xr.DataArray:
    """The same with counts among its attributes, if it is in memory."""
    if is_lazy(result):
        return result
    counts: dict[str, Any] = tally(result, obs)
    if obs is None or not str(result.name).endswith(("log_score", "log_score_amount")):
        del counts["infinite"]
    else:
        counts["observations_outside_bounds"] = counts.pop("infinite")
    return result.assign_attrs(counts)


def cell_numbers(x: xr.DataArray, dim: Hashable) -> xr.DataArray:
    """Number the cells in the order of the array's dimensions; lazily, if the array is."""
    sizes = {name: size for name, size in x.sizes.items() if name != dim}
    total, stride = xr.DataArray(np.int64(0)), 1
    for name in reversed(sizes):
        steps = xr.DataArray(np.arange(sizes[name], dtype=np.int64) * stride, dims=[name])
        total = (steps.chunk({name: x.chunksizes[name]}) if is_lazy(x) else steps) + total
        stride *= sizes[name]
    return total
