"""Scores of a batch in bits, and their derivatives by the network's outputs."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.research.tasks.broad.kinds import BOTH
from amortized_kde.research.training.ladder.curves import Curves
from amortized_kde.research.training.ladder.prepared import Prepared
from amortized_kde.research.training.ladder_score import ladder_score_rows
from amortized_kde.research.training.score_slopes import floored_score_and_slope_rows

Outputs = tuple[Array, ...]
Objective = Callable[..., tuple[Array, Outputs]]

_LN2 = math.log(2.0)
# Kernels count out to so many bandwidths: in training to 7e-10 of their peak, when judged to 5e-32.
_REACH, _EXACT_REACH = 6.5, 12.0
# One bandwidth for data with a heavy tail would cost hundreds of bits, which would outweigh all other tasks. So where
# not both natural bounds are told, the background has this probability, and no task pulls with more than so many nats
# per unit of log h. Between two natural bounds there is no background, for there a bandwidth that is too small must
# cost what it costs; it may pull harder, but not so hard that one task in a million decides. One or two values beside a
# bound say too little for that: a narrow kernel there is right for some densities, and costs others a million bits.
_FLOOR, _FEW = 1e-6, 2
_STEEPEST, _STEEPEST_BETWEEN = 20.0, 100.0


def _adaptive(prepared: Prepared, outputs: Outputs, *, exact: bool) -> tuple[Array, Outputs]:
    tasks, found = prepared.tasks, prepared.description
    shares, epsilons = outputs
    scores, epsilon_slopes = np.empty(len(tasks)), np.empty(len(tasks))
    slopes = np.zeros((0 if exact else len(shares), shares.shape[1]))

    def work(start: int, stop: int) -> None:
        kernel, totals, ratios = np.empty((3, prepared.at.shape[1]), np.float64 if exact else np.float32)
        ladder_score_rows(
            tasks.values,
            tasks.offsets,
            tasks.lower,
            tasks.upper,
            found.bandwidths,
            found.anchors,
            found.offsets,
            shares,
            epsilons,
            prepared.at,
            prepared.background,
            _EXACT_REACH if exact else _REACH,
            True if exact else None,
            kernel,
            totals,
            ratios,
            scores,
            slopes,
            epsilon_slopes,
            start,
            stop,
        )

    run_in_pieces(work, len(tasks), operations=float(tasks.values.size) * prepared.at.shape[1])
    return scores / _LN2, (slopes / _LN2, epsilon_slopes / _LN2)


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
    judged = (tasks.values, tasks.offsets, bandwidths, tasks.lower, tasks.upper, prepared.at, prepared.background)
    run_in_pieces(
        lambda start, stop: floored_score_and_slope_rows(*judged, floors, scores, slopes, start, stop),
        len(tasks),
        operations=float(tasks.values.size) * prepared.at.shape[1],
    )
    return scores, slopes


OBJECTIVES: dict[str, Objective] = {"adaptive": _adaptive, "single": _single}
