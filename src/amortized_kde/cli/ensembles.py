"""The command for files of forecast ensembles: ensemble."""

import math
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from amortized_kde.cli.options import (
    Atoms,
    Bandwidth,
    BoundsPair,
    Json,
    MemberDim,
    Method,
    Observations,
    ObservedVariable,
    Overwrite,
    Resolution,
    Threads,
    Variable,
    check_bandwidth,
    read_limits,
    read_numbers_list,
)
from amortized_kde.cli.output import WorkBar, print_facts, print_json
from amortized_kde.errors import InvalidParameterError

if TYPE_CHECKING:
    import xarray as xr

    from amortized_kde.ensembles.calibration import Calibration
    from amortized_kde.integrations.xarray.survey import Survey

# Quantiles that are written if no option asks for anything else.
_USUAL = "0.1,0.5,0.9"


class _Wanted(NamedTuple):
    """What to write besides scores."""

    quantiles: tuple[float, ...]
    above: tuple[float, ...]
    below: tuple[float, ...]


def ensemble(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Ensembles: NetCDF, or a Zarr folder.")],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Where to write: .nc or .zarr.")],
    var: Variable = None,
    obs: Observations = None,
    obs_var: ObservedVariable = None,
    member_dim: MemberDim = None,
    bounds: BoundsPair = None,
    atoms: Atoms = None,
    resolution: Resolution = None,
    climatology: Annotated[
        str | None,
        typer.Option("--climatology", metavar="FILE", help="Past values, for cells whose members are all at atoms."),
    ] = None,
    quantiles: Annotated[
        str | None,
        typer.Option(
            "--quantiles",
            metavar="P,...",
            help=f"Probabilities of quantiles; default, if nothing else is requested: {_USUAL}.",
        ),
    ] = None,
    above: Annotated[
        str | None,
        typer.Option("--above", metavar="X,...", help="Thresholds, for probabilities of exceeding them."),
    ] = None,
    below: Annotated[
        str | None, typer.Option("--below", metavar="X,...", help="Thresholds, for the distribution function.")
    ] = None,
    method: Method = None,
    bandwidth: Bandwidth = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="Seed for the PIT at atoms and tied ranks.")
    ] = 0,
    overwrite: Overwrite = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Turn a file of forecast ensembles into quantiles, probabilities and, with --obs or --obs-var, scores."""
    from amortized_kde.ensembles.options import find_calibration
    from amortized_kde.integrations.xarray import files
    from amortized_kde.integrations.xarray.checks import check_members, find_member_dim
    from amortized_kde.integrations.xarray.survey import survey as survey_file
    from amortized_kde.integrations.xarray.writing import check_results

    check_bandwidth(method, bandwidth)
    wanted = _read_wanted(quantiles, above, below, scored=bool(obs or obs_var))
    sources = tuple(path for path in (file, obs, climatology) if path is not None)
    check_results(out, overwrite=overwrite, sources=sources)
    x = files.open_ensembles(file, var, member_dim)
    dim = find_member_dim(x, member_dim)
    check_members(x, dim)
    truth = files.open_observations(obs or file, obs_var, x, dim) if obs or obs_var else None
    options: dict[str, Any] = {"bounds": read_limits(bounds), "atoms": read_numbers_list(atoms, "--atoms")}
    options |= {"method": method, "bandwidth": bandwidth}
    calibration = None if method is None else find_calibration(method)
    if calibration is not None:
        # The model was trained with them; others are refused.
        options["bounds"] = options["bounds"] or calibration.bounds
        options["atoms"] = options["atoms"] or calibration.atoms
        options["covariates"] = files.read_covariates(file, calibration.needs, x)
    if climatology is not None:
        options["climatology"] = files.open_observations(climatology, obs_var, x, dim).values
    survey = survey_file(x, truth, dim, bounds=options["bounds"], atoms=options["atoms"])
    unit, notes = _resolution(resolution, calibration, survey)
    results = _results(x, dim, truth, wanted, (seed, unit), options)
    _write(results, out, threads)
    facts = {
        "file": file,
        "variable": str(x.name),
        "members": x.sizes[dim],
        "method": str(results[0].attrs["akde_method"]),
        "bounds": options["bounds"] or (None, None),
        **({} if truth is None else {"resolution": unit or "exact"}),
        **survey.counts,
        **_summarise(x, truth, out, results),
        "files": [out],
    }
    if as_json:
        print_json({**facts, "notes": notes})
        return
    print_facts(facts)
    for note in notes:
        typer.echo(f"note: {note}")


def _read_wanted(quantiles: str | None, above: str | None, below: str | None, *, scored: bool) -> _Wanted:
    levels = read_numbers_list(above, "--above"), read_numbers_list(below, "--below")
    if all(levels) and levels[0] != levels[1]:
        raise InvalidParameterError("--above and --below share a dimension of thresholds; give both the same ones.")
    nothing = not (scored or above or below)
    return _Wanted(read_numbers_list(quantiles or (_USUAL if nothing else None), "--quantiles"), *levels)


def _resolution(given: float | None, calibration: "Calibration | None", survey: "Survey") -> tuple[float, list[str]]:
    """Return the unit of rounded observations, that of the model or found if not given; and notes for the user."""
    if given is not None:
        return given, list(survey.notes)
    if calibration is not None:
        return calibration.resolution, list(survey.notes)
    if survey.resolution == 0.0:
        return 0.0, list(survey.notes)
    found = f"observations look rounded to {survey.resolution:g}; scoring the rounded cells. Pass --resolution 0 to "
    return survey.resolution, [*survey.notes, found + "treat them as exact."]


def _results(
    x: "xr.DataArray",
    dim: Any,
    truth: "xr.DataArray | None",
    wanted: _Wanted,
    scoring: tuple[int, float],
    options: dict[str, Any],
) -> "list[xr.DataArray]":
    """Return all results, not yet computed; those with one number per cell come first."""
    import amortized_kde.integrations.xarray as labelled

    seed, unit = scoring
    results: list[Any] = []
    if truth is not None:
        results.append(labelled.log_scores(x, truth, dim, resolution=unit, **options))
        if options["atoms"]:
            parts = labelled.log_score_parts(x, truth, dim, resolution=unit, **options)
            results.extend(parts.data_vars.values())
        results.append(labelled.crps(x, truth, dim, **options))
        results.append(labelled.pit(x, truth, dim, seed=seed, **options))
        results.append(labelled.rank_histogram(x, truth, dim, seed=seed))
    if wanted.above:
        results.append(labelled.probabilities(x, wanted.above, dim, above=True, **options))
    if wanted.above and truth is not None:
        results.append(labelled.brier_scores(x, truth, wanted.above, dim, **options))
        results.extend(labelled.reliability(x, truth, wanted.above, dim, **options).data_vars.values())
    if wanted.below:
        results.append(labelled.probabilities(x, wanted.below, dim, **options))
    if wanted.quantiles:
        results.append(labelled.quantiles(x, wanted.quantiles, dim, **options))
    if options["atoms"]:
        learned = {key: options.get(key) for key in ("bounds", "method", "covariates")}
        results.append(labelled.atom_probabilities(x, options["atoms"], dim, **learned))
    elif options["bandwidth"] is None and "covariates" not in options:
        results.append(labelled.bandwidth(x, dim, **options))
    return results


def _write(results: "list[xr.DataArray]", out: str, threads: int | None) -> None:
    import xarray as xr

    from amortized_kde.integrations.xarray.writing import write_results

    merged = xr.merge([result.to_dataset() for result in results], combine_attrs="drop_conflicts")
    with WorkBar(1.0) as bar:
        bar.begin("ensembles")
        write_results(merged, out, report=bar.reach, threads=threads)


def _summarise(
    x: "xr.DataArray", truth: "xr.DataArray | None", out: str, results: "list[xr.DataArray]"
) -> dict[str, Any]:
    """Return counts, and mean scores if there are observations, of the written results."""
    from amortized_kde.integrations.xarray import files, tally

    name = str(results[0].name)
    with files.reading(out, {}) as written:
        first = written[name]
        counts = tally(first.isel({extra: 0 for extra in first.dims if extra not in x.dims}), truth)
        facts: dict[str, Any] = {"cells_without_answer": counts["cells_without_answer"]}
        if truth is None:
            return facts
        facts["observations_missing"] = counts["observations_missing"]
        facts["observations_outside_bounds"] = outside = counts["infinite"]
        inside = float(first.where(abs(first) < math.inf).mean())
        means = {"mean_log_score": math.inf, "mean_log_score_inside": inside} if outside else {"mean_log_score": inside}
        stem = name.removesuffix("log_score")
        means["mean_crps"] = float(written[f"{stem}crps"].mean())
        if f"{stem}brier_score" in written:
            brier = written[f"{stem}brier_score"]
            means["mean_brier_scores"] = brier.mean([cell for cell in brier.dims if cell in x.dims]).values.tolist()
        return {**facts, **means}
