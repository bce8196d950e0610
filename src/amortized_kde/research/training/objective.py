r"""The objective: mean bounded score in bits over a batch of tasks, and its derivative by each bandwidth.

For task t with bandwidth h_t the score is L_t = E[-log2 q_h(X)] (paper, eqs. 5 and 9), the expectation taken over fresh
draws or by Gauss-Hermite quadrature (Appendix C.1). The loss is J = (1/B) sum_t L_t, and by the chain rule

    dJ/dtheta = sum_t (dJ/dh_t) (dh_t/dtheta),   dJ/dh_t = (1/B) (dL_t/dlog h_t) / h_t.

The first factor is one number a task, from the compiled loop; the second is a small backward pass through the network.
"""

import math

import numpy as np

from amortized_kde._types import Array
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.research.tasks import TaskBatch
from amortized_kde.research.training.bandwidth_score import BoundedSamples, score_and_slope_rows
from amortized_kde.research.training.recipe import Objective
from amortized_kde.score import gauss_hermite

LN2 = math.log(2.0)


def scores_and_slopes(
    batch: TaskBatch, bandwidths: Array, objective: Objective, *, single: bool, threads: int | None = None
) -> tuple[Array, Array]:
    """Give L_t in bits and dL_t/dh_t of every task; `single` allows float32 inside the sums over draws."""
    if objective.kind == "gauss-hermite":
        nodes, weights = gauss_hermite(objective.points)
        at = np.broadcast_to(nodes, (len(batch), nodes.size))
        # The outer nodes lie where float32 underflows.
        single = False
    else:
        at, weights = batch.draws, np.full(batch.draws.shape[1], 1.0 / batch.draws.shape[1])
    scores, slopes = np.empty(len(batch)), np.empty(len(batch))
    samples = BoundedSamples(batch.values, batch.offsets, *(np.full(len(batch), end) for end in batch.bounds))
    points = np.ascontiguousarray(at)
    run_in_pieces(
        lambda i, j: score_and_slope_rows(samples, bandwidths, points, weights, single, scores, slopes, i, j),
        len(batch),
        operations=float(batch.values.size) * points.shape[1],
        threads=threads,
    )
    return scores / LN2, slopes / (bandwidths * LN2)
