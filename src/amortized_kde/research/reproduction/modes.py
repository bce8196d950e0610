"""Numbers of modes of random Gaussian mixtures: the diagnostic behind the paper's Table 2."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.research.provenance import record_files
from amortized_kde.research.reproduction.tables import write_csv
from amortized_kde.research.tasks import MixtureWorld

# Table 2: percentages of densities with 1, 2, ..., 8 and at least 9 modes, by number of components.
PAPER_MODES = {
    8: (17.0, 36.2, 27.2, 13.7, 4.8, 1.0, 0.2, 0.0, 0.0),
    16: (14.4, 32.0, 26.8, 15.2, 7.3, 3.1, 0.9, 0.2, 0.0),
    32: (13.5, 30.0, 26.3, 15.5, 8.7, 4.0, 1.2, 0.6, 0.2),
}
_MOST = 9
# Densities for each K, and the prominence that makes a mode (section 3.3 and the note to Table 2).
_DENSITIES = 5000
_THRESHOLD = 0.02
# The narrowest component has a standard deviation of 0.015, fifteen steps of this grid.
_GRID = np.linspace(-1.0, 1.0, 2001)
_SEED = 2026
# Densities at a time: 8 MB of values.
_BLOCK = 500


@compiled
def _base(f: Array, peak: int, step: int) -> float:
    """Return the lowest value between a peak and the next higher value, or the end, on one side; -inf at an end."""
    lowest = np.inf
    i = peak + step
    while 0 <= i < f.size and f[i] <= f[peak]:
        lowest = min(lowest, f[i])
        i += step
    return lowest if lowest < np.inf else -np.inf


@entry
def _peaks(f: Array, heights: Array, prominences: Array) -> int:
    """Write height and prominence of every local maximum, the two ends included, and return their number."""
    found = 0
    for i in range(f.size):
        if (i == 0 or f[i - 1] < f[i]) and (i == f.size - 1 or f[i + 1] <= f[i]):
            heights[found] = f[i]
            prominences[found] = f[i] - max(_base(f, i, -1), _base(f, i, 1))
            found += 1
    return found


# What a prominence of 2 % is two per cent of; the paper leaves it open, and `maximum` fits its Table 2.
PROMINENCES: dict[str, Callable[[Array, Array], Array]] = {
    "maximum": lambda f, heights: np.full(heights.shape, f.max()),
    "own height": lambda f, heights: heights,
    "range": lambda f, heights: np.full(heights.shape, np.ptp(f)),
}


def count_modes(
    densities: Array, *, threshold: float = _THRESHOLD, relative_to: str = "maximum", falls_outside: bool = False
) -> Index:
    """Count the modes of densities given on a grid.

    A mode is a local maximum, an end of the interval included, whose prominence (its height above the higher
    of the two lowest points that separate it from higher ground, or from an end) is at least `threshold` of a
    reference height. The highest one always counts.

    Parameters
    ----------
    densities : array of shape (rows, m)
        One density a row, on a grid that covers its interval.
    threshold : float
        The least relative prominence (paper: 0.02).
    relative_to : {"maximum", "own height", "range"}
        The reference: the density's maximum, the mode's own height, or maximum minus minimum.
    falls_outside : bool
        Whether the fall to zero outside the interval counts at its ends, as well as the fall inside.

    Returns
    -------
    array of shape (rows,), int64

    Raises
    ------
    InvalidParameterError
        If there is no such reference.

    Examples
    --------
    >>> count_modes(np.array([[0.0, 1.0, 0.5, 2.0, 0.0], [3.0, 2.0, 1.0, 1.01, 1.0]]))
    array([2, 1])
    """
    if relative_to not in PROMINENCES:
        raise InvalidParameterError(f"relative_to must be one of {', '.join(PROMINENCES)}, not {relative_to!r}.")
    rows = np.pad(densities, ((0, 0), (1, 1))) if falls_outside else np.ascontiguousarray(densities)
    heights, prominences = np.empty(rows.shape[1]), np.empty(rows.shape[1])
    counts = np.empty(rows.shape[0], np.int64)
    for r, f in enumerate(rows):
        found = _peaks(f, heights, prominences)
        least = threshold * PROMINENCES[relative_to](f, heights[:found])
        counts[r] = max(1, int(np.count_nonzero(prominences[:found] >= least)))
    return counts


def mode_table(
    count: int = _DENSITIES, seed: int = _SEED, *, relative_to: str = "maximum", falls_outside: bool = False
) -> dict[int, tuple[float, ...]]:
    """Return the percentages of mixtures with 1, 2, ..., 8 and at least 9 modes, for K = 8, 16 and 32 (Table 2).

    There are `count` densities for each K; `relative_to` and `falls_outside` are as in `count_modes`.

    Examples
    --------
    >>> table = mode_table(20)
    >>> [round(sum(table[k])) for k in table]
    [100, 100, 100]
    """
    table = {}
    for components in PAPER_MODES:
        counts = np.concatenate(
            [
                count_modes(values, relative_to=relative_to, falls_outside=falls_outside)
                for values in _on_grid(components, count, seed)
            ]
        )
        fractions = np.bincount(np.minimum(counts, _MOST), minlength=_MOST + 1)[1:] / count
        table[components] = tuple((100.0 * fractions).tolist())
    return table


def _on_grid(components: int, count: int, seed: int) -> Iterator[Array]:
    for first in range(0, count, _BLOCK):
        yield MixtureWorld(components).truths(min(_BLOCK, count - first), seed=seed, first=first).pdf(_GRID)


def _lines(table: dict[int, tuple[float, ...]]) -> list[list[str]]:
    lines = [["K", "row", *map(str, range(1, _MOST)), f">={_MOST}"]]
    for components, ours in table.items():
        paper = PAPER_MODES[components]
        lines.append([str(components), "paper", *(f"{p:.1f}" for p in paper)])
        lines.append([str(components), "ours", *(f"{p:.1f}" for p in ours)])
        lines.append([str(components), "difference", *(f"{o - p:+.1f}" for o, p in zip(ours, paper, strict=True))])
    return lines


def render_modes(table: dict[int, tuple[float, ...]]) -> str:
    """Write our percentages under the paper's, with the differences in percentage points.

    Examples
    --------
    >>> print(render_modes({8: PAPER_MODES[8]}).splitlines()[1])
      8       paper  17.0  36.2  27.2  13.7   4.8   1.0   0.2   0.0   0.0
    """
    widths = [3, 12, *[6] * _MOST]
    rows = ["".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in _lines(table)]
    return "\n".join(rows)


def reading_lines(count: int = _DENSITIES, seed: int = _SEED) -> list[list[str]]:
    """Return, for every reading of "2 % relative prominence", the largest difference from each row of Table 2.

    Examples
    --------
    >>> reading_lines(20)[0]
    ['relative to', 'fall beyond an end', 'K = 8', 'K = 16', 'K = 32']
    """
    lines = [["relative to", "fall beyond an end", *(f"K = {components}" for components in PAPER_MODES)]]
    for relative_to in PROMINENCES:
        for falls_outside in (False, True):
            table = mode_table(count, seed, relative_to=relative_to, falls_outside=falls_outside)
            worst = [np.max(np.abs(np.subtract(ours, PAPER_MODES[k]))) for k, ours in table.items()]
            lines.append([relative_to, "counts" if falls_outside else "does not", *(f"{w:.1f}" for w in worst)])
    return lines


def reproduce_modes(out: str | os.PathLike[str], *, count: int = _DENSITIES, seed: int = _SEED) -> str:
    """Write ``table2_modes.csv`` and ``table2_readings.csv`` into a directory, and return both as text."""
    table, readings = mode_table(count, seed), reading_lines(count, seed)
    directory = Path(out)
    directory.mkdir(parents=True, exist_ok=True)
    for name, (header, *rows) in {"modes": _lines(table), "readings": readings}.items():
        write_csv(directory / f"table2_{name}.csv", header, rows)
        record_files(directory, [f"table2_{name}.csv"], {})
    other = "\n".join("".join(cell.ljust(20) for cell in line).rstrip() for line in readings)
    return f"{render_modes(table)}\n\nLargest difference, in points, by reading of the prominence:\n{other}"
