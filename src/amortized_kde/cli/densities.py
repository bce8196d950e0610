"""The commands for samples: fit, compare, score."""

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from amortized_kde._files import check_target
from amortized_kde.cli.columns import compare_columns, fit_columns, read_box_of, read_table, refuse
from amortized_kde.cli.options import (
    Bandwidth,
    BoundsPair,
    Json,
    Method,
    Overwrite,
    Threads,
    check_bandwidth,
    read_limits,
)
from amortized_kde.cli.output import print_facts, print_json
from amortized_kde.errors import DegenerateSampleError, InvalidParameterError

if TYPE_CHECKING:
    from amortized_kde._compare import Comparison
    from amortized_kde.density import KernelDensity
    from amortized_kde.integrations.tables import Column


class Missing(StrEnum):
    """What to do with missing values."""

    fail = "raise"
    omit = "omit"


File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, TSV, one number per line, Excel, Parquet or Feather, also gzipped; - for standard input.",
    ),
]
ColumnName = Annotated[str | None, typer.Option("--column", metavar="NAME", help="Column, by name or number from 1.")]
ColumnNames = Annotated[
    str | None,
    typer.Option("--columns", metavar="A,B,...", help="Two to eight columns: the density of them together."),
]
ColumnBounds = Annotated[
    str | None,
    typer.Option(
        "--column-bounds", metavar="NAME=A:B,...", help="Limits of some of --columns, none for an open side: x=0:none."
    ),
]
WeightsName = Annotated[
    str | None,
    typer.Option("--weights", metavar="COLUMN", help="Column of importance weights, by name or number from 1."),
]
SheetName = Annotated[
    str | None, typer.Option("--sheet", metavar="NAME", help="Sheet of an Excel workbook; default: the first.")
]
Smooth = Annotated[
    float, typer.Option("--smooth", metavar="F", help="Multiply all bandwidths by F: 2 is smoother, 0.5 rougher.")
]
Picture = Annotated[str | None, typer.Option("--plot", metavar="PNG", help="Save a plot, as PNG, PDF or SVG.")]
Grid = Annotated[
    int, typer.Option("--grid", metavar="N", min=2, max=10**7, help="Number of points of the curve in files and plots.")
]
Nan = Annotated[Missing, typer.Option("--nan", help="Missing values: stop with an error, or leave them out.")]


