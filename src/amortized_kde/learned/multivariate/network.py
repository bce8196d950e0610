"""The network that weighs candidates: the same small layers for each, with averages over all as context."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from amortized_kde.learned.multivariate.experts import COLUMNS
from amortized_kde.learned.multivariate.features import FEATURES, WHOLE

CANDIDATES = 2 * COLUMNS
EMBEDDING, HIDDEN, CONTEXT = 8, 32, 48
# Candidates that stacking gave nothing keep this share for the network to raise.
_FLOOR = 1e-4

SHAPES: dict[str, tuple[int, ...]] = {
    "embedding": (CANDIDATES, EMBEDDING),
    "bias": (CANDIDATES,),
    "mean": (FEATURES, CANDIDATES),
    "scale": (FEATURES, CANDIDATES),
    "whole_mean": (WHOLE,),
    "whole_scale": (WHOLE,),
    "in_weight": (FEATURES + EMBEDDING + WHOLE, HIDDEN),
    "in_bias": (HIDDEN,),
    "context_weight": (2 * HIDDEN + WHOLE, CONTEXT),
    "context_bias": (CONTEXT,),
    "out_weight": (HIDDEN + EMBEDDING + CONTEXT, HIDDEN),
    "out_bias": (HIDDEN,),
    "last_weight": (HIDDEN,),
}

# For the model's card.
CONVENTIONS = {
    "frames": "whitened data, and whitened normal scores by the margins' adaptive densities; only these with bounds",
    "candidates": "mixtures, predictive under a normal-inverse-Wishart prior (Student t of data, normal of scores); "
    "kernel estimates; broad t of data; normal copulas with shrunk correlations",
    "inputs": "left-out log-densities relative to the stacked one: mean, n times mean, spread, stacked weight; n, d",
    "sizes": "of more than 4096 points a fixed choice of that many is described; bandwidths shrink as n^(-1/(d+4))",
}


def log_weights(arrays: Mapping[str, Any], inputs: Any, stacked: Any, xp: Any = np) -> Any:
    """Return log-weights of all candidates (t, c), for inputs (t, f) and stacked weights (t, c) of t samples.

    `xp` is NumPy or JAX's NumPy. A candidate that does not exist has the stacked weight 0, and minus infinity here.
    """
    count = len(inputs)
    of_each = inputs[:, : FEATURES * CANDIDATES].reshape(count, FEATURES, CANDIDATES)
    whole = (inputs[:, FEATURES * CANDIDATES :] - arrays["whole_mean"]) / arrays["whole_scale"]
    token = xp.transpose((of_each - arrays["mean"]) / arrays["scale"], (0, 2, 1))
    embedding = xp.broadcast_to(arrays["embedding"], (count, CANDIDATES, EMBEDDING))
    everywhere = xp.broadcast_to(whole[:, None], (count, CANDIDATES, WHOLE))
    first = _layer(xp, [token, embedding, everywhere], arrays["in_weight"], arrays["in_bias"])
    averages = [xp.mean(first, axis=1), xp.einsum("tc,tch->th", stacked, first), whole]
    context = _layer(xp, averages, arrays["context_weight"], arrays["context_bias"])
    spread = xp.broadcast_to(context[:, None], (count, CANDIDATES, CONTEXT))
    second = _layer(xp, [first, embedding, spread], arrays["out_weight"], arrays["out_bias"])
    logits = xp.log(stacked + _FLOOR) + second @ arrays["last_weight"] + arrays["bias"]
    logits = xp.where(stacked > 0.0, logits, -xp.inf)
    top = xp.max(logits, axis=1, keepdims=True)
    return logits - top - xp.log(xp.sum(xp.exp(logits - top), axis=1, keepdims=True))


def _layer(xp: Any, parts: list[Any], weight: Any, bias: Any) -> Any:
    return xp.maximum(xp.concatenate(parts, axis=-1) @ weight + bias, 0.0)
