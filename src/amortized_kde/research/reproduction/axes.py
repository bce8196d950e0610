"""Broken axes for matplotlib: linear up to a value, logarithmically compressed above it (the paper's Figure 1)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array


@dataclass(frozen=True)
class BrokenScale:
    r"""An axis that is linear up to `end` and logarithmic above, without a jump or a kink.

    .. math:: s(v) = v \ (v \le e), \qquad s(v) = e + w \log(1 + (v - e)/w) \ (v > e),

    so that s and its slope are continuous at the end e; the width w says how soon the logarithm takes over.

    Examples
    --------
    >>> scale = BrokenScale(end=20.0, width=5.0)
    >>> scale.forward([5.0, 20.0, 25.0]).round(3).tolist()
    [5.0, 20.0, 23.466]
    >>> scale.inverse(scale.forward(256.0)).round(9).item()
    256.0
    """

    end: float
    width: float

    def forward(self, value: ArrayLike) -> Array:
        """Return the places of values on the axis."""
        v = np.asarray(value, np.float64)
        above = np.maximum(v - self.end, 0.0)
        return np.asarray(np.minimum(v, self.end) + self.width * np.log1p(above / self.width))

    def inverse(self, place: ArrayLike) -> Array:
        """Return the values at places on the axis."""
        s = np.asarray(place, np.float64)
        above = np.maximum(s - self.end, 0.0)
        return np.asarray(np.minimum(s, self.end) + self.width * np.expm1(above / self.width))


def fit_scale(low: float, end: float, high: float, *, fraction: float) -> BrokenScale:
    """Return the scale on which [low, end] takes at least `fraction` of an axis from low to high.

    If the linear part takes that much without compression, there is next to none.
    """
    above = (end - low) * (1.0 - fraction) / fraction
    least, most = 1e-9 * (end - low), 1e9 * (end - low)
    # The compressed length grows with the width, from nothing to high - end; 100 halvings exhaust a float64.
    for _ in range(100):
        width = math.sqrt(least * most)
        reach = width * math.log1p(max(high - end, 0.0) / width)
        least, most = (width, most) if reach < above else (least, width)
    return BrokenScale(end, width)


def round_ticks(scale: BrokenScale, *, low: float, high: float, step: float) -> list[float]:
    """Return ticks at multiples of `step` up to the scale's end, and at 1, 2, 5, 10, ... above.

    Ticks above that are closer to their neighbour below than two thirds of a step are left out.

    Examples
    --------
    >>> round_ticks(BrokenScale(2.0, 0.2), low=0.0, high=100.0, step=1.0)
    [0.0, 1.0, 2.0, 10.0]
    """
    ticks = [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(scale.end / step + 1e-9) + 1)]
    decades = range(math.floor(math.log10(max(scale.end, 0.1))), math.floor(math.log10(max(high, 0.1))) + 1)
    for tick in (digit * 10.0**k for k in decades for digit in (1, 2, 5)):
        if scale.end < tick <= high and scale.forward(tick) - scale.forward(ticks[-1]) >= step * 2.0 / 3.0:
            ticks.append(tick)
    return ticks


def set_scale(ax: Any, which: str, scale: BrokenScale, ticks: Sequence[float]) -> None:
    """Set the scale of the "x" or "y" axis, with ticks that show the real values."""
    getattr(ax, f"set_{which}scale")("function", functions=(scale.forward, scale.inverse))
    set_ticks(ax, which, ticks)


def set_ticks(ax: Any, which: str, ticks: Sequence[float]) -> None:
    """Set the ticks of an axis, labelled in plain digits, without minor ticks."""
    getattr(ax, f"set_{which}ticks")(ticks, [f"{tick:.7g}".replace("-", "−") for tick in ticks])
    getattr(ax, f"set_{which}ticks")([], minor=True)
