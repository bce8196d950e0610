"""What forecasts say: labelled ensembles enter; labelled bandwidths, densities, probabilities and quantiles leave."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Unpack

import xarray as xr
from numpy.typing import ArrayLike

from amortized_kde.ensembles.reading import check_probabilities
from amortized_kde.errors import InvalidParameterError
from amortized_kde.integrations.xarray import blocks
from amortized_kde.integrations.xarray.apply import Labelled, Request, Shared, each_variable, read_argument
from amortized_kde.integrations.xarray.checks import is_lazy
from amortized_kde.integrations.xarray.counts import counted


def bandwidth(x: Labelled, dim: Hashable = "member", **options: Unpack[Shared]) -> Labelled:
    """Bandwidths in the variable's units: `amortized_kde.bandwidth` along `dim`.

    Parameters
    ----------
    x : DataArray or Dataset
        Ensembles; NaN is a missing member.
    dim : hashable
        The members' dimension, which must not be split into chunks.
    **options
        `bounds`, `method` and `threads` as in `log_scores`; the method is a name. Atoms and climatology are not looked
        at.

    Examples
    --------
    >>> members = xr.DataArray([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]], dims=("time", "member"), name="t2m")
    >>> bandwidth(members, method="silverman").round(2).values
    array([0.81, 1.62])
    """

    def one(x: Any, others: dict[str, Any], **mine: Any) -> Labelled:
        if not isinstance(mine.get("method", ""), str):
            raise InvalidParameterError("a method that chooses bandwidths must be a name, not a number.")
        return counted(*Request(x, dim, **mine).ask(blocks.bandwidth_block, kinds=["bandwidth"]))

    return each_variable(one, x, {}, dim, options)


def densities(
    x: Labelled, at: ArrayLike | xr.DataArray, dim: Hashable = "member", **options: Unpack[Shared]
) -> Labelled:
    """Densities at arguments, in one over the variable's units: `ensembles.densities`.

    `at` is a number or a list, which becomes the dimension ``value``, or a DataArray with the cells' dimensions and at
    most one more. Other parameters are those of `log_scores`.
    """
    return _asked(blocks.density_block, "density", x, (at, "at", "value"), dim, options)


def probabilities(
    x: Labelled,
    thresholds: ArrayLike | xr.DataArray,
    dim: Hashable = "member",
    *,
    above: bool = False,
    **options: Unpack[Shared],
) -> Labelled:
    """Probabilities up to thresholds, or above them: `ensembles.probabilities`.

    `thresholds` are a number or a list, which becomes the dimension ``threshold``, or a DataArray with the cells'
    dimensions and at most one more, such as quantiles of the climate. Other parameters are those of `log_scores`.

    Examples
    --------
    >>> members = xr.DataArray([[1.0, 3.0], [2.0, 8.0]], dims=("time", "member"), name="wind", attrs={"units": "m s-1"})
    >>> gale = probabilities(members, [2.0, 9.0], above=True, method=1.0)
    >>> gale.dims, gale.name, gale.values.round(4).tolist()
    (('time', 'threshold'), 'wind_probability_above', [[0.5, 0.0], [0.75, 0.0793]])
    """
    kind = "probability_above" if above else "probability_below"
    argument = thresholds, "thresholds", "threshold"
    return _asked(blocks.probability_block, kind, x, argument, dim, options, above=above)


def quantiles(
    x: Labelled, p: ArrayLike | xr.DataArray, dim: Hashable = "member", **options: Unpack[Shared]
) -> Labelled:
    """Quantiles in the variable's units: `ensembles.quantiles`.

    `p` is one probability or a list, which becomes the dimension ``quantile`` as in xarray's own quantiles, or a
    DataArray with the cells' dimensions and at most one more. Other parameters are those of `log_scores`.
    """
    return _asked(blocks.quantile_block, "quantile", x, (p, "p", "quantile"), dim, options)


def _asked(
    block: Callable[..., Any],
    kind: str,
    x: Labelled,
    argument: tuple[ArrayLike | xr.DataArray, str, str],
    dim: Hashable,
    options: Shared,
    **more: Any,
) -> Labelled:
    values, what, new = argument

    def one(x: Any, others: dict[str, Any], **mine: Any) -> Labelled:
        request = Request(x, dim, **mine)
        given, own = read_argument(values, request, what, new, units=what != "p")
        if what == "p" and not is_lazy(given):
            # Before lazy blocks are made, which would complain late.
            check_probabilities(given.values)
        return counted(*request.ask(block, [given], kinds=[kind], core=[own], **more))

    return each_variable(one, x, {}, dim, options)


def atom_probabilities(
    x: Labelled,
    atoms: Sequence[float] | Mapping[Hashable, Sequence[float]],
    dim: Hashable = "member",
    *,
    bounds: Sequence[float | None] | Mapping[Hashable, Sequence[float | None]] | None = None,
) -> Labelled:
    """Probabilities of atoms along a new dimension ``atom``: `ensembles.atom_probabilities`."""

    def one(x: Any, others: dict[str, Any], **mine: Any) -> Labelled:
        points = sorted(float(atom) for atom in mine.get("atoms", ()))
        request = Request(x, dim, method=1.0, **mine)
        made = request.ask(blocks.atom_probability_block, kinds=["atom_probability"], new={"atom": len(points)})
        return counted(*made).assign_coords(atom=points)

    return each_variable(one, x, {}, dim, {"atoms": atoms, "bounds": bounds})