def fit(
    file: File,
    column: ColumnName = None,
    columns: ColumnNames = None,
    column_bounds: ColumnBounds = None,
    weights: WeightsName = None,
    sheet: SheetName = None,
    bounds: BoundsPair = None,
    method: Method = None,
    bandwidth: Bandwidth = None,
    smooth: Smooth = 1.0,
    out: Annotated[
        str | None, typer.Option("--out", metavar="CSV", help="Write x, density, log_density and cdf.")
    ] = None,
    plot: Picture = None,
    grid: Grid = 512,
    nan: Nan = Missing.fail,
    overwrite: Overwrite = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Turn one column of numbers, or several, into a density."""
    from amortized_kde.integrations.tables import read_column, write_density

    _check_targets(file, out, plot, overwrite=overwrite)
    if columns is not None:
        refuse({"--column": column, "--bounds": bounds, "--bandwidth": bandwidth, "--out": out})
        refuse({"--smooth": None if smooth == 1.0 else smooth})
        table = read_table(file, columns, weights, sheet, nan.value)
        box = read_box_of(table, columns, column_bounds)
        fit_columns(table, box, method=method, plot=plot, threads=threads, as_json=as_json)
        return
    if column_bounds is not None:
        raise InvalidParameterError("--column-bounds is for --columns; one column takes --bounds A B.")
    data = read_column(file, column, weights=weights, sheet=sheet, nan=nan.value)
    density = _fit(data, bounds, method, bandwidth, threads)
    if smooth != 1.0:
        density = density.smoothed(smooth)
    if out is not None:
        write_density(out, density, density.grid(grid), threads=threads)
    if plot is not None:
        _draw_one(plot, density, data, grid)
    facts = {
        **_about(density, data),
        "mean": density.mean(),
        "median": density.ppf(0.5),
        "interval_90": density.interval(0.9),
        "modes": [mode._asdict() if as_json else f"{mode.place:.6g} ({mode.mass:.0%})" for mode in density.modes()],
        "files": [name for name in (out, plot) if name is not None],
    }
    (print_json if as_json else print_facts)(facts)


def compare(
    file: File,
    column: ColumnName = None,
    columns: ColumnNames = None,
    column_bounds: ColumnBounds = None,
    weights: WeightsName = None,
    sheet: SheetName = None,
    bounds: BoundsPair = None,
    methods: Annotated[
        str | None, typer.Option("--methods", metavar="A,B,...", help="Methods to compare; default: all.")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", metavar="K", min=2, help="Number of folds, held out in turn.")] = 10,
    plot: Picture = None,
    grid: Grid = 512,
    nan: Nan = Missing.fail,
    overwrite: Overwrite = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Compare methods on one sample: bandwidth, held-out score, modes."""
    import amortized_kde as akde
    from amortized_kde.integrations.tables import read_column

    _check_targets(file, None, plot, overwrite=overwrite)
    names = None if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    if columns is not None:
        refuse({"--column": column, "--bounds": bounds})
        table = read_table(file, columns, weights, sheet, nan.value)
        box = read_box_of(table, columns, column_bounds)
        compare_columns(table, box, methods=names, folds=folds, plot=plot, threads=threads, as_json=as_json)
        return
    if column_bounds is not None:
        raise InvalidParameterError("--column-bounds is for --columns; one column takes --bounds A B.")
    data = read_column(file, column, weights=weights, sheet=sheet, nan=nan.value)
    limits = read_limits(bounds)
    found = akde.compare(data.values, methods=names, bounds=limits, weights=data.weights, folds=folds, threads=threads)
    if all(row.density is None for row in found):
        raise DegenerateSampleError(
            f"no method has an answer for column {data.name!r} of {data.source}; the first: {found.rows[0].failure}"
        )
    if plot is not None:
        _draw_all(plot, found, data, limits, grid)
    facts = {**_about_data(data), "bounds": limits or (None, None), "files": [] if plot is None else [plot]}
    if as_json:
        print_json({**facts, "protocol": found.protocol, "rows": [row.as_dict() for row in found]})
    else:
        print_facts(facts)
        typer.echo(f"\n{found}")


def score(
    file: File,
    outcomes: Annotated[str, typer.Option("--outcomes", metavar="FILE", help="Numbers to score.")],
    column: ColumnName = None,
    weights: WeightsName = None,
    sheet: SheetName = None,
    outcomes_column: Annotated[
        str | None,
        typer.Option("--outcomes-column", metavar="NAME", help="Column of the outcomes; default: that of FILE."),
    ] = None,
    bounds: BoundsPair = None,
    method: Method = None,
    bandwidth: Bandwidth = None,
    nan: Nan = Missing.fail,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Score outcomes under the density of FILE, in bits; lower is better."""
    from amortized_kde import log_score
    from amortized_kde.integrations.tables import STANDARD_INPUT, read_column

    if file == outcomes == STANDARD_INPUT:
        raise InvalidParameterError("standard input can be read only once; give FILE or --outcomes a file's name.")
    data = read_column(file, column, weights=weights, sheet=sheet, nan=nan.value)
    truth = read_column(outcomes, outcomes_column, prefer=data.name, nan=nan.value)
    density = _fit(data, bounds, method, bandwidth, threads)
    scores = log_score(density, truth.values)
    facts = {
        **_about(density, data),
        "outcomes_file": truth.source,
        "outcomes": truth.values.size,
        "outcomes_missing_omitted": truth.omitted,
        **_about_scores(density, truth, scores),
    }
    if as_json:
        print_json({**facts, "scores": scores.tolist()})
    else:
        print_facts(facts)
        typer.echo("Scores are logarithmic, in bits; lower is better.")


def _check_targets(file: str, out: str | None, plot: str | None, *, overwrite: bool) -> None:
    """Raise if a file that would be written is read, exists, cannot be, or is named twice."""
    if out is not None:
        check_target(out, overwrite=overwrite, sources=(file,))
    if plot is not None:
        from amortized_kde.density.plotting import check_picture

        check_target(plot, overwrite=overwrite, sources=(file,), option="--plot")
        check_picture(plot)
        if out is not None and Path(out).resolve() == Path(plot).resolve():
            raise InvalidParameterError(f"--out and --plot are both {out!r}; give them different names.")


def _fit(
    data: "Column", bounds: tuple[str, str] | None, method: str | None, bandwidth: float | None, threads: int | None
) -> "KernelDensity":
    import amortized_kde as akde

    check_bandwidth(method, bandwidth)
    density: KernelDensity = akde.fit(
        data.values,
        weights=data.weights,
        bounds=read_limits(bounds),
        method=method,
        bandwidth=bandwidth,
        threads=threads,
    )
    return density


def _draw_one(path: str, density: "KernelDensity", data: "Column", grid: int) -> None:
    from amortized_kde.density import plotting

    ax = density.plot(plotting.new_axes(), count=grid)
    plotting.despine(ax)
    ax.set_title(f"{density.method}, bandwidth {density.bandwidth:.4g}, n = {density.points.size}", fontsize=10)
    # A dollar sign in a column's name does not begin a formula.
    ax.set_xlabel(_axis_name(data), parse_math=False)
    plotting.save_figure(ax, path)


def _draw_all(
    path: str,
    found: "Comparison",
    data: "Column",
    bounds: tuple[float | None, float | None] | None,
    grid: int,
) -> None:
    from amortized_kde.density import plotting

    ax = plotting.draw_comparison(
        found.curves(grid), points=data.values, bounds=bounds or (None, None), name=_axis_name(data)
    )
    plotting.save_figure(ax, path)


def _axis_name(data: "Column") -> str:
    return "x" if data.name.isdecimal() else data.name


def _about_data(data: "Column") -> dict[str, Any]:
    facts = {"file": data.source, "column": data.name, "observations": data.values.size}
    if data.weights is not None:
        from amortized_kde.data.reading import read_sample

        size = read_sample(data.values, weights=data.weights).effective_size
        facts |= {"weights": data.weights_name, "effective_size": size}
    return {**facts, "missing_omitted": data.omitted}


def _about(density: "KernelDensity", data: "Column") -> dict[str, Any]:
    return {
        **_about_data(data),
        "method": density.method,
        "bandwidth": density.bandwidth,
        "bounds": density.bounds,
        "working_domain": density.domain,
    }


def _about_scores(density: "KernelDensity", truth: "Column", scores: Any) -> dict[str, Any]:
    """Return the mean over all outcomes, infinite if one lies outside the bounds, and over those inside."""
    from amortized_kde.score import expected_score_by_draws

    inside = truth.values[scores < math.inf]
    mean = expected_score_by_draws(density, inside) if inside.size else None
    outside = truth.values.size - inside.size
    facts = {"outside_the_bounds": outside, "mean_score": math.inf if outside or mean is None else mean.value}
    if outside:
        facts["mean_score_inside"] = None if mean is None else mean.value
    return {**facts, "standard_error": None if mean is None else mean.standard_error}
