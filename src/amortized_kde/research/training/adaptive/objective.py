"""Scores of a batch in bits, and their derivatives with respect to the network's outputs.

Tasks of `single` that are reused are scored once along a ladder of bandwidths; between its rungs, their scores are
interpolated, which costs next to nothing.
"""

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from amortized_kde._types import Array, Flags, Single
from amortized_kde.data.sample import moments
from amortized_kde.learned.adaptive.features import RUNG_EXPONENTS
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.research.tasks.broad.batch import BroadBatch
from amortized_kde.research.tasks.broad.kinds import BOTH, COMPACT, KINDS
from amortized_kde.research.training.adaptive.tasks import Inputs, Prepared
from amortized_kde.research.training.bandwidth_score import BoundedSamples, Points, floored_score_and_slope_rows
from amortized_kde.research.training.ladder_score import Ladder, Shape, ladder_scores, ladder_scores_and_slopes
from amortized_kde.research.training.problem import Outputs, Slopes
from amortized_kde.research.training.recipe import Penalties

_LN2 = math.log(2.0)
# One bandwidth for heavy-tailed data costs hundreds of bits, which would outweigh all other tasks. So unless both
# bounds are known, the background has the probability _FLOOR, and a slope is at most _STEEPEST nats per unit of log h.
# Between two known bounds there is no background, because a bandwidth that is too small must cost what it costs; its
# slope is limited to _STEEPEST_BETWEEN, so that one task in a million does not decide. Samples of at most _FEW values
# count as unbounded: a narrow kernel beside a bound suits some densities, and costs others a million bits. From _MANY
# values on, densities between unknown natural bounds have no background either, which would hide what a bandwidth too
# small for a few lone values costs; with slopes above _STEEPEST_OPEN such tasks would widen the bandwidths of all.
_FLOOR, _FEW, _MANY = 1e-6, 2, 30
_STEEPEST, _STEEPEST_BETWEEN, _STEEPEST_OPEN = 20.0, 100.0, 0.5
_COMPACT = [KINDS.index(name) for name in COMPACT]
# log h of the curves, in units of the sample's scale: half an octave apart where most bandwidths are.
_EXPONENTS = np.concatenate([np.arange(8.0, 2.5, -1.0), np.arange(2.0, -7.1, -0.5), np.arange(-8.0, -14.5, -1.0)])
_LADDER = np.log(2.0) * _EXPONENTS[::-1]
# Sizes at which the penalties' powers are 1 (`Penalties`), and below which they do not grow. A constant sample pays
# nothing.
_ROUGHNESS_SIZE, _SPREAD_SIZE, _FEWEST = 100.0, 30.0, 5
# In units of the sample's scale: the variance of the background, a Student's t with three degrees of freedom, and the
# distance between two bounds at which the penalty of spread is half.
_BACKGROUND_VARIANCE, _NEAR = 3.0, 40.0


class _Curves(NamedTuple):
    inputs: Inputs
    weights: Array
    scores: Single
    slopes: Single
    steepest: Array


class Curves(_Curves):
    """Tasks with their scores and slopes (tasks, rungs), in nats, at log-bandwidths in units of the sample's scale.

    `weights` (tasks,) sum to 1; `steepest` is the largest slope of each task, in nats per unit of log h.
    """

    LADDER: ClassVar[Array] = _LADDER

    def at(self, logs: Array) -> tuple[Array, Array]:
        """Return score and slope (tasks,) at log-bandwidths: a cubic between rungs, a straight line outside the ladder.

        The line is level where the score still falls at the ladder's end, so that no slope leads away from the ladder.
        """
        held = np.clip(logs, _LADDER[0], _LADDER[-1])
        k = np.clip(np.searchsorted(_LADDER, held, side="right") - 1, 0, _LADDER.size - 2)
        rows, width = np.arange(logs.size), _LADDER[k + 1] - _LADDER[k]
        t = (held - _LADDER[k]) / width
        low, high = (self.scores[rows, j].astype(np.float64) for j in (k, k + 1))
        start, end = (self.slopes[rows, j] * width for j in (k, k + 1))
        # The cubic with these values and slopes at both ends: low + t (start + t (square + t cube)).
        square, cube = 3.0 * (high - low) - 2.0 * start - end, 2.0 * (low - high) + start + end
        slopes = (start + t * (2.0 * square + 3.0 * t * cube)) / width
        slopes = np.where(logs > held, np.maximum(slopes, 0.0), np.where(logs < held, np.minimum(slopes, 0.0), slopes))
        return low + t * (start + t * (square + t * cube)) + slopes * (logs - held), slopes

    def unpadded(self, outputs: Outputs) -> Outputs:
        """Return the outputs: there is no padding."""
        return outputs

    def weighted(self, slopes: Outputs) -> Slopes:
        """Return slopes times the tasks' weights, in float32."""
        return tuple((slope * self.weights).astype(np.float32) for slope in slopes)


