"""Which bounds the estimator of a broad task is told, and where its true density is cut.

Natural bounds, ways of telling and uniform numbers enter; a plan leaves, which pilot draws turn into bounds.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.research.tasks.broad.settings import Settings
from amortized_kde.research.tasks.broad.shares import BOTH, KINDS, ONE, WIDE

# Uniform numbers that a task's bounds and ties need, by name.
CHANCES = (
    *("side", "keep", "cut", "slack_low", "slack_high", "near_low", "near_high", "far_low", "far_high"),
    *("classical", "tie", "unit", "phase"),
)

# Densities are cut here, though a Cauchy density goes on: at unit scale, this is twelve decades away.
FARTHEST_BOUND = 1e12
# Draws that say where a density lies; odd, with the quartiles at whole ranks.
PILOT = 33
# Interquartile range of a standard normal density, so that spreads are like standard deviations.
_QUARTILES = 1.349
# Bounds that are told where nothing ends, in spreads beyond the pilot draws.
_FAR = (100.0, 1e6)
# Some bounds that are told lie this many spreads outside the true support.
_SLACK_SHARE, _SLACK = 0.15, (0.1, 30.0)
# Half of Pareto's densities start at their own scale from the bound that is told, as Pareto had them.
_CLASSICAL_SHARE = 0.5
# Kinds whose natural bounds are those of a truncation, and Pareto's.
_TRUNCATED, _PARETO = (KINDS.index("mixture"), KINDS.index("family")), KINDS.index("pareto")


class Plan(NamedTuple):
    """For each task and side: is the natural bound told, is a far one told, and where the truth is cut until then."""

    tell_low: Flags
    tell_high: Flags
    far_low: Flags
    far_high: Flags
    cut_low: Array
    cut_high: Array


class Scale(NamedTuple):
    """Where pilot draws lie: the smallest, the largest, and their spread."""

    smallest: Array
    largest: Array
    spread: Array


def plan_bounds(kinds: Index, told: Index, settings: Settings, chance: dict[str, Array]) -> Plan:
    """Decide which of the natural bounds are told, which far ones, and where the truth is cut.

    A mixture or family that is not told a bound is as often cut there as not.
    """
    low, high = settings.low, settings.high
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    two, neither, first = has_low & has_high, ~has_low & ~has_high, chance["side"] < 0.5
    keeps = (told == ONE) | ((told == WIDE) & (chance["keep"] < 0.5))
    tell_low = has_low & ((told == BOTH) | (keeps & (~two | first)))
    tell_high = has_high & ((told == BOTH) | (keeps & (~two | ~first)))
    lone = (told == ONE) & neither
    hard = ~np.isin(kinds, _TRUNCATED) | (chance["cut"] < 0.5)
    return Plan(
        tell_low,
        tell_high,
        ((told == WIDE) & ~tell_low) | (lone & first),
        ((told == WIDE) & ~tell_high) | (lone & ~first),
        np.where(hard | tell_low, np.maximum(low, -FARTHEST_BOUND), -FARTHEST_BOUND),
        np.where(hard | tell_high, np.minimum(high, FARTHEST_BOUND), FARTHEST_BOUND),
    )


def measure(pilot: Array) -> Scale:
    """Say where pilot draws (tasks, PILOT) lie."""
    ranked, quarter = np.sort(pilot, axis=1), PILOT // 4
    spread = (ranked[:, -1 - quarter] - ranked[:, quarter]) / _QUARTILES
    return Scale(ranked[:, 0], ranked[:, -1], spread)


def set_bounds(
    plan: Plan, kinds: Index, settings: Settings, scale: Scale, chance: dict[str, Array]
) -> tuple[Array, Array]:
    """Give the bounds (tasks,) and (tasks,) that estimators are told, infinite where open."""
    low, high, slopes = settings.low, settings.high, settings.parts.slopes[:, 0]
    slack = [_slack(kinds, slopes, scale, chance, side) for side in ("low", "high")]
    far = [_log_uniform(chance[f"far_{side}"], _FAR) * scale.spread for side in ("low", "high")]
    # Never inside a support that the pilot draws did not reach.
    lowest, highest = (np.where(np.isfinite(end), end, 0.0) for end in (low, high))
    lower = np.where(plan.far_low, np.minimum(scale.smallest, lowest) - far[0], -math.inf)
    upper = np.where(plan.far_high, np.maximum(scale.largest, highest) + far[1], math.inf)
    with np.errstate(invalid="ignore"):
        return np.where(plan.tell_low, low - slack[0], lower), np.where(plan.tell_high, high + slack[1], upper)


def _slack(kinds: Index, slopes: Array, scale: Scale, chance: dict[str, Array], side: str) -> Array:
    """How far outside the support a bound is told, mostly 0; a mixture or family has no end of its own."""
    near = _log_uniform(chance[f"near_{side}"], _SLACK) * scale.spread
    slack = np.where((chance[f"slack_{side}"] < _SLACK_SHARE) & ~np.isin(kinds, _TRUNCATED), near, 0.0)
    classical = (kinds == _PARETO) & (chance["classical"] < _CLASSICAL_SHARE)
    return np.where(classical, np.abs(slopes), slack)


def _log_uniform(u: Array, interval: tuple[float, float]) -> Array:
    return np.asarray(np.exp(math.log(interval[0]) + u * math.log(interval[1] / interval[0])))
