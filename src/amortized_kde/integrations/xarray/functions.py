"""Densities, probabilities and quantiles of labelled ensembles."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import xarray as xr
from numpy.typing import ArrayLike

from amortized_kde.ensembles import Calibration, answers, read_calibration
from amortized_kde.ensembles.options import check_probabilities
from amortized_kde.errors import InvalidParameterError
from amortized_kde.estimate import DEFAULT_METHOD
from amortized_kde.integrations.xarray.apply import (
    Keywords,
    Labelled,
    LabelledEnsembles,
    bandwidth_block,
    calibrated_block,
    counted,
    each_variable,
)
from amortized_kde.integrations.xarray.checks import check_members, is_lazy, read_argument
from amortized_kde.integrations.xarray.covariates import needed
from amortized_kde.selection import find_selector

Function = Callable[..., Any]
# Values, their name in errors, and the name of the new dimension of a list.
Argument = tuple[ArrayLike | xr.DataArray, str, str]


def bandwidth(x: Labelled, dim: Hashable | None = None, **options: Unpack[Keywords]) -> Labelled:
    """Return bandwidths in the variable's units: `amortized_kde.bandwidth` along `dim`.

    Parameters as in `log_scores`, but a `bandwidth` is an error, and `atoms` and `climatology` are ignored.

    Examples
    --------
    >>> members = xr.DataArray([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]], dims=("time", "member"), name="t2m")
    >>> bandwidth(members, method="silverman").round(2).values
    array([0.81, 1.62])
    """

    def one(x: Any, others: dict[str, Any], dim: Hashable, **keywords: Any) -> Labelled:
        if keywords.get("bandwidth") is not None:
            raise InvalidParameterError("bandwidths are selected here; give a method, not a bandwidth.")
        if keywords.get("method") is None or isinstance(keywords["method"], str):
            # The default for one bandwidth is another than for a density.
            keywords["method"] = find_selector(keywords.get("method") or DEFAULT_METHOD, "bandwidth").name
        return counted(*LabelledEnsembles(x, dim, **keywords).apply(bandwidth_block, kinds=["bandwidth"]))

    return each_variable(one, x, {}, dim, options)


def densities(
    x: Labelled, at: ArrayLike | xr.DataArray, dim: Hashable | None = None, **options: Unpack[Keywords]
) -> Labelled:
    """Return densities at arguments, in one over the variable's units: `ensembles.densities`.

    `at` is a number, a list, which becomes the dimension ``value``, or a DataArray with the cells' dimensions and at
    most one more. Other parameters as in `log_scores`.
    """
    return _at_arguments(answers.densities, "density", x, (at, "at", "value"), dim, options)


def probabilities(
    x: Labelled,
    thresholds: ArrayLike | xr.DataArray,
    dim: Hashable | None = None,
    *,
    above: bool = False,
    **options: Unpack[Keywords],
) -> Labelled:
    """Return probabilities up to thresholds, or above them: `ensembles.probabilities`.

    `thresholds` are a number, a list, which becomes the dimension ``threshold``, or a DataArray with the cells'
    dimensions and at most one more, such as quantiles of the climate. Other parameters as in `log_scores`.

    Examples
    --------
    >>> members = xr.DataArray([[1.0, 3.0], [2.0, 8.0]], dims=("time", "member"), name="wind", attrs={"units": "m s-1"})
    >>> gale = probabilities(members, [2.0, 9.0], above=True, bandwidth=1.0)
    >>> gale.dims, gale.name, gale.values.round(4).tolist()
    (('time', 'threshold'), 'wind_probability_above', [[0.5, 0.0], [0.75, 0.0793]])
    """
    kind = "probability_above" if above else "probability_below"
    argument = thresholds, "thresholds", "threshold"
    return _at_arguments(answers.probabilities, kind, x, argument, dim, options, above=above)


def quantiles(
    x: Labelled, p: ArrayLike | xr.DataArray, dim: Hashable | None = None, **options: Unpack[Keywords]
) -> Labelled:
    """Return quantiles in the variable's units: `ensembles.quantiles`.

    `p` is one probability, a list, which becomes the dimension ``quantile`` as in xarray's own quantiles, or a
    DataArray with the cells' dimensions and at most one more. Other parameters as in `log_scores`.
    """
    return _at_arguments(answers.quantiles, "quantile", x, (p, "p", "quantile"), dim, options)


def _at_arguments(
    function: Function, kind: str, x: Labelled, argument: Argument, dim: Hashable | None, options: Keywords, **more: Any
) -> Labelled:
    """Return a function of the densities at arguments."""
    values, what, new = argument

    def one(x: Any, others: dict[str, Any], dim: Hashable, **keywords: Any) -> Labelled:
        cells = LabelledEnsembles(x, dim, **keywords)
        at, along = read_argument(values, cells.x, dim, what, new)
        if what == "p" and not is_lazy(at):
            # Here, since lazy blocks would fail only when computed.
            check_probabilities(at.values)
        return counted(*cells.apply(function, [at], kinds=[kind], core=[along], **more))

    return each_variable(one, x, {}, dim, options)


def atom_probabilities(
    x: Labelled,
    atoms: Sequence[float] | Mapping[Hashable, Sequence[float]],
    dim: Hashable | None = None,
    *,
    bounds: Sequence[float | None] | Mapping[Hashable, Sequence[float | None]] | None = None,
    method: str | Mapping[Hashable, str] | None = None,
    covariates: Mapping[str, Any] | None = None,
) -> Labelled:
    """Return probabilities of atoms along a new dimension ``atom``: `ensembles.atom_probabilities`."""

    def one(x: Any, others: dict[str, Any], dim: Hashable, **keywords: Any) -> Labelled:
        points = sorted(float(atom) for atom in keywords.get("atoms", ()))
        cells = LabelledEnsembles(x, dim, covariates=covariates, **keywords)
        made = cells.apply(answers.atom_probabilities, kinds=["atom_probability"], new={"atom": len(points)})
        return counted(*made).assign_coords(atom=points)

    return each_variable(one, x, {}, dim, {"atoms": atoms, "bounds": bounds, "method": method})


def calibrated(
    x: Labelled,
    model: Calibration | str | Path | Mapping[Hashable, Calibration | str | Path],
    dim: Hashable | None = None,
    *,
    covariates: Mapping[str, Any] | None = None,
) -> Labelled:
    """Return members corrected for bias and spread: `ensembles.calibrated`, with the dimensions and name of `x`.

    Scores and probabilities of a model that was trained with a calibration apply it themselves.

    Parameters
    ----------
    x : DataArray or Dataset
        For a Dataset, every variable with the members' dimension is corrected, and only these are returned.
    model : Calibration, str or Path
        The calibration, or the folder of a model that was trained with one; for a Dataset also a mapping by variable.
    dim : hashable, optional
        The members' dimension; default: as in `log_scores`.
    covariates : mapping of str to DataArray, optional
        Covariates that are not coordinates of `x`. The season, places and lead times come from its coordinates.

    Examples
    --------
    >>> members = xr.DataArray([[1.0, 3.0, 5.0]], dims=("time", "member"), name="wind")
    >>> calibrated(members, Calibration(location={"1": -0.5, "mean": 1.0}, floor=3.0, slope=0.0)).values
    array([[-0.5,  2.5,  5.5]])
    """

    def one(
        x: Any, others: dict[str, Any], dim: Hashable, *, model: Calibration | str | Path | None = None
    ) -> xr.DataArray:
        members = check_members(x, dim)
        if model is None:
            return members
        chosen = model if isinstance(model, Calibration) else read_calibration(model)
        by_cell = needed(members, chosen, covariates)
        made: xr.DataArray = xr.apply_ufunc(
            partial(calibrated_block, calibration=chosen, by_cell=tuple(by_cell)),
            members,
            *by_cell.values(),
            input_core_dims=[[dim], *([[]] * len(by_cell))],
            output_core_dims=[[dim]],
            dask="parallelized",
            output_dtypes=[float],
            keep_attrs=True,
        )
        return made.transpose(*members.dims)

    return each_variable(one, x, {}, dim, {"model": model})
