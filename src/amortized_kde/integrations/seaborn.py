"""A `kdeplot` that is called as seaborn's and draws densities of this package: curves of x, or contours of x and y.

It can be given to seaborn's ``FacetGrid.map_dataframe`` and ``PairGrid.map_lower``. Importing this needs matplotlib;
seaborn is imported only where a palette is named.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from amortized_kde.density import plotting
from amortized_kde.density.multivariate_plot import LEVELS
from amortized_kde.errors import (
    AmortizedKdeWarning,
    DegenerateSampleError,
    InvalidParameterError,
    InvalidSampleError,
    warn_caller,
)
from amortized_kde.estimate import fit

__all__ = ["kdeplot"]


def kdeplot(
    data: Any = None,
    *,
    x: Any = None,
    y: Any = None,
    hue: Any = None,
    weights: Any = None,
    bounds: Any = None,
    method: str | None = None,
    levels: Sequence[float] = LEVELS,
    fill: bool = False,
    points: bool | str = False,
    hue_order: Sequence[Any] | None = None,
    palette: Any = None,
    color: Any = None,
    label: str | None = None,
    legend: bool = True,
    ax: Any = None,
) -> Any:
    """Draw the density of x, or contours of the density of x and y, for every group of `hue`.

    Parameters
    ----------
    data : table or mapping, optional
        Where `x`, `y`, `hue` and `weights` are names of columns; without it they are vectors.
    x, y : str or array_like of shape (n,)
        The variables. Rows with a missing value are left out.
    hue : str or array_like of shape (n,), optional
        Groups; each has a density of its own, with total probability 1.
    weights : str or array_like of shape (n,), optional
        Importance weights.
    bounds : optional
        As in `amortized_kde.fit`: of x a pair, of x and y two pairs or a dict by name.
    method : str, optional
        As in `amortized_kde.fit`.
    levels : sequence of float
        Probabilities inside the contours. In seaborn, levels are probabilities outside of them.
    fill : bool
        Shade the region inside each contour, or the area below the curve.
    points : bool or "rug"
        Draw the points; of x alone a rug.
    hue_order, palette, color, label, legend
        As in seaborn.
    ax : matplotlib.axes.Axes, optional
        Default: pyplot's current ones.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    AmortizedKdeError
        As `amortized_kde.fit`, unless there are groups.

    Warns
    -----
    AmortizedKdeWarning
        For each group without a density, such as one of a single row; the others are drawn.

    Examples
    --------
    >>> import pandas as pd
    >>> from matplotlib.figure import Figure
    >>> rng = np.random.default_rng(1)
    >>> table = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40), "kind": ["u", "v"] * 20})
    >>> ax = kdeplot(table, x="a", y="b", hue="kind", method="scott", ax=Figure().add_subplot())
    >>> ax.get_xlabel(), ax.get_ylabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('a', 'b', ['u', 'v'])
    """
    if x is None:
        raise InvalidParameterError("kdeplot needs x, or x and y: names of columns of data, or vectors.")
    given = {role: _column(data, key, role) for role, key in {"x": x, "y": y}.items() if key is not None}
    if len({name for name, _ in given.values()}) < len(given):
        # Two vectors without names, or the same column twice.
        given = {role: (role, column) for role, (_, column) in given.items()}
    ax = plotting.current_axes() if ax is None else ax
    options = {"bounds": bounds, "method": method, "levels": levels, "fill": fill, "points": points}
    mass = None if weights is None else np.asarray(_column(data, weights, "weights")[1])
    if hue is None:
        _draw(ax, dict(given.values()), mass, color or plotting.COLOURS[0], label, **options)
        return ax
    title, groups = _column(data, hue, "hue")
    order = _order(groups) if hue_order is None else list(hue_order)
    for group, shade in zip(order, _colors(order, palette), strict=True):
        rows = np.asarray(groups) == group
        columns = {name: np.asarray(column)[rows] for name, column in given.values()}
        try:
            _draw(ax, columns, None if mass is None else mass[rows], shade, str(group), **options)
        except (DegenerateSampleError, InvalidSampleError) as error:
            warn_caller(f"{title} = {group} is left out: {error}", AmortizedKdeWarning)
    if legend and ax.get_legend_handles_labels()[0]:
        ax.legend(title=title)
    return ax


def _column(data: Any, key: Any, role: str) -> tuple[str, Any]:
    """The name and the values of a column that is named, or given itself."""
    if data is None or not isinstance(key, Hashable):
        name = getattr(key, "name", None)
        return (name if isinstance(name, str) else role), key
    try:
        return str(key), data[key]
    except Exception:
        # Every kind of table has an error of its own.
        raise InvalidParameterError(f"data has no column {str(key)[:100]!r} for {role}.") from None


def _order(groups: Any) -> list[Any]:
    """Groups in the order of their categories, of their numbers, or of their first rows."""
    if hasattr(groups, "cat") and hasattr(groups.cat, "categories"):
        present = set(groups)
        return [group for group in groups.cat.categories if group in present]
    found = [group for group in dict.fromkeys(np.asarray(groups).tolist()) if group is not None and group == group]
    return sorted(found) if all(isinstance(group, (int, float)) for group in found) else found


def _colors(order: list[Any], palette: Any) -> list[Any]:
    if isinstance(palette, dict):
        return [palette[group] for group in order]
    if palette is None and len(order) <= len(plotting.COLOURS):
        return list(plotting.COLOURS[: len(order)])
    import seaborn  # type: ignore[import-untyped]

    return list(seaborn.color_palette(palette or "husl", len(order)))


def _draw(
    ax: Any,
    columns: dict[str, Any],
    weights: Any,
    color: Any,
    label: str | None,
    *,
    bounds: Any,
    method: str | None,
    levels: Sequence[float],
    fill: bool,
    points: bool | str,
) -> None:
    """Draw one group."""
    if len(columns) == 1:
        ((name, column),) = columns.items()
        density = fit(column, weights=weights, bounds=bounds, method=method, nan="omit")
        density.plot(ax, fill=fill, rug=bool(points), color=color, label=label)
        ax.set_xlabel(name, parse_math=False)
    else:
        density = fit(columns, weights=weights, bounds=bounds, method=method, nan="omit")
        density.plot(ax, levels=levels, fill=fill, points=points, color=color)
        # An empty line, for legends.
        ax.plot([], [], color=color, label=label)
