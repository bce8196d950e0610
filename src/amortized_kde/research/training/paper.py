r"""Training of the paper's models: features of a sample in, one bandwidth out.

For task t with bandwidth h_t the score is L_t = E[-log2 q_h(X)] (paper, eqs. 5 and 9); the expectation is the mean over
fresh draws or Gauss-Hermite quadrature (Appendix C.1). The loss is J = (1/B) sum_t L_t, and by the chain rule

    dJ/dtheta = sum_t (dJ/dh_t) (dh_t/dtheta),   dJ/dh_t = (1/B) (dL_t/dlog h_t) / h_t.

The first factor is one number per task, from the compiled loop; the second is a backward pass through the network.
"""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array, Single
from amortized_kde.data.sample import moments
from amortized_kde.errors import InvalidParameterError
from amortized_kde.learned.paper.features import CONVENTIONS, moments_in_domain, network_inputs
from amortized_kde.learned.paper.prediction import forward
from amortized_kde.numerics.layers import Layer, Stack
from amortized_kde.numerics.streams import indexed_uniforms, stream_words
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.research.tasks import TaskBatch, World, draw_tasks
from amortized_kde.research.tasks.batch import SIZE
from amortized_kde.research.training.bandwidth_score import BoundedSamples, score_and_slope_rows
from amortized_kde.research.training.problem import Outputs, Problem, Slopes
from amortized_kde.research.training.recipe import Objective, PaperRecipe, find_world
from amortized_kde.score import gauss_hermite

Domain = tuple[float, float]

_LN2 = math.log(2.0)
# In layers narrower than this, biases that start below zero can switch off a whole layer for good.
_NARROW = 16


class PaperBatch(NamedTuple):
    """Tasks with their features in the domain, those scaled for the network, and the unit of its output (tasks,)."""

    tasks: TaskBatch
    features: Array
    scaled: Array
    unit: Array

    @property
    def inputs(self) -> tuple[Single, Single]:
        """The arrays of the forward pass."""
        return self.scaled.astype(np.float32), self.unit.astype(np.float32)


def bandwidths(network: Any, scaled: Any, unit: Any) -> tuple[Any]:
    """Return h = unit softplus(network(scaled)), the forward pass in JAX."""
    return (unit * jax.nn.softplus(jax.vmap(network)(scaled)[:, 0]),)