def curves_of(prepared: Prepared) -> Curves:
    """Score tasks of `single` along the ladder of bandwidths."""
    count = len(prepared.tasks)
    found = [_at_bandwidths(prepared, np.full(count, at)) for at in Curves.LADDER]
    scores, slopes = (np.stack(parts, axis=1).astype(np.float32) for parts in zip(*found, strict=True))
    return Curves(prepared.inputs.without_points(), prepared.weights, scores, slopes, _steepest(prepared))


def join(parts: Sequence[Curves]) -> Curves:
    """Concatenate tasks; each part keeps its weights, times its fraction of the tasks."""
    inputs = Inputs(*(np.concatenate(columns) for columns in zip(*(part.inputs for part in parts), strict=True)))
    counts = np.array([len(part.weights) for part in parts], np.float64)
    weights = [part.weights * fraction for part, fraction in zip(parts, counts / counts.sum(), strict=True)]
    rest = zip(*(part[2:] for part in parts), strict=True)
    return Curves(inputs, np.concatenate(weights), *(np.concatenate(columns) for columns in rest))


def adaptive_scores(prepared: Prepared, outputs: Outputs) -> Array:
    """Return the scores (tasks,) of shares and background, in float64."""
    return ladder_scores(*_judged(prepared, outputs)) / _LN2


def adaptive_scores_and_slopes(
    prepared: Prepared, outputs: Outputs, penalties: Penalties | None = None
) -> tuple[Array, Outputs]:
    """Return the scores (tasks,) of shares and background, with penalties, and their derivatives, in float32."""
    if penalties is None or prepared.truth is None or prepared.judged is None:
        scores, slopes = ladder_scores_and_slopes(*_judged(prepared, outputs))
        return scores / _LN2, (slopes.shares / _LN2, slopes.epsilons / _LN2)
    shape = Shape(prepared.truth, _LN2 * _roughness_penalty(prepared, penalties), prepared.judged)
    scores, slopes = ladder_scores_and_slopes(*_judged(prepared, outputs), shape)
    value, by_share, by_epsilon = spread_penalty(prepared, outputs, penalties)
    return scores / _LN2 + value, (slopes.shares / _LN2 + by_share, slopes.epsilons / _LN2 + by_epsilon)


def _roughness_penalty(prepared: Prepared, penalties: Penalties) -> Array:
    size = np.maximum(prepared.tasks.sizes, _FEWEST) / _ROUGHNESS_SIZE
    power = np.where(size < 1.0, -penalties.roughness_below, penalties.roughness_above)
    return np.where(_sample_variance(prepared) > 0.0, prepared.penalised * penalties.roughness * size**power, 0.0)


