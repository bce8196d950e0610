"""How good forecasts were: labelled ensembles and observations enter, labelled scores leave."""

from collections.abc import Callable, Hashable
from typing import Any, Unpack

import numpy as np
import xarray as xr

from amortized_kde.ensembles.verification import cell_uniforms
from amortized_kde.integrations.xarray import blocks
from amortized_kde.integrations.xarray.apply import Labelled, Request, Shared, each_variable
from amortized_kde.integrations.xarray.checks import check_alike
from amortized_kde.integrations.xarray.counts import cell_numbers, counted


def log_scores(x: Labelled, obs: Labelled, dim: Hashable = "member", **options: Unpack[Shared]) -> Labelled:
    """Logarithmic scores in bits, lower is better: `ensembles.log_scores`.

    Parameters
    ----------
    x : DataArray or Dataset
        Ensembles; NaN is a missing member. Lazy ones (dask) are computed block by block, and give lazy scores.
    obs : DataArray or Dataset
        What came true: the dimensions of `x` without the members', or fewer, with the same coordinates; of a Dataset
        the same variables.
    dim : hashable
        The members' dimension, which must not be split into chunks.
    **options
        `bounds`, `method`, `atoms` and `climatology` as in `ensembles.log_scores`; bandwidths of your own are a number
        or a DataArray. Of a Dataset they may be mappings by variable. `threads` is how many threads to use at most: by
        default all cores, but for each block of a lazy array one, because dask computes several blocks side by side.

    Returns
    -------
    DataArray or Dataset
        Named ``t2m_log_score`` for a variable ``t2m``. If it is in memory, attributes count the cells, those without
        an answer (NaN), observations that are missing, and infinite scores, whose observations lie outside the bounds;
        of a lazy one `tally` counts them.

    Raises
    ------
    InvalidSampleError, InvalidParameterError, InvalidBoundsError
        If a dimension is missing, members are split into chunks, or coordinates differ; the sentence says which.

    Examples
    --------
    >>> members = xr.DataArray([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]], dims=("time", "member"), name="t2m")
    >>> scores = log_scores(members, xr.DataArray([2.5, 4.0], dims="time"), method=1.0)
    >>> scores.name, scores.attrs["units"], scores.values.round(4).tolist()
    ('t2m_log_score', 'bits', [2.2955, 2.6321])
    """
    return _judged(blocks.score_block, ["log_score"], x, obs, dim, options)


def log_score_parts(x: Labelled, obs: Labelled, dim: Hashable = "member", **options: Unpack[Shared]) -> xr.Dataset:
    """The two parts of logarithmic scores, which add up to them: `ensembles.log_score_parts`.

    Parameters are those of `log_scores`. For a variable ``rain`` the Dataset has ``rain_log_score_occurrence`` and
    ``rain_log_score_amount``.
    """
    parts = ["log_score_occurrence", "log_score_amount"]
    made = _judged(blocks.score_parts_block, parts, x, obs, dim, options)
    assert isinstance(made, xr.Dataset)
    return made


def crps(x: Labelled, obs: Labelled, dim: Hashable = "member", **options: Unpack[Shared]) -> Labelled:
    """Continuous ranked probability scores in the variable's units: `ensembles.crps`; parameters of `log_scores`."""
    return _judged(blocks.crps_block, ["crps"], x, obs, dim, options)


def pit(x: Labelled, obs: Labelled, dim: Hashable = "member", *, seed: int = 0, **options: Unpack[Shared]) -> Labelled:
    """Probability integral transforms: `ensembles.pit`; parameters of `log_scores`, and `seed`.

    A cell's random number, which is used at atoms, hangs on its position in the array and not on the chunks.
    """
    # Before lazy blocks are made, which would complain late.
    cell_uniforms(seed, np.zeros(0, np.int64))
    return _judged(blocks.pit_block, ["pit"], x, obs, dim, options, seed=seed)


def _judged(
    block: Callable[..., Any],
    kinds: list[str],
    x: Labelled,
    obs: Labelled,
    dim: Hashable,
    options: Shared,
    **more: Any,
) -> Labelled:
    """One result of each kind; several make a Dataset."""

    def one(x: Any, others: dict[str, Any], **mine: Any) -> Labelled:
        request = Request(x, dim, **mine)
        truth = check_alike(request.x, others["obs"], "obs", dim)
        inputs = [truth, cell_numbers(request.x, dim)] if more else [truth]
        made = [counted(part, obs=truth) for part in request.ask(block, inputs, kinds=kinds, **more)]
        return made[0] if len(made) == 1 else xr.merge([part.to_dataset() for part in made])

    return each_variable(one, x, {"obs": obs}, dim, options)
