"""The command for forecast ensembles in files: ensemble."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from amortized_kde.cli.options import Bandwidth, BoundsPair, Json, Method, Threads, read_limits, read_numbers_list
from amortized_kde.cli.reports import print_facts, print_json
from amortized_kde.data.reading import read_bounds
from amortized_kde.errors import InvalidParameterError

if TYPE_CHECKING:
    import xarray as xr


# What is written if nothing particular is asked for.
_USUAL = "0.1,0.5,0.9"


def ensemble(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Ensembles: NetCDF, or a Zarr folder.")],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Where to write: .nc or .zarr.")],
    var: Annotated[
        str | None, typer.Option("--var", metavar="NAME", help="Variable; default: the only one with members.")
    ] = None,
    dim: Annotated[str, typer.Option("--dim", metavar="NAME", help="Dimension of the members.")] = "member",
    obs: Annotated[
        str | None, typer.Option("--obs", metavar="FILE", help="Observations: scores, CRPS and PIT are written.")
    ] = None,
    obs_var: Annotated[
        str | None, typer.Option("--obs-var", metavar="NAME", help="Variable of the observations; default: as --var.")
    ] = None,
    bounds: BoundsPair = None,
    atoms: Annotated[
        str | None,
        typer.Option("--atoms", metavar="A,B,...", help="Values with a probability of their own, as 0 rain."),
    ] = None,
    climatology: Annotated[
        str | None,
        typer.Option("--climatology", metavar="FILE", help="Past values, for cells with no members but at atoms."),
    ] = None,
    quantiles: Annotated[
        str | None,
        typer.Option("--quantiles", metavar="P,...", help=f"Default: {_USUAL} if nothing else is asked for."),
    ] = None,
    above: Annotated[
        str | None, typer.Option("--above", metavar="X,...", help="Thresholds: probabilities of exceeding them.")
    ] = None,
    method: Method = None,
    bandwidth: Bandwidth = None,
    dress: Annotated[
        str | None,
        typer.Option("--dress", metavar="DIR", help="Correct members first, as the model in DIR learned with --dress."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the PIT at atoms.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Turn a file of forecast ensembles into bandwidths, quantiles, probabilities and scores."""
    from amortized_kde.integrations.xarray import files

    if method is not None and bandwidth is not None:
        raise InvalidParameterError("--method and --bandwidth exclude each other; give one of them.")
    if obs is None and obs_var is not None:
        raise InvalidParameterError("--obs-var names a variable of --obs; give that file too.")
    sources = tuple(path for path in (file, obs, climatology) if path is not None)
    files.check_target(out, overwrite=overwrite, sources=sources)
    x = files.open_ensembles(file, var, dim)
    if dress is not None:
        x = x.akde.dressed(dress, dim)
    truth = None if obs is None else files.open_observations(obs, obs_var, x)
    options: dict[str, Any] = {"bounds": read_limits(bounds), "atoms": read_numbers_list(atoms, "--atoms")}
    if method is not None or bandwidth is not None:
        options["method"] = method if bandwidth is None else bandwidth
    if climatology is not None:
        options["climatology"] = files.open_observations(climatology, obs_var, x).values
    asked = read_numbers_list(quantiles or (None if obs or above else _USUAL), "--quantiles")
    results = _results(x, dim, truth, asked, read_numbers_list(above, "--above"), seed, options)
    _write(results, out, threads)
    facts = {
        "file": file,
        "variable": str(x.name),
        "members": x.sizes[dim],
        "method": str(results[0].attrs["akde_method"]),
        "bounds": options["bounds"] or (None, None),
        **_judge(x, dim, truth, out, results, options["bounds"]),
        "files": [out],
    }
    (print_json if as_json else print_facts)(facts)


def _results(
    x: "xr.DataArray",
    dim: str,
    truth: "xr.DataArray | None",
    quantiles: tuple[float, ...],
    above: tuple[float, ...],
    seed: int,
    options: dict[str, Any],
) -> "list[xr.DataArray]":
    """All that was asked for, not yet computed; what there is one of in each cell comes first."""
    import amortized_kde.integrations.xarray as labelled

    made: list[Any] = []
    if truth is not None:
        made.append(labelled.log_scores(x, truth, dim, **options))
        if options["atoms"]:
            made.extend(labelled.log_score_parts(x, truth, dim, **options).data_vars.values())
        made.append(labelled.crps(x, truth, dim, **options))
        made.append(labelled.pit(x, truth, dim, seed=seed, **options))
    if above:
        made.append(labelled.probabilities(x, above, dim, above=True, **options))
    if quantiles:
        made.append(labelled.quantiles(x, quantiles, dim, **options))
    if options["atoms"]:
        made.append(labelled.atom_probabilities(x, options["atoms"], dim, bounds=options["bounds"]))
    elif isinstance(options.get("method", ""), str):
        made.append(labelled.bandwidth(x, dim, **options))
    return made


def _write(results: "list[xr.DataArray]", out: str, threads: int | None) -> None:
    import xarray as xr

    from amortized_kde.cli.workbar import WorkBar
    from amortized_kde.integrations.xarray.files import write_results

    merged = xr.merge([result.to_dataset() for result in results], combine_attrs="drop_conflicts")
    with WorkBar(1.0) as bar:
        bar.begin("ensembles")
        write_results(merged, out, report=bar.reach, threads=threads)


def _judge(
    x: "xr.DataArray",
    dim: str,
    truth: "xr.DataArray | None",
    out: str,
    results: "list[xr.DataArray]",
    bounds: tuple[float | None, float | None] | None,
) -> dict[str, Any]:
    """Counts, and mean scores if there are observations, of what was written."""
    from amortized_kde.integrations.xarray import files, tally

    name = str(results[0].name)
    with files.reading(out, {}) as written:
        first = written[name]
        counts = tally(first.isel({extra: 0 for extra in first.dims if extra not in x.dims}), truth)
        facts = {
            "cells": counts["cells"],
            "cells_without_members": int(x.isnull().all(dim).sum()),
        }
        if bounds is not None:
            lower, upper = read_bounds(bounds)
            facts["cells_with_members_outside"] = int(((x < lower) | (x > upper)).any(dim).sum())
        facts["cells_without_answer"] = counts["cells_without_answer"]
        if truth is None:
            return facts
        facts["observations_missing"] = counts["observations_missing"]
        facts["observations_outside_bounds"] = outside = counts["infinite"]
        inside = float(first.where(abs(first) < math.inf).mean())
        means = {"mean_log_score": math.inf, "mean_log_score_inside": inside} if outside else {"mean_log_score": inside}
        ranked = name.removesuffix("log_score") + "crps"
        return {**facts, **means, "mean_crps": float(written[ranked].mean())}