def spread_penalty(prepared: Prepared, outputs: Outputs, penalties: Penalties) -> tuple[Array, Array, Array]:
    """Return the penalty (tasks,) of a spread beyond the sample's, and its derivatives by shares and epsilons.

    The penalty is log2 of the density's standard deviation over the sample's. Between two bounds a kernel is no wider
    than the uniform density, and the penalty fades where they are near.
    """
    found, (shares, epsilons) = prepared.description, outputs
    tasks = prepared.tasks
    task = np.repeat(np.arange(len(tasks)), np.diff(found.offsets))
    width, sample = (tasks.upper - tasks.lower) / found.scales, _sample_variance(prepared)
    penalty = (
        penalties.spread * np.maximum(_SPREAD_SIZE / np.maximum(tasks.sizes, _FEWEST), 1.0) ** penalties.spread_below
    )
    penalty = np.where(sample > 0.0, prepared.penalised * penalty / (1.0 + (_NEAR / width) ** 2), 0.0)
    sample = np.where(sample > 0.0, sample, 1.0)
    squares = 1.0 / (4.0**-RUNG_EXPONENTS + 12.0 / width[:, None] ** 2)
    own = np.bincount(task, found.masses * np.einsum("ak,ak->a", shares, squares[task]), minlength=width.size)
    extra = ((1.0 - epsilons) * own + epsilons * _BACKGROUND_VARIANCE) / sample
    by_extra = penalty * 0.5 / (_LN2 * sample * (1.0 + extra))
    by_share = ((by_extra * (1.0 - epsilons))[task] * found.masses)[:, None] * squares[task]
    return penalty * 0.5 * np.log2(1.0 + extra), by_share, by_extra * (_BACKGROUND_VARIANCE - own)


def _sample_variance(prepared: Prepared) -> Array:
    """In units of the sample's scale; 0 where there is none."""
    return np.nan_to_num(np.square(moments(prepared.tasks.samples)[:, 2] / prepared.description.scales))


def single_scores(prepared: Prepared, outputs: Outputs) -> Array:
    """Return the scores (tasks,) of log-bandwidths, in units of the sample's scale."""
    return _at_bandwidths(prepared, outputs[0])[0] / _LN2


def single_scores_and_slopes(prepared: Prepared | Curves, outputs: Outputs) -> tuple[Array, Outputs]:
    """Return the scores (tasks,) of log-bandwidths, and their derivatives, clipped."""
    if isinstance(prepared, Curves):
        scores, slopes, steepest = *prepared.at(outputs[0]), prepared.steepest
    else:
        scores, slopes, steepest = *_at_bandwidths(prepared, outputs[0]), _steepest(prepared)
    return scores / _LN2, (np.clip(slopes, -steepest, steepest) / _LN2,)


def _samples(prepared: Prepared) -> BoundedSamples:
    tasks = prepared.tasks
    return BoundedSamples(tasks.values, tasks.offsets, tasks.lower, tasks.upper)


def _judged(prepared: Prepared, outputs: Outputs) -> tuple[BoundedSamples, Ladder, Points]:
    found = prepared.description
    ladder = Ladder(found.bandwidths, found.anchors, found.offsets, *outputs)
    return _samples(prepared), ladder, Points(prepared.at, prepared.background)


def _between(prepared: Prepared) -> Flags:
    """Which tasks have two known bounds and more than a few values."""
    return np.asarray((prepared.tasks.known_bounds == BOTH) & (prepared.tasks.sizes > _FEW))


def _open(prepared: Prepared) -> Flags:
    """Which tasks have many values between natural bounds that are not known."""
    tasks = prepared.tasks
    if not isinstance(tasks, BroadBatch):
        return np.zeros(len(tasks), np.bool_)
    return np.asarray((tasks.sizes >= _MANY) & np.isin(tasks.kinds, _COMPACT) & (tasks.known_bounds != BOTH))


def _floors(prepared: Prepared) -> Array:
    return np.where(_between(prepared) | _open(prepared), 0.0, _FLOOR)


def _steepest(prepared: Prepared) -> Array:
    return np.where(_between(prepared), _STEEPEST_BETWEEN, np.where(_open(prepared), _STEEPEST_OPEN, _STEEPEST))


def _at_bandwidths(prepared: Prepared, logs: Array) -> tuple[Array, Array]:
    """Return scores and slopes (tasks,) in nats at log-bandwidths in units of the sample's scale."""
    tasks, bandwidths = prepared.tasks, prepared.description.scales * np.exp(logs)
    scores, slopes = np.empty(len(tasks)), np.empty(len(tasks))
    judged = _samples(prepared), bandwidths, Points(prepared.at, prepared.background), _floors(prepared)
    run_in_pieces(
        lambda start, stop: floored_score_and_slope_rows(*judged, scores, slopes, start, stop),
        len(tasks),
        operations=float(tasks.values.size) * prepared.at.shape[1],
    )
    return scores, slopes
