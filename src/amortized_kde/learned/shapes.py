"""The arrays that the networks of each architecture have: names and shapes, from the network in a model's card.

A `KeyError`, `TypeError` or `ValueError` means that the card describes no such network.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from amortized_kde._types import Array
from amortized_kde.learned.adaptive.features import POINT_FEATURES, RUNG_EXPONENTS, SAMPLE_FEATURES
from amortized_kde.learned.cards import Shapes, units, units_of_layers
from amortized_kde.learned.paper.features import CONVENTIONS


def bandwidth_shapes(network: Mapping[str, Any]) -> Shapes:
    """Return the arrays of a network of the paper's that reads all features.

    Examples
    --------
    >>> network = {"inputs": ["n", "mean", "sd", "skewness", "kurtosis"], "hidden": [8]}
    >>> bandwidth_shapes(network)
    {'weight0': (8, 5), 'bias0': (8,), 'weight1': (1, 8), 'bias1': (1,)}
    """
    return _stack(network, list(CONVENTIONS))


def ratio_shapes(network: Mapping[str, Any]) -> Shapes:
    """Return the arrays of a network of the paper's that reads n only."""
    return _stack(network, ["n"])


def _stack(network: Mapping[str, Any], inputs: list[str]) -> Shapes:
    if network["inputs"] != inputs:
        raise ValueError(f"its inputs must be {', '.join(inputs)}")
    _check_limits(network.get("limits", {}), inputs)
    widths = [len(inputs), *units_of_layers(network, "hidden"), 1]
    shapes: Shapes = {}
    for i, (before, after) in enumerate(pairwise(widths)):
        shapes |= {f"weight{i}": (after, before), f"bias{i}": (after,)}
    return shapes


def _check_limits(limits: Any, inputs: list[str]) -> None:
    if not isinstance(limits, dict) or not limits.keys() <= set(inputs):
        raise ValueError("limits must be pairs of numbers for some of the inputs")
    for pair in limits.values():
        numbers = isinstance(pair, list) and all(type(end) in (int, float) for end in pair)
        if not numbers or len(pair) != 2 or not -math.inf < pair[0] < pair[1] < math.inf:
            raise ValueError("limits must be two ascending numbers for each input")


def single_shapes(network: Mapping[str, Any]) -> Shapes:
    """Return the arrays of a network that answers with one bandwidth in the sample's own frame."""
    return _of_samples(units(network, "whole"), {"bandwidth": 1})


def adaptive_shapes(network: Mapping[str, Any]) -> Shapes:
    """Return the arrays of a network that answers with shares of the rungs for every point."""
    whole, point = units(network, "whole"), units(network, "point")
    rungs = RUNG_EXPONENTS.size
    shapes = _of_samples(whole, {"gates": 2 * point + rungs, "shifts": 2 * point + rungs, "background": 1})
    for name, before, after in (
        ("point1", len(POINT_FEATURES), point),
        ("point2", point, point),
        ("shares", point, rungs),
    ):
        shapes |= _layer(name, before, after)
    return shapes


def _of_samples(whole: int, heads: dict[str, int]) -> Shapes:
    shapes: Shapes = {"standard.whole": (4, len(SAMPLE_FEATURES)), "standard.point": (4, len(POINT_FEATURES))}
    shapes |= _layer("whole1", len(SAMPLE_FEATURES), whole) | _layer("whole2", whole, whole)
    for name, count in heads.items():
        shapes |= _layer(name, whole, count)
    return shapes


def _layer(name: str, before: int, after: int) -> Shapes:
    return {f"{name}.weight": (before, after), f"{name}.bias": (after,)}


def has_valid_standards(arrays: Mapping[str, Array]) -> bool:
    """Return whether every spread of the features is positive, and every minimum at most the maximum."""
    found = [array for name, array in arrays.items() if name.startswith("standard.")]
    return all((spread > 0.0).all() and (low <= high).all() for _, spread, low, high in found)
