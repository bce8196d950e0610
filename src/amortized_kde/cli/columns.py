"""What `fit` and `compare` do with several columns."""

from typing import TYPE_CHECKING, Any

import typer

from amortized_kde.cli.options import read_limits
from amortized_kde.cli.output import print_facts, print_json
from amortized_kde.errors import DegenerateSampleError, InvalidBoundsError, InvalidParameterError

if TYPE_CHECKING:
    from amortized_kde.integrations.tables import SeveralColumns

Box = dict[str, tuple[float | None, float | None] | None]


def refuse(options: dict[str, Any]) -> None:
    """Raise `InvalidParameterError` if an option is given that is for one column."""
    for name, value in options.items():
        if value is not None:
            instead = "give --column-bounds, such as x=0:none," if name == "--bounds" else "leave it out"
            raise InvalidParameterError(f"{name} is for one column; {instead} with --columns.")


def read_table(file: str, columns: str, weights: str | None, sheet: str | None, nan: Any) -> "SeveralColumns":
    """Return the columns that are named with commas between them."""
    from amortized_kde.integrations.tables import read_columns

    return read_columns(file, _split(columns), weights=weights, sheet=sheet, nan=nan)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def read_box_of(table: "SeveralColumns", columns: str, bounds: str | None) -> Box:
    """Return the bounds of columns that are given as NAME=A:B, by the names of --columns or of the table."""
    names = dict(zip(_split(columns), table.values, strict=True))
    box: Box = {}
    for part in _split(bounds or ""):
        column, _, pair = part.rpartition("=")
        lower, colon, upper = pair.partition(":")
        if not column or not colon:
            raise InvalidBoundsError(
                f"--column-bounds takes NAME=A:B with commas between, such as x=0:none, not {part!r}."
            )
        column = column.strip()
        box[names.get(column, column)] = read_limits((lower.strip() or "none", upper.strip() or "none"))
    return box


def fit_columns(
    table: "SeveralColumns", box: Box, *, method: str | None, plot: str | None, threads: int | None, as_json: bool
) -> None:
    """Print the density of several columns, and draw it."""
    import amortized_kde as akde

    density = akde.fit(table.values, weights=table.weights, bounds=box, method=method, threads=threads)
    if plot is not None:
        from amortized_kde.density import plotting

        figure = plotting.new_figure(6.0, 5.0) if density.dimension == 2 else plotting.new_figure(8.0, 8.0)
        target = figure.add_subplot() if density.dimension == 2 else figure
        density.plot(target)
        plotting.save_figure(figure.axes[0], plot)
    margins = [density.marginal(axis) for axis in range(density.dimension)]
    facts = {
        **_about(table),
        "method": density.method,
        "bounds": list(density.bounds),
        "mean": density.mean().tolist(),
        "median": [margin.median() for margin in margins],
        "interval_90": [margin.interval(0.9) for margin in margins],
        "modes": [
            {"place": mode.place.tolist(), "height": mode.height, "prominence": mode.prominence}
            if as_json
            else f"({', '.join(f'{x:.6g}' for x in mode.place)})"
            for mode in density.modes()
        ],
        "files": [] if plot is None else [plot],
    }
    if as_json:
        print_json(facts | {"covariance": density.cov().tolist()})
    else:
        print_facts(facts)


def compare_columns(
    table: "SeveralColumns",
    box: Box,
    *,
    methods: list[str] | None,
    folds: int,
    plot: str | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Print methods side by side on several columns, and draw them."""
    import amortized_kde as akde

    if plot is not None and len(table.values) > 2:
        raise InvalidParameterError("--plot draws methods side by side for two columns; name two, or leave it out.")
    found = akde.compare(table.values, methods=methods, bounds=box, weights=table.weights, folds=folds, threads=threads)
    if all(row.density is None for row in found):
        raise DegenerateSampleError(f"no method has an answer for {table.source}; the first: {found.rows[0].failure}")
    if plot is not None:
        from amortized_kde.density import multivariate_plot, plotting

        densities = {row.method: row.density for row in found if row.density is not None}
        plotting.save_figure(multivariate_plot.draw_panels(densities, found.names, plotting.new_figure), plot)
    bounds = [box.get(name) or (None, None) for name in table.values]
    facts = {**_about(table), "bounds": bounds, "files": [] if plot is None else [plot]}
    if as_json:
        print_json({**facts, "protocol": found.protocol, "rows": [row.as_dict() for row in found]})
    else:
        print_facts(facts)
        typer.echo(f"\n{found}")


def _about(table: "SeveralColumns") -> dict[str, Any]:
    facts: dict[str, Any] = {
        "file": table.source,
        "columns": list(table.values),
        "observations": len(next(iter(table.values.values()))),
        "missing_omitted": table.omitted,
    }
    return facts if table.weights is None else {**facts, "weights": table.weights_name}
