"""The bounds that an estimator knows of a broad task, and where the true density is cut.

A plan is made from the natural bounds; pilot draws, which give the scale, turn it into bounds.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.research.tasks.broad.kinds import BOTH, KINDS, ONE, WIDE
from amortized_kde.research.tasks.broad.settings import Settings

# Uniform numbers that a task's bounds and ties need, by name.
CHANCES = (
    *("side", "keep", "cut", "slack_low", "slack_high", "near_low", "near_high", "far_low", "far_high"),
    *("classical", "tie", "unit", "phase"),
)

# Densities are cut here, though a Cauchy density goes on: at unit scale, this is twelve decades away.
FARTHEST_BOUND = 1e12
# Draws that show where a density lies; odd, with the quartiles at whole ranks.
PILOT = 33
# Interquartile range of a standard normal density, so that spreads are like standard deviations.
_QUARTILES = 1.349
# Distance from the pilot draws of known bounds at which nothing ends, in spreads.
_FAR = (100.0, 1e6)
# Some known bounds lie outside the true support, at this distance in spreads.
_SLACK_PROBABILITY, _SLACK = 0.15, (0.1, 30.0)
# Half of the Pareto densities start at their own scale from the known bound, as in Pareto's own form.
_CLASSICAL_PROBABILITY = 0.5
# Kinds whose natural bounds are those of a truncation, and Pareto's.
_TRUNCATED, _PARETO = (KINDS.index("mixture"), KINDS.index("family")), KINDS.index("pareto")


class Plan(NamedTuple):
    """For each task and side: is the natural bound known, is a far one known, and where the pilot's truth is cut."""

    knows_low: Flags
    knows_high: Flags
    far_low: Flags
    far_high: Flags
    cut_low: Array
    cut_high: Array


class Scale(NamedTuple):
    """Where pilot draws lie: the smallest, the largest, and their spread."""

    smallest: Array
    largest: Array
    spread: Array


def plan_bounds(kinds: Index, known_bounds: Index, settings: Settings, chance: dict[str, Array]) -> Plan:
    """Decide which natural bounds are known, which far ones, and where the truth is cut.

    A mixture or family is cut at an unknown bound with probability one half.
    """
    low, high = settings.low, settings.high
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    two, neither, first = has_low & has_high, ~has_low & ~has_high, chance["side"] < 0.5
    both, one, wide = known_bounds == BOTH, known_bounds == ONE, known_bounds == WIDE
    keeps = one | (wide & (chance["keep"] < 0.5))
    knows_low = has_low & (both | (keeps & (~two | first)))
    knows_high = has_high & (both | (keeps & (~two | ~first)))
    lone = one & neither
    hard = ~np.isin(kinds, _TRUNCATED) | (chance["cut"] < 0.5)
    return Plan(
        knows_low,
        knows_high,
        (wide & ~knows_low) | (lone & first),
        (wide & ~knows_high) | (lone & ~first),
        np.where(hard | knows_low, np.maximum(low, -FARTHEST_BOUND), -FARTHEST_BOUND),
        np.where(hard | knows_high, np.minimum(high, FARTHEST_BOUND), FARTHEST_BOUND),
    )


def measure(pilot: Array) -> Scale:
    """Return where pilot draws (tasks, PILOT) lie."""
    ranked, quarter = np.sort(pilot, axis=1), PILOT // 4
    spread = (ranked[:, -1 - quarter] - ranked[:, quarter]) / _QUARTILES
    return Scale(ranked[:, 0], ranked[:, -1], spread)


def set_bounds(
    plan: Plan, kinds: Index, settings: Settings, scale: Scale, chance: dict[str, Array]
) -> tuple[Array, Array]:
    """Return the lower and the upper bounds (tasks,) that estimators know, infinite where open."""
    low, high, slopes = settings.low, settings.high, settings.parts.slopes[:, 0]
    slack = [_slack(kinds, slopes, scale, chance, side) for side in ("low", "high")]
    far = [_log_uniform(chance[f"far_{side}"], _FAR) * scale.spread for side in ("low", "high")]
    # Never inside a support that the pilot draws did not reach.
    lowest, highest = (np.where(np.isfinite(end), end, 0.0) for end in (low, high))
    lower = np.where(plan.far_low, np.minimum(scale.smallest, lowest) - far[0], -math.inf)
    upper = np.where(plan.far_high, np.maximum(scale.largest, highest) + far[1], math.inf)
    with np.errstate(invalid="ignore"):
        return np.where(plan.knows_low, low - slack[0], lower), np.where(plan.knows_high, high + slack[1], upper)


def _slack(kinds: Index, slopes: Array, scale: Scale, chance: dict[str, Array], side: str) -> Array:
    """Return the distance of known bounds from the support, mostly 0; truncated kinds are cut where the bound is."""
    near = _log_uniform(chance[f"near_{side}"], _SLACK) * scale.spread
    slack = np.where((chance[f"slack_{side}"] < _SLACK_PROBABILITY) & ~np.isin(kinds, _TRUNCATED), near, 0.0)
    classical = (kinds == _PARETO) & (chance["classical"] < _CLASSICAL_PROBABILITY)
    return np.where(classical, np.abs(slopes), slack)


def _log_uniform(u: Array, interval: tuple[float, float]) -> Array:
    return np.asarray(np.exp(math.log(interval[0]) + u * math.log(interval[1] / interval[0])))
