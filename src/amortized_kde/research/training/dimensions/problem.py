"""Training of the network that weighs candidate densities in several dimensions, on prepared tasks."""

from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from amortized_kde._types import Array
from amortized_kde.learned.multivariate.features import FEATURES
from amortized_kde.learned.multivariate.network import CANDIDATES, CONVENTIONS, SHAPES, log_weights
from amortized_kde.research.training.dimensions.preparation import Prepared, prepare_files
from amortized_kde.research.training.problem import Outputs, Problem, Slopes
from amortized_kde.research.training.recipe import DimensionsRecipe

# Means and spreads of the inputs; they are not trained.
_STANDARDS = ("mean", "scale", "whole_mean", "whole_scale")


class Tasks(NamedTuple):
    """Some prepared tasks."""

    inputs: tuple[Any, ...]
    ratios: Array
    variances: Array


class DimensionsProblem(Problem):
    r"""Prepared tasks, kept in `folder`, and the mean log-ratio of truth and prediction at their draws.

    Steps also pay for a density that is wider than the sample, as those of the 1-D model do:
    :math:`p \max(0, \log_2 s)`, with s the standard deviation in units of the sample's, and the recipe's price p.
    """

    recipe: DimensionsRecipe
    keeps_best = False

    def __init__(self, recipe: DimensionsRecipe, folder: Path) -> None:
        self.recipe, self.every, self.final_rate = recipe, recipe.every, recipe.final_rate
        self.batch = recipe.batch
        files = prepare_files(folder, recipe.seed, recipe.files)
        self.held, self.tasks = Prepared.read(files[: recipe.held_files]), Prepared.read(files[recipe.held_files :])
        self.standards = standards_of(self.tasks.inputs)
        self.forward = _forward

    @cached_property
    def _floats(self) -> tuple[Any, ...]:
        return tuple(np.asarray(self.standards[name], np.float32) for name in _STANDARDS)

    def start(self) -> dict[str, Any]:
        """Return a network that keeps the stacked weights."""
        rng, arrays = np.random.default_rng(self.recipe.seed), {}
        for name, shape in SHAPES.items():
            if name not in _STANDARDS:
                scale = np.sqrt(2.0 / shape[0]) if name in ("in_weight", "context_weight", "out_weight") else 0.0
                scale = 0.3 if name == "embedding" else scale
                arrays[name] = jnp.asarray(scale * rng.standard_normal(shape), jnp.float32)
        return arrays

    def _batch(self, tasks: Prepared, rows: Any) -> Tasks:
        given = tasks.inputs[rows], tasks.stacked[rows]
        inputs = (*(np.asarray(part, np.float32) for part in given), *self._floats)
        return Tasks(inputs, tasks.ratios[rows].astype(float), tasks.variances[rows].astype(float))

    def step(self, step: int) -> Tasks:
        """Return the tasks of a step, drawn with its number as seed."""
        rows = np.random.default_rng((self.recipe.seed, step)).integers(len(self.tasks.inputs), size=self.batch)
        return self._batch(self.tasks, rows)

    def validation(self) -> Tasks:
        """Return the tasks of the first files, which no step uses."""
        return self._batch(self.held, slice(None))

    def score(self, batch: Tasks, outputs: Outputs) -> float:
        """Return the mean excess over the truth in bits."""
        return float(-logsumexp(batch.ratios + outputs[0][:, None], axis=2).mean() / np.log(2.0))

    def score_and_slopes(self, batch: Tasks, outputs: Outputs) -> tuple[float, Slopes]:
        """Return score and price, and their derivative with respect to every log-weight."""
        logs = batch.ratios + outputs[0][:, None]
        totals = logsumexp(logs, axis=2, keepdims=True)
        parts = np.exp(outputs[0]) * batch.variances
        variance = parts.sum(axis=1)
        price = 0.5 * self.recipe.width_price * np.maximum(np.log2(variance), 0.0)
        slopes = -np.exp(logs - totals).mean(axis=1)
        slopes += 0.5 * self.recipe.width_price * (variance > 1.0)[:, None] * parts / variance[:, None]
        slopes /= len(logs) * np.log(2.0)
        return float(price.mean() - totals.mean() / np.log(2.0)), (slopes.astype(np.float32),)

    def arrays(self, network: Any) -> dict[str, NDArray[Any]]:
        """Return the arrays of the model's file."""
        return {**{name: np.asarray(array) for name, array in network.items()}, **self.standards}

    def card(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Return the conventions of the model."""
        return {"conventions": CONVENTIONS, "tasks": len(self.tasks.inputs), "validation_tasks": len(self.held.inputs)}


def standards_of(inputs: Array) -> dict[str, NDArray[Any]]:
    """Return means and spreads of the inputs of some tasks, as the network takes them."""
    of_each, whole = inputs[:, : FEATURES * CANDIDATES], inputs[:, FEATURES * CANDIDATES :]
    shape = (FEATURES, CANDIDATES)
    found = {"mean": of_each.mean(axis=0).reshape(shape), "scale": of_each.std(axis=0).reshape(shape) + 0.1}
    found |= {"whole_mean": whole.mean(axis=0), "whole_scale": whole.std(axis=0) + 1e-3}
    return {name: array.astype(np.float32) for name, array in found.items()}


def _forward(network: dict[str, Any], inputs: Any, stacked: Any, *standards: Any) -> tuple[Any]:
    logs = log_weights({**network, **dict(zip(_STANDARDS, standards, strict=True))}, inputs, stacked, jnp)
    # A candidate that does not exist has no slope, where minus infinity would make it NaN.
    return (jnp.where(stacked > 0.0, logs, jax.lax.stop_gradient(jnp.float32(-1e30))),)
