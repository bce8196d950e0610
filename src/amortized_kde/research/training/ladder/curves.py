"""Tasks of `single` that are used again: what each scores along a ladder of bandwidths, and between its rungs.

Scores and slopes at the rungs enter; scores and slopes at any bandwidth leave. A task is asked many times, each time by
another network, and to answer from the curve costs next to nothing.
"""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from amortized_kde._types import Array, Single
from amortized_kde.research.training.ladder.prepared import Inputs

# Half an octave apart where most answers are.
_EXPONENTS = np.concatenate([np.arange(8.0, 2.5, -1.0), np.arange(2.0, -7.1, -0.5), np.arange(-8.0, -14.5, -1.0)])
_LADDER = np.log(2.0) * _EXPONENTS[::-1]


class _Curves(NamedTuple):
    inputs: Inputs
    weights: Array
    scores: Single
    slopes: Single
    steepest: Array


class Curves(_Curves):
    """Tasks with their scores and slopes (tasks, rungs), in nats, at log-bandwidths in units of the sample's scale.

    `weights` sum to 1 and say how much each task counts, `steepest` by how many nats a unit it may pull.
    """

    LADDER: ClassVar[Array] = _LADDER

    def at(self, logs: Array) -> tuple[Array, Array]:
        """Give score and slope (tasks,): of the cubic between two rungs, beyond the last of a straight line.

        The line never leads away from the ladder: where the score still falls at its end, the line is level.
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


def join(parts: Sequence[Curves]) -> Curves:
    """Put tasks together; of all of them each counts as before."""
    inputs = Inputs(*(np.concatenate(columns) for columns in zip(*(part.inputs for part in parts), strict=True)))
    counts = np.array([len(part.weights) for part in parts], np.float64)
    weights = [part.weights * share for part, share in zip(parts, counts / counts.sum(), strict=True)]
    rest = zip(*(part[2:] for part in parts), strict=True)
    return Curves(inputs, np.concatenate(weights), *(np.concatenate(columns) for columns in rest))
