"""The two networks in JAX: parameters at the start, and the forward pass that `ladder_network.py` repeats in NumPy.

Standardised features enter; shares and the background's probability, or one log-bandwidth, leave.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from amortized_kde.learned.adaptive.features import ANSWERS, POINT_FEATURES, SAMPLE_FEATURES
from amortized_kde.learned.adaptive.network import BACKGROUND_OFFSET

# At the start every point has most of its weight around half the sample's scale, where the best single bandwidth is.
_PRIOR_CENTRE, _PRIOR_WIDTH = -1.0, 1.5


def _layer(key: Any, inputs: int, outputs: int, size: float = 1.0) -> dict[str, Any]:
    """He's normal weights, times `size`, without biases."""
    weight = jax.random.normal(key, (inputs, outputs)) * (size * (2.0 / inputs) ** 0.5)
    return {"weight": weight, "bias": jnp.zeros(outputs)}


def _start_adaptive(key: Any, whole: int, point: int) -> dict[str, Any]:
    keys = jax.random.split(key, 8)
    rungs = ANSWERS.size
    network = {
        "whole1": _layer(keys[0], len(SAMPLE_FEATURES), whole),
        "whole2": _layer(keys[1], whole, whole),
        "gates": _layer(keys[2], whole, 2 * point + rungs, 0.1),
        "shifts": _layer(keys[3], whole, 2 * point + rungs, 0.1),
        "background": _layer(keys[4], whole, 1, 0.1),
        "point1": _layer(keys[5], len(POINT_FEATURES), point),
        "point2": _layer(keys[6], point, point),
        "shares": _layer(keys[7], point, rungs, 0.1),
    }
    prior = -0.5 * ((ANSWERS - _PRIOR_CENTRE) / _PRIOR_WIDTH) ** 2
    network["gates"]["bias"] = jnp.ones(2 * point + rungs)
    network["shifts"]["bias"] = network["shifts"]["bias"].at[2 * point :].set(prior)
    return network


def _start_single(key: Any, whole: int, point: int) -> dict[str, Any]:
    keys = jax.random.split(key, 3)
    network = {
        "whole1": _layer(keys[0], len(SAMPLE_FEATURES), whole),
        "whole2": _layer(keys[1], whole, whole),
        "bandwidth": _layer(keys[2], whole, 1, 0.1),
    }
    network["bandwidth"]["bias"] = jnp.full(1, _PRIOR_CENTRE * np.log(2.0), jnp.float32)
    return network


def _linear(layer: dict[str, Any], x: Any) -> Any:
    return x @ layer["weight"] + layer["bias"]


def _embed(network: dict[str, Any], wholes: Any) -> Any:
    return jax.nn.relu(_linear(network["whole2"], jax.nn.relu(_linear(network["whole1"], wholes))))


def _adaptive(network: dict[str, Any], wholes: Any, sizes: Any, points: Any, own: Any) -> tuple[Any, Any]:
    whole = _embed(network, wholes)
    ends = np.cumsum([network[name]["bias"].size for name in ("point1", "point2")])
    gates, shifts = (jnp.split(_linear(network[part], whole), ends, axis=1) for part in ("gates", "shifts"))

    def told(layer: int, name: str, x: Any) -> Any:
        return gates[layer][own] * _linear(network[name], x) + shifts[layer][own]

    logits = told(2, "shares", jax.nn.relu(told(1, "point2", jax.nn.relu(told(0, "point1", points)))))
    epsilon = jax.nn.sigmoid(_linear(network["background"], whole)[:, 0] - BACKGROUND_OFFSET - jnp.log(sizes))
    return jax.nn.softmax(logits, axis=-1), epsilon


def _single(network: dict[str, Any], wholes: Any, sizes: Any, points: Any, own: Any) -> tuple[Any]:
    return (_linear(network["bandwidth"], _embed(network, wholes))[:, 0],)


START = {"adaptive": _start_adaptive, "single": _start_single}
FORWARD = {"adaptive": _adaptive, "single": _single}
