"""The two networks in JAX: weights at the start and forward pass, which `learned.adaptive.network` has in NumPy."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from amortized_kde.learned.adaptive.features import POINT_FEATURES, RUNG_EXPONENTS, SAMPLE_FEATURES
from amortized_kde.learned.adaptive.network import BACKGROUND_OFFSET

# At the start, shares centre on half the sample's scale (in octaves), where the best single bandwidth usually is.
_PRIOR_CENTRE, _PRIOR_WIDTH = -1.0, 1.5


def _layer(key: Any, inputs: int, outputs: int, size: float = 1.0) -> dict[str, Any]:
    """Return He's normal weights, times `size`, and zero biases."""
    weight = jax.random.normal(key, (inputs, outputs)) * (size * (2.0 / inputs) ** 0.5)
    return {"weight": weight, "bias": jnp.zeros(outputs)}


def start_adaptive(key: Any, whole: int, point: int) -> dict[str, Any]:
    """Return a random network with `whole` units for the sample and `point` units for each point."""
    keys = jax.random.split(key, 8)
    rungs = RUNG_EXPONENTS.size
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
    prior = -0.5 * ((RUNG_EXPONENTS - _PRIOR_CENTRE) / _PRIOR_WIDTH) ** 2
    network["gates"]["bias"] = jnp.ones(2 * point + rungs)
    network["shifts"]["bias"] = network["shifts"]["bias"].at[2 * point :].set(prior)
    return network


def start_single(key: Any, whole: int, point: int) -> dict[str, Any]:
    """Return a random network with `whole` units for the sample; points are not read."""
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


def _embed(network: dict[str, Any], sample_features: Any) -> Any:
    return jax.nn.relu(_linear(network["whole2"], jax.nn.relu(_linear(network["whole1"], sample_features))))


def shares_and_background(
    network: dict[str, Any], sample_features: Any, sizes: Any, point_features: Any, sample_of_row: Any
) -> tuple[Any, Any]:
    """Return shares (points, rungs) and the probability of the background (samples,)."""
    sample = _embed(network, sample_features)
    ends = np.cumsum([network[name]["bias"].size for name in ("point1", "point2")])
    scales, shifts = (jnp.split(_linear(network[part], sample), ends, axis=1) for part in ("gates", "shifts"))

    def conditioned(layer: int, name: str, x: Any) -> Any:
        return scales[layer][sample_of_row] * _linear(network[name], x) + shifts[layer][sample_of_row]

    hidden = jax.nn.relu(conditioned(1, "point2", jax.nn.relu(conditioned(0, "point1", point_features))))
    logits = conditioned(2, "shares", hidden)
    epsilon = jax.nn.sigmoid(_linear(network["background"], sample)[:, 0] - BACKGROUND_OFFSET - jnp.log(sizes))
    return jax.nn.softmax(logits, axis=-1), epsilon


def log_bandwidths(
    network: dict[str, Any], sample_features: Any, sizes: Any, point_features: Any, sample_of_row: Any
) -> tuple[Any]:
    """Return ln(h / scale) (samples,)."""
    return (_linear(network["bandwidth"], _embed(network, sample_features))[:, 0],)
