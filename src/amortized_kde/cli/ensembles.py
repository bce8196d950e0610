"""The command for files of forecast ensembles: ensemble."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from amortized_kde.cli.options import (
    Atoms,
    Bandwidth,
    BoundsPair,
    Json,
    Method,
    Threads,
    check_bandwidth,
    read_limits,
    read_numbers_list,
)
from amortized_kde.cli.output import WorkBar, print_facts, print_json
from amortized_kde.data.reading import read_bounds
from amortized_kde.errors import InvalidParameterError

if TYPE_CHECKING:
    import xarray as xr

# Quantiles that are written if no option asks for anything else.
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
    atoms: Atoms = None,
    climatology: Annotated[
        str | None,
        typer.Option("--climatology", metavar="FILE", help="Past values, for cells whose members are all at atoms."),
    ] = None,
    quantiles: Annotated[
        str | None,
        typer.Option("--quantiles", metavar="P,...", help=f"Default: {_USUAL}, without --obs and --above."),
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
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the randomised PIT at atoms.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Turn a file of forecast ensembles into bandwidths, quantiles, probabilities and scores."""
    from amortized_kde.integrations.xarray import files

    check_bandwidth(method, bandwidth)
    if obs is None and obs_var is not None:
        raise InvalidParameterError("--obs-var names a variable of --obs; give that file too.")
    sources = tuple(path for path in (file, obs, climatology) if path is not None)
    files.check_target(out, overwrite=overwrite, sources=sources)
    x = files.open_ensembles(file, var, dim)
    if dress is not None:
        x = x.akde.dressed(dress, dim)
    truth = None if obs is None else files.open_observations(obs, obs_var, x)
    options: dict[str, Any] = {"bounds": read_limits(bounds), "atoms": read_numbers_list(atoms, "--atoms")}
    options |= {"method": method, "bandwidth": bandwidth}
    if climatology is not None:
        options["climatology"] = files.open_observations(climatology, obs_var, x).values
    wanted = read_numbers_list(quantiles or (None if obs or above else _USUAL), "--quantiles")
    results = _results(x, dim, truth, wanted, read_numbers_list(above, "--above"), seed, options)
    _write(results, out, threads)
    facts = {
        "file": file,
        "variable": str(x.name),
        "members": x.sizes[dim],
        "method": str(results[0].attrs["akde_method"]),
        "bounds": options["bounds"] or (None, None),
        **_summarise(x, dim, truth, out, results, options["bounds"]),
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
    """Return all results, not yet computed; those with one number per cell come first."""
    import amortized_kde.integrations.xarray as labelled

    results: list[Any] = []
    if truth is not None:
        results.append(labelled.log_scores(x, truth, dim, **options))
        if options["atoms"]:
            results.extend(labelled.log_score_parts(x, truth, dim, **options).data_vars.values())
        results.append(labelled.crps(x, truth, dim, **options))
        results.append(labelled.pit(x, truth, dim, seed=seed, **options))
    if above:
        results.append(labelled.probabilities(x, above, dim, above=True, **options))
    if quantiles:
        results.append(labelled.quantiles(x, quantiles, dim, **options))
    if options["atoms"]:
        results.append(labelled.atom_probabilities(x, options["atoms"], dim, bounds=options["bounds"]))
    elif options["bandwidth"] is None:
        results.append(labelled.bandwidth(x, dim, **options))
    return results


def _write(results: "list[xr.DataArray]", out: str, threads: int | None) -> None:
    import xarray as xr

    from amortized_kde.integrations.xarray.files import write_results

    merged = xr.merge([result.to_dataset() for result in results], combine_attrs="drop_conflicts")
    with WorkBar(1.0) as bar:
        bar.begin("ensembles")
        write_results(merged, out, report=bar.reach, threads=threads)


def _summarise(
    x: "xr.DataArray",
    dim: str,
    truth: "xr.DataArray | None",
    out: str,
    results: "list[xr.DataArray]",
    bounds: tuple[float | None, float | None] | None,
) -> dict[str, Any]:
    """Return counts, and mean scores if there are observations, of the written results."""
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
