"""Broken axes: linear up to a value, logarithmically compressed above it (the paper's Figure 1).

Limits enter, a scale for matplotlib and ticks with real values leave.
"""

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

    so that s and its slope go on smoothly at the end e; the width w says how soon the logarithm takes over.

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
        """Place values on the axis."""
        v = np.asarray(value, np.float64)
        above = np.maximum(v - self.end, 0.0)
        return np.asarray(np.minimum(v, self.end) + self.width * np.log1p(above / self.width))

    def inverse(self, place: ArrayLike) -> Array:
        """Give the values that stand at places on the axis."""
        s = np.asarray(place, np.float64)
        above = np.maximum(s - self.end, 0.0)
        return np.asarray(np.minimum(s, self.end) + self.width * np.expm1(above / self.width))


def fit_scale(low: float, end: float, high: float, *, share: float) -> BrokenScale:
    """Give the scale on which [low, end] takes at least `share` of an axis that reaches from low to high.

    If the linear part takes that much without compression, there is next to none.
    """
    room = (end - low) * (1.0 - share) / share
    least, most = 1e-9 * (end - low), 1e9 * (end - low)
    # The compressed length grows with the width, from nothing to high - end; 100 halvings exhaust a float64.
    for _ in range(100):
        width = math.sqrt(least * most)
        reach = width * math.log1p(max(high - end, 0.0) / width)
        least, most = (width, most) if reach < room else (least, width)
    return BrokenScale(end, width)


def round_ticks(scale: BrokenScale, *, low: float, high: float, step: float) -> list[float]:
    """Give ticks at multiples of `step` up to the scale's end, and at 1, 2, 5, 10, ... above.

    Those above that would stand closer to their neighbour below than two thirds of a step are left out.

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
    """Put a scale on the "x" or "y" axis of matplotlib axes, with ticks that say the real values."""
    getattr(ax, f"set_{which}scale")("function", functions=(scale.forward, scale.inverse))
    set_ticks(ax, which, ticks)


def set_ticks(ax: Any, which: str, ticks: Sequence[float]) -> None:
    """Put ticks on an axis that say their values in plain digits, and none between them."""
    getattr(ax, f"set_{which}ticks")(ticks, [f"{tick:.7g}".replace("-", "−") for tick in ticks])
    getattr(ax, f"set_{which}ticks")([], minor=True)
