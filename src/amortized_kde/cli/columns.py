"""What `fit` and `compare` do with several columns."""

from typing import TYPE_CHECKING, Any

import typer

from amortized_kde.cli.output import print_facts, print_json
from amortized_kde.errors import DegenerateSampleError, InvalidParameterError

if TYPE_CHECKING:
    from amortized_kde.integrations.tables import SeveralColumns


def refuse(options: dict[str, Any]) -> None:
    """Raise `InvalidParameterError` if an option is given that is for one column."""
    for name, value in options.items():
        if value is not None:
            raise InvalidParameterError(f"{name} is for one column; leave it out with --columns.")


def read_table(file: str, columns: str, weights: str | None, sheet: str | None, nan: Any) -> "SeveralColumns":
    """Return the columns that are named with commas between them."""
    from amortized_kde.integrations.tables import read_columns

    names = [name.strip() for name in columns.split(",") if name.strip()]
    return read_columns(file, names, weights=weights, sheet=sheet, nan=nan)


def fit_columns(
    table: "SeveralColumns", *, method: str | None, plot: str | None, threads: int | None, as_json: bool
) -> None:
    """Print the density of several columns, and draw it."""
    import amortized_kde as akde

    density = akde.fit(table.values, weights=table.weights, method=method, threads=threads)
    if plot is not None:
        from amortized_kde.density import plotting

        figure = plotting.new_figure(6.0, 5.0) if density.dimension == 2 else plotting.new_figure(8.0, 8.0)
        target = figure.add_subplot() if density.dimension == 2 else figure
        density.plot(target)
        plotting.save_figure(figure.axes[0], plot)
    modes = density.modes()
    facts = {
        **_about(table),
        "method": density.method,
        "mean": density.mean().tolist(),
        "covariance": density.cov().tolist(),
        "modes": [
            {"place": mode.place.tolist(), "height": mode.height, "prominence": mode.prominence}
            if as_json
            else f"({', '.join(f'{x:.6g}' for x in mode.place)})"
            for mode in modes
        ],
        "files": [] if plot is None else [plot],
    }
    if as_json:
        print_json(facts)
    else:
        print_facts(facts | {"covariance": [", ".join(f"{x:.6g}" for x in row) + ";" for row in facts["covariance"]]})


def compare_columns(
    table: "SeveralColumns",
    *,
    methods: list[str] | None,
    folds: int,
    plot: str | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Print methods side by side on several columns, and draw them."""
    import amortized_kde as akde

    found = akde.compare(table.values, methods=methods, weights=table.weights, folds=folds, threads=threads)
    if all(row.density is None for row in found):
        raise DegenerateSampleError(f"no method has an answer for {table.source}; the first: {found.rows[0].failure}")
    if plot is not None:
        from amortized_kde.density import multivariate_plot, plotting

        densities = {row.method: row.density for row in found if row.density is not None}
        plotting.save_figure(multivariate_plot.draw_panels(densities, found.names, plotting.new_figure), plot)
    facts = {**_about(table), "files": [] if plot is None else [plot]}
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
