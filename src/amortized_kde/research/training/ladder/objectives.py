"""Scores of a batch in bits, and their derivatives by the network's outputs."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.research.tasks.broad.kinds import BOTH
from amortized_kde.research.training.bandwidth_score import BoundedSamples, Points, floored_score_and_slope_rows
from amortized_kde.research.training.ladder.curves import Curves
from amortized_kde.research.training.ladder.prepared import Prepared
from amortized_kde.research.training.ladder_score import Ladder, ladder_scores, ladder_scores_and_slopes

Outputs = tuple[Array, ...]
Objective = Callable[..., tuple[Array, Outputs]]

_LN2 = math.log(2.0)
# One bandwidth for data with a heavy tail would cost hundreds of bits, which would outweigh all other tasks. So where
# not both natural bounds are told, the background has this probability, and no task pulls with more than so many nats
# per unit of log h. Between two natural bounds there is no background, for there a bandwidth that is too small must
# cost what it costs; it may pull harder, but not so hard that one task in a million decides. One or two values beside a
# bound say too little for that: a narrow kernel there is right for some densities, and costs others a million bits.
_FLOOR, _FEW = 1e-6, 2
_STEEPEST, _STEEPEST_BETWEEN = 20.0, 100.0


def _adaptive(prepared: Prepared, outputs: Outputs, *, exact: bool) -> tuple[Array, Outputs]:
    found = prepared.description
    ladder = Ladder(found.bandwidths, found.anchors, found.offsets, *outputs)
    if exact:
        return ladder_scores(_samples(prepared), ladder, _points(prepared)) / _LN2, ()
    scores, slopes = ladder_scores_and_slopes(_samples(prepared), ladder, _points(prepared))
    return scores / _LN2, (slopes.shares / _LN2, slopes.epsilons / _LN2)


def _samples(prepared: Prepared) -> BoundedSamples:
    tasks = prepared.tasks
    return BoundedSamples(tasks.values, tasks.offsets, tasks.lower, tasks.upper)


def _points(prepared: Prepared) -> Points:
    return Points(prepared.at, prepared.background)


def _single(prepared: Prepared | Curves, outputs: Outputs, *, exact: bool) -> tuple[Array, Outputs]:
    if isinstance(prepared, Curves):
        scores, slopes, steepest = *prepared.at(outputs[0]), prepared.steepest
    else:
        scores, slopes = _at_bandwidths(prepared, outputs[0])
        steepest = np.where(_between(prepared), _STEEPEST_BETWEEN, _STEEPEST)
    return scores / _LN2, (np.clip(slopes, -steepest, steepest) / _LN2,)


def curves_of(prepared: Prepared) -> Curves:
    """Score tasks of `single` along a whole ladder of bandwidths, so that they can be used again."""
    count = len(prepared.tasks)
    found = [_at_bandwidths(prepared, np.full(count, at)) for at in Curves.LADDER]
    scores, slopes = (np.stack(parts, axis=1).astype(np.float32) for parts in zip(*found, strict=True))
    steepest = np.where(_between(prepared), _STEEPEST_BETWEEN, _STEEPEST)
    return Curves(prepared.inputs.without_points(), prepared.weights, scores, slopes, steepest)


def _between(prepared: Prepared) -> NDArray[np.bool_]:
    return np.asarray((prepared.tasks.known_bounds == BOTH) & (prepared.tasks.sizes > _FEW))


def _at_bandwidths(prepared: Prepared, logs: Array) -> tuple[Array, Array]:
    """Give scores of the bandwidths with these logarithms, in units of the scale, and derivatives by them, in nats."""
    tasks, bandwidths = prepared.tasks, prepared.description.scales * np.exp(logs)
    scores, slopes = np.empty(len(tasks)), np.empty(len(tasks))
    floors = np.where(_between(prepared), 0.0, _FLOOR)
    judged = _samples(prepared), bandwidths, _points(prepared), floors
    run_in_pieces(
        lambda start, stop: floored_score_and_slope_rows(*judged, scores, slopes, start, stop),
        len(tasks),
        operations=float(tasks.values.size) * prepared.at.shape[1],
    )
    return scores, slopes


OBJECTIVES: dict[str, Objective] = {"adaptive": _adaptive, "single": _single}
