"""Scores of labelled ensembles against observations."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Unpack

import xarray as xr
from numpy.typing import ArrayLike

from amortized_kde.data.reading import read_bounds
from amortized_kde.ensembles import answers
from amortized_kde.integrations.xarray.apply import (
    Keywords,
    Labelled,
    LabelledEnsembles,
    cell_numbers,
    counted,
    each_variable,
)
from amortized_kde.integrations.xarray.checks import check_alike, read_argument
from amortized_kde.integrations.xarray.units import in_units_of


def log_scores(
    x: Labelled,
    obs: Labelled,
    dim: Hashable | None = None,
    *,
    resolution: float = 0.0,
    **options: Unpack[Keywords],
) -> Labelled:
    """Return logarithmic scores in bits, lower is better: `ensembles.log_scores`.

    Parameters
    ----------
    x : DataArray or Dataset
        Ensembles; NaN is a missing member. Lazy ones (dask) give lazy scores, computed block by block.
    obs : DataArray or Dataset
        Observations, with the dimensions of `x` without the members', or fewer, and the same coordinates. For a
        Dataset, a Dataset with the same variables. If its ``units`` differ, common ones are converted to those of `x`.
    dim : hashable, optional
        The members' dimension, which must not be split into chunks. By default that named member, number, realization,
        ensemble, mem or ens, or whose coordinate has the standard name realization.
    resolution : float
        Unit to which the observations were rounded, in the units of `x`; by default they are exact.
    **options
        `bounds`, `method`, `bandwidth`, `atoms` and `climatology` as in `ensembles.log_scores`, but `bandwidth` is a
        number or a DataArray. For a Dataset they may be mappings by variable. `threads` is the largest number of
        threads; by default all cores, but one for each block of a lazy array, since dask computes several blocks side
        by side.

    Returns
    -------
    DataArray or Dataset
        Named ``t2m_log_score`` for a variable ``t2m``. In memory, its attributes count the cells, those without an
        answer (NaN), missing observations, and infinite scores, whose observations lie outside the bounds; for a lazy
        one use `tally`.

    Raises
    ------
    InvalidSampleError, InvalidParameterError, InvalidBoundsError
        If a dimension is missing, members are split into chunks, coordinates differ, units differ and no conversion is
        known, or an option cannot be used.

    Examples
    --------
    >>> members = xr.DataArray([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]], dims=("time", "member"), name="t2m")
    >>> scores = log_scores(members, xr.DataArray([2.5, 4.0], dims="time"), bandwidth=1.0)
    >>> scores.name, scores.attrs["units"], scores.values.round(4).tolist()
    ('t2m_log_score', 'bits', [2.2955, 2.6321])
    """
    return _scores(answers.log_scores, ["log_score"], x, obs, dim, options, resolution=resolution)


def log_score_parts(
    x: Labelled,
    obs: Labelled,
    dim: Hashable | None = None,
    *,
    resolution: float = 0.0,
    **options: Unpack[Keywords],
) -> xr.Dataset:
    """Return the two parts of logarithmic scores, which add up to them: `ensembles.log_score_parts`.

    Parameters as in `log_scores`.

    Returns
    -------
    Dataset
        ``rain_log_score_occurrence`` and ``rain_log_score_amount`` for a variable ``rain``.
    """
    parts = ["log_score_occurrence", "log_score_amount"]
    made = _scores(answers.score_parts, parts, x, obs, dim, options, resolution=resolution)
    assert isinstance(made, xr.Dataset)
    return made


def crps(x: Labelled, obs: Labelled, dim: Hashable | None = None, **options: Unpack[Keywords]) -> Labelled:
    """Return continuous ranked probability scores in the variable's units: `ensembles.crps`.

    Parameters as in `log_scores`.
    """
    return _scores(answers.crps, ["crps"], x, obs, dim, options)


def threshold_weighted_crps(
    x: Labelled,
    obs: Labelled,
    between: Sequence[float | None],
    dim: Hashable | None = None,
    **options: Unpack[Keywords],
) -> Labelled:
    """Return threshold-weighted CRPS in the variable's units: `ensembles.threshold_weighted_crps`.

    Only thresholds in the interval `between` count; None is an open side. Other parameters as in `log_scores`.
    """
    return _scores(answers.crps, ["threshold_weighted_crps"], x, obs, dim, options, window=read_bounds(between))


def brier_scores(
    x: Labelled,
    obs: Labelled,
    thresholds: ArrayLike | xr.DataArray,
    dim: Hashable | None = None,
    **options: Unpack[Keywords],
) -> Labelled:
    """Return Brier scores of exceeding thresholds: `ensembles.brier_scores`.

    `thresholds` as in `probabilities`, other parameters as in `log_scores`.

    Examples
    --------
    >>> members = xr.DataArray([[1.0, 3.0], [2.0, 8.0]], dims=("time", "member"), name="wind")
    >>> scores = brier_scores(members, xr.DataArray([2.5, 1.0], dims="time"), [2.0, 9.0], bandwidth=1.0)
    >>> scores.dims, scores.mean("time").round(4).values.tolist()
    (('time', 'threshold'), [0.4062, 0.0031])
    """

    def one(x: Any, others: dict[str, Any], dim: Hashable, **keywords: Any) -> Labelled:
        cells = LabelledEnsembles(x, dim, **keywords)
        at, along = read_argument(thresholds, cells.x, dim, "thresholds", "threshold")
        observed = check_observations(cells.x, others["obs"], dim)
        return counted(*cells.apply(answers.brier_scores, [at, observed], kinds=["brier_score"], core=[along]))

    return each_variable(one, x, {"obs": obs}, dim, options)


def pit(
    x: Labelled, obs: Labelled, dim: Hashable | None = None, *, seed: int = 0, **options: Unpack[Keywords]
) -> Labelled:
    """Return probability integral transforms: `ensembles.pit`.

    Other parameters as in `log_scores`. The draw at an atom depends on `seed` and the cell's position in the array, not
    on the chunks.
    """
    # Here, since lazy blocks would fail only when computed.
    answers.check_seed(seed)
    return _scores(answers.pit, ["pit"], x, obs, dim, options, seed=seed)


def _scores(
    function: Callable[..., Any],
    kinds: list[str],
    x: Labelled,
    obs: Labelled,
    dim: Hashable | None,
    options: Keywords,
    **more: Any,
) -> Labelled:
    """Return one result of each kind, several as a Dataset; with a seed the function needs the cells' numbers too."""

    def one(x: Any, others: dict[str, Any], dim: Hashable, **keywords: Any) -> Labelled:
        cells = LabelledEnsembles(x, dim, **keywords)
        observed = check_observations(cells.x, others["obs"], dim)
        inputs = [observed, cell_numbers(cells.x, dim)] if "seed" in more else [observed]
        made = [counted(part, obs=observed) for part in cells.apply(function, inputs, kinds=kinds, **more)]
        return made[0] if len(made) == 1 else xr.merge([part.to_dataset() for part in made])

    return each_variable(one, x, {"obs": obs}, dim, options)


def check_observations(x: xr.DataArray, obs: Any, dim: Hashable) -> xr.DataArray:
    """Return observations in the forecasts' units; raise unless there is one for each cell, perhaps broadcast."""
    return in_units_of(x, check_alike(x, obs, "obs", dim))