class PaperProblem(Problem):
    """A recipe of the paper, on its own world or another, with features taken in `frame` (default: its bounds)."""

    forward = staticmethod(bandwidths)

    def __init__(self, recipe: PaperRecipe, *, world: World | None = None, frame: Domain | None = None) -> None:
        self.recipe: PaperRecipe = recipe
        self.every, self.early_stop = recipe.validation.every, recipe.early_stop
        self._world = world or find_world(recipe)
        self._frame = frame or self._world.bounds
        if recipe.network.output == "bandwidth" and not np.all(np.isfinite(self._frame)):
            raise InvalidParameterError(
                f"recipe {recipe.name}: a bandwidth in the domain needs tasks with two finite bounds, "
                f"not {self._world.bounds}; for the whole line take output = 'ratio'."
            )

    def start(self) -> Any:
        """Return a network with random weights, from the recipe's seed."""
        hidden = self.recipe.network.hidden
        keys = jax.random.split(jax.random.key(self.recipe.seed), len(hidden) + 1)
        widths = [len(self.recipe.network.inputs), *hidden, 1]
        layers: list[Any] = []
        for i, key in enumerate(keys):
            layers.append(_linear(widths[i], widths[i + 1], key, narrow=min(hidden) < _NARROW))
            if i < len(hidden):
                layers.append(_Rectified())
        return eqx.nn.Sequential(layers)

    def step(self, step: int) -> PaperBatch:
        """Draw tasks step B .. step B + B - 1 of the recipe's seed."""
        recipe, (low, high) = self.recipe, self.recipe.sizes
        sizes: Any = range(low, high + 1)
        if recipe.one_size_a_step:
            u = indexed_uniforms(stream_words(recipe.seed, SIZE), step, 1)[0]
            sizes = int(low + np.floor(u * (high - low + 1)))
        return self._draw(recipe.batch, recipe.seed, step * recipe.batch, sizes)

    def validation(self) -> PaperBatch:
        """Draw the tasks of the validation seed, equally many of each size."""
        given, (low, high) = self.recipe.validation, self.recipe.sizes
        sizes = np.repeat(np.array(given.sizes or range(low, high + 1)), given.tasks_per_size)
        return self._draw(sizes.size, given.seed, 0, sizes)

    def _draw(self, count: int, seed: int, first: int, sizes: Any) -> PaperBatch:
        objective = self.recipe.objective
        draws = objective.points if objective.kind == "draws" else 0
        return self.prepare(draw_tasks(self._world, count, seed=seed, first=first, sizes=sizes, draws=draws))

    def prepare(self, tasks: TaskBatch) -> PaperBatch:
        """Compute the features of tasks."""
        raw, count = moments(tasks.samples), len(tasks)
        if self.recipe.network.output == "ratio":
            return PaperBatch(tasks, raw, self._scaled(raw), raw[:, 2])
        lower, upper = self._frame
        features = raw[:, :5]
        # On [-1, 1] the map is the identity, but for rounding.
        if (lower, upper) != (-1.0, 1.0):
            features = moments_in_domain(raw, np.full(count, lower), np.full(count, upper))
        return PaperBatch(tasks, features, self._scaled(features), np.full(count, 0.5 * (upper - lower)))

    def _scaled(self, features: Array) -> Array:
        network = self.recipe.network
        return network_inputs(features, limits=network.limits)[:, : len(network.inputs)]

    def score(self, batch: PaperBatch, outputs: Outputs) -> float:
        """Return J, with sums in float64."""
        return float(np.mean(scores_and_slopes(batch.tasks, outputs[0], self.recipe.objective, single=False)[0]))

    def score_and_slopes(self, batch: PaperBatch, outputs: Outputs) -> tuple[float, Slopes]:
        """Return J and dJ/dh, with sums over draws in float32."""
        scores, slopes = scores_and_slopes(batch.tasks, outputs[0], self.recipe.objective, single=True)
        return float(np.mean(scores)), ((slopes / len(scores)).astype(np.float32),)

    def arrays(self, network: Any) -> dict[str, NDArray[Any]]:
        """Return weights and biases, numbered by layer."""
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(network)]
        return {f"{('weight', 'bias')[i % 2]}{i // 2}": leaf for i, leaf in enumerate(leaves)}

    def card(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Return the paper's kept step, the mean |log2| ratio of mirrored samples' bandwidths, and the conventions."""
        network, batch = Stack.of(layers_of(arrays)), self.validation()
        mirrored = self._scaled(batch.features[:, :5] * [1.0, -1.0, 1.0, -1.0, 1.0])
        ratio = forward(network, batch.scaled) / forward(network, mirrored)
        return {
            "paper_kept_step": self.recipe.notes.get("paper_kept_step"),
            "reflection_mean_abs_log2_ratio": float(np.mean(np.abs(np.log2(ratio)))),
            "conventions": {name: CONVENTIONS[name] for name in self.recipe.network.inputs},
        }


def layers_of(arrays: dict[str, NDArray[Any]]) -> list[Layer]:
    """Return numbered weights and biases as the layers of the NumPy forward pass."""
    return [Layer(arrays[f"weight{i}"], arrays[f"bias{i}"]) for i in range(len(arrays) // 2)]


class _Rectified(eqx.Module):
    """max(x, 0) as a layer without leaves, so that all leaves of a state are arrays."""

    def __call__(self, x: Any, *, key: Any = None) -> Any:
        return jax.nn.relu(x)


def _linear(inputs: int, outputs: int, key: Any, *, narrow: bool) -> Any:
    """Return a layer with uniform weights and biases of size 1/sqrt(inputs); if narrow, He's normal and no biases."""
    layer = eqx.nn.Linear(inputs, outputs, key=key)
    if not narrow:
        return layer
    weight = jax.random.normal(key, (outputs, inputs)) * (2.0 / inputs) ** 0.5
    return eqx.tree_at(lambda linear: (linear.weight, linear.bias), layer, (weight, jnp.zeros(outputs)))


def scores_and_slopes(
    tasks: TaskBatch, bandwidths: Array, objective: Objective, *, single: bool, threads: int | None = None
) -> tuple[Array, Array]:
    """Return L_t in bits and dL_t/dh_t of every task; `single` allows float32 in the sums over draws."""
    count = len(tasks)
    if objective.kind == "gauss-hermite":
        nodes, weights = gauss_hermite(objective.points)
        at = np.broadcast_to(nodes, (count, nodes.size))
        # The outer nodes lie where float32 underflows.
        single = False
    else:
        at, weights = tasks.draws, np.full(tasks.draws.shape[1], 1.0 / tasks.draws.shape[1])
    scores, slopes, points = np.empty(count), np.empty(count), np.ascontiguousarray(at)
    samples = BoundedSamples(tasks.values, tasks.offsets, *(np.full(count, end) for end in tasks.bounds))
    run_in_pieces(
        lambda i, j: score_and_slope_rows(samples, bandwidths, points, weights, single, scores, slopes, i, j),
        count,
        operations=float(tasks.values.size) * points.shape[1],
        threads=threads,
    )
    return scores / _LN2, slopes / (bandwidths * _LN2)
