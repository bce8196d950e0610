"""The modes of a density: places, heights, prominences and masses."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array
from amortized_kde.density.curve import Function
from amortized_kde.density.extrema import FLAT, Extrema, prominences

# The least prominence of modes that are reported unless another is asked for; `KernelDensity.modes` says why.
PROMINENCE = 0.05


class Mode(NamedTuple):
    """One mode: see `Modes`."""

    place: float
    height: float
    prominence: float
    mass: float


@dataclass(frozen=True, eq=False)
class Modes:
    """The modes of a density, ascending by place; a sequence of `Mode`, and an array of each property.

    Attributes
    ----------
    places : array of shape (k,)
        Where the density has a local maximum, in data units.
    heights : array of shape (k,)
        The density there.
    prominences : array of shape (k,)
        How far the density falls on the way to a higher mode, relative to the highest density; the highest mode has 1.
    masses : array of shape (k,)
        Probability between the lowest points that separate a mode from those reported next to it; their sum is 1.

    Examples
    --------
    >>> import amortized_kde as akde
    >>> modes = akde.KernelDensity([4.0, 5.0, 6.0, 20.0], bandwidth=1.0).modes()
    >>> len(modes), modes.masses.round(4)
    (2, array([0.75, 0.25]))
    >>> for mode in modes:
    ...     print(f"{mode.place:.2f} has {100 * mode.mass:.0f} %")
    5.00 has 75 %
    20.00 has 25 %
    >>> modes
    place   height  prominence  mass
        5   0.2207           1  0.75
       20  0.09974      0.4519  0.25
    """

    places: Array
    heights: Array
    prominences: Array
    masses: Array

    def __len__(self) -> int:
        return self.places.size

    def __getitem__(self, i: int) -> Mode:
        return Mode(*(float(column[i]) for column in self._columns))

    def __iter__(self) -> Iterator[Mode]:
        return (self[i] for i in range(len(self)))

    @property
    def _columns(self) -> tuple[Array, ...]:
        return self.places, self.heights, self.prominences, self.masses

    def __repr__(self) -> str:
        rows = [list(Mode._fields), *([f"{number:.4g}" for number in mode] for mode in self)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(cell.rjust(n) for cell, n in zip(row, widths, strict=True)) for row in rows)


def modes_among(extrema: Extrema, prominence: float, pdf: Function, cdf: Function) -> Modes:
    """Return the peaks with at least this prominence, relative to the highest."""
    peaks, peak_logs, valleys, valley_logs = extrema
    highest = peak_logs.max()
    peak, valley = np.exp(peak_logs - highest), np.exp(valley_logs - highest)
    rise = prominences(peak, valley)
    kept = np.flatnonzero(rise >= max(prominence, FLAT))
    lowest = [i + int(np.argmin(valley[i:j])) for i, j in pairwise(kept)]
    masses = np.diff(cdf(valleys[lowest]), prepend=0.0, append=1.0)
    return Modes(peaks[kept], pdf(peaks[kept]), rise[kept], masses)
