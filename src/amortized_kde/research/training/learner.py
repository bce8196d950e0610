"""The network that learns, in JAX: its parameters, Adam, the moving average.

Inputs and derivatives enter, bandwidths leave.
What a task is, is not known here.
"""

from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from amortized_kde.numerics.layers import Layer
from amortized_kde.research.training.recipe import Optimiser, Recipe

# With few units, biases that begin below zero can switch off a whole layer for good.
NARROW = 16


class State(NamedTuple):
    """All that changes from step to step."""

    network: Any
    optimiser: Any
    average: Any


class _Rectified(eqx.Module):
    """max(x, 0) as a layer that holds nothing, so that all leaves of a state are arrays."""

    def __call__(self, x: Any, *, key: Any = None) -> Any:
        return jax.nn.relu(x)


def _bandwidths(network: Any, inputs: Any, unit: Any) -> Any:
    """h = unit * softplus(network), with unit 1 or the sample's sd."""
    return unit * jax.nn.softplus(jax.vmap(network)(inputs)[:, 0])


def _linear(inputs: int, outputs: int, key: Any, *, narrow: bool) -> Any:
    """A layer with uniform weights and biases of size 1/sqrt(inputs), or, if narrow, He's normal weights, no biases."""
    layer = eqx.nn.Linear(inputs, outputs, key=key)
    if not narrow:
        return layer
    weight = jax.random.normal(key, (outputs, inputs)) * (2.0 / inputs) ** 0.5
    return eqx.tree_at(lambda linear: (linear.weight, linear.bias), layer, (weight, jnp.zeros(outputs)))


class _Steps(NamedTuple):
    """An optimiser and its compiled steps."""

    optimiser: Any
    bandwidths: Any
    update: Any


@cache
def _compile(options: Optimiser) -> _Steps:
    """Learners with the same options share these: to compile them takes as long as fifty steps."""
    optimiser = optax.chain(optax.clip_by_global_norm(options.clip), optax.adam(options.learning_rate))
    decay = options.average

    @jax.jit
    def update(state: State, inputs: Any, unit: Any, slopes: Any) -> State:
        # The loss is linear in h with the slopes as constants, so its gradient is the chain rule's sum.
        gradient = jax.grad(lambda network: jnp.sum(slopes * _bandwidths(network, inputs, unit)))(state.network)
        change, memory = optimiser.update(gradient, state.optimiser)
        network = optax.apply_updates(state.network, change)
        average = jax.tree.map(lambda old, new: decay * old + (1.0 - decay) * new, state.average, network)
        return State(network, memory, average)

    return _Steps(optimiser, jax.jit(_bandwidths), update)


class Learner:
    """The compiled steps of one recipe."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe, self._steps = recipe, _compile(recipe.optimiser)

    def start(self) -> State:
        """Give the state before the first step, from the recipe's seed."""
        sizes = self._recipe.network.hidden
        keys = jax.random.split(jax.random.key(self._recipe.seed), len(sizes) + 1)
        widths = [len(self._recipe.network.inputs), *sizes, 1]
        layers: list[Any] = []
        for i, key in enumerate(keys):
            layers.append(_linear(widths[i], widths[i + 1], key, narrow=min(sizes) < NARROW))
            if i < len(sizes):
                layers.append(_Rectified())
        network = eqx.nn.Sequential(layers)
        return State(network, self._steps.optimiser.init(network), network)

    def bandwidths(self, network: Any, inputs: NDArray[np.float64], unit: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the bandwidths of a batch under `network` (the current one, or the moving average)."""
        h = self._steps.bandwidths(network, inputs.astype(np.float32), unit.astype(np.float32))
        return np.asarray(h, np.float64)

    def update(
        self, state: State, inputs: NDArray[np.float64], unit: NDArray[np.float64], slopes: NDArray[np.float64]
    ) -> State:
        """Take one step of Adam along the slopes dJ/dh of a batch."""
        updated: State = self._steps.update(
            state, inputs.astype(np.float32), unit.astype(np.float32), slopes.astype(np.float32)
        )
        return updated

    @staticmethod
    def arrays(tree: Any) -> list[NDArray[Any]]:
        """Give the arrays of a state or network in a fixed order."""
        return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]

    def restore(self, arrays: list[NDArray[Any]]) -> State:
        """Give the state whose `arrays` these are."""
        state: State = jax.tree.unflatten(jax.tree.structure(self.start()), [jnp.asarray(a) for a in arrays])
        return state

    @staticmethod
    def layers(arrays: list[NDArray[Any]]) -> list[Layer]:
        """Give a network's arrays as the layers of the forward pass."""
        return [Layer(arrays[i], arrays[i + 1]) for i in range(0, len(arrays), 2)]
