"""Time a training step of the paper's size against plain versions with automatic differentiation.

    python benchmarks/training_step.py [--repeats 5]

A step is: 256 fresh K = 32 mixture tasks with n ~ Unif{5..256}, 1024 evaluation draws each, the mean bounded score
in bits, its gradient through the 5-128-128-1 network, and one update by Adam with clipping. The plain versions take
the same tasks, padded to the longest sample, in float32 on all cores, and must return the same loss to 1e-5. Our time
includes making the tasks, theirs does not. All take turns; times are the best of the repeats, so that their ratios are
fair on a busy machine.
"""

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from amortized_kde.numerics.threads import available_threads
from amortized_kde.research.tasks import TaskBatch
from amortized_kde.research.training.loop import Adam
from amortized_kde.research.training.paper import PaperProblem, layers_of
from amortized_kde.research.training.recipe import find_recipe

LN2 = math.log(2.0)


def best_times(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the best seconds of each over the repeats, which take turns to share the machine's load."""
    best = dict.fromkeys(works, math.inf)
    for _ in range(repeats):
        for name, work in works.items():
            begin = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def padded(batch: TaskBatch) -> tuple[np.ndarray, np.ndarray]:
    """Return samples (tasks, longest) in float32 and the mask of their values."""
    x = np.zeros((len(batch), batch.sizes.max()), np.float32)
    mask = np.zeros_like(x)
    for t in range(len(batch)):
        sample = batch.values[batch.offsets[t] : batch.offsets[t + 1]]
        x[t, : sample.size], mask[t, : sample.size] = sample, 1.0
    return x, mask


def jax_step(layers: list[Any], inputs: np.ndarray, batch: TaskBatch, recipe: Any) -> Callable[[], float]:
    import jax
    import jax.numpy as jnp
    import optax
    from jax.scipy.special import erf

    x, mask = map(jnp.asarray, padded(batch))
    y, features = jnp.asarray(batch.draws, jnp.float32), jnp.asarray(inputs, jnp.float32)
    parameters = [(jnp.asarray(layer.weight), jnp.asarray(layer.bias)) for layer in layers]
    optimiser = optax.chain(
        optax.clip_by_global_norm(recipe.optimiser.clip), optax.adam(recipe.optimiser.learning_rate)
    )
    memory = optimiser.init(parameters)

    def loss(parameters: Any) -> Any:
        z = features
        for i, (weight, bias) in enumerate(parameters):
            z = z @ weight.T + bias
            z = jax.nn.relu(z) if i + 1 < len(parameters) else z
        h = jax.nn.softplus(z)
        d = (y[:, :, None] - x[:, None, :]) / h[:, :, None]
        log_sum = jax.nn.logsumexp(-0.5 * d * d, axis=-1, b=mask[:, None, :])
        inside = jnp.sum(mask * 0.5 * (erf((1 - x) / (h * 2**0.5)) + erf((1 + x) / (h * 2**0.5))), axis=-1)
        return jnp.mean(jnp.log(inside * h[:, 0]) + 0.5 * math.log(2 * math.pi) - log_sum.mean(-1)) / LN2

    @jax.jit
    def step(parameters: Any, memory: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(parameters)
        change, memory = optimiser.update(gradient, memory)
        return value, optax.apply_updates(parameters, change), memory

    return lambda: float(jax.block_until_ready(step(parameters, memory))[0])


def torch_step(layers: list[Any], inputs: np.ndarray, batch: TaskBatch, recipe: Any) -> Callable[[], float]:
    import torch

    torch.set_num_threads(available_threads())
    x, mask = map(torch.from_numpy, padded(batch))
    y, features = torch.tensor(batch.draws, dtype=torch.float32), torch.tensor(inputs, dtype=torch.float32)
    parts: list[Any] = []
    for i, layer in enumerate(layers):
        linear = torch.nn.Linear(*layer.weight.shape[::-1])
        linear.weight.data, linear.bias.data = torch.tensor(layer.weight), torch.tensor(layer.bias)
        parts += [linear, torch.nn.ReLU()] if i + 1 < len(layers) else [linear, torch.nn.Softplus()]
    network = torch.nn.Sequential(*parts)
    start = {name: value.clone() for name, value in network.state_dict().items()}
    outside = torch.where(mask > 0, 0.0, -torch.inf)[:, None, :]

    def step() -> float:
        network.load_state_dict(start)
        optimiser = torch.optim.Adam(network.parameters(), lr=recipe.optimiser.learning_rate)
        h = network(features)
        d = (y[:, :, None] - x[:, None, :]) / h[:, :, None]
        log_sum = torch.logsumexp(-0.5 * d * d + outside, dim=-1)
        inside = (mask * 0.5 * (torch.erf((1 - x) / (h * 2**0.5)) + torch.erf((1 + x) / (h * 2**0.5)))).sum(-1)
        loss = (torch.log(inside * h[:, 0]) + 0.5 * math.log(2 * math.pi) - log_sum.mean(-1)).mean() / LN2
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), recipe.optimiser.clip)
        optimiser.step()
        return float(loss.detach())

    return step


OURS = "amortized-kde, tasks and all"
PLAIN = {"JAX, plain": jax_step, "PyTorch, plain": torch_step}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    recipe = find_recipe("gmm32")
    problem = PaperProblem(recipe)
    adam = Adam.of(problem)
    state = adam.start(problem.start())

    def ours() -> float:
        batch = problem.step(0)
        score, slopes = problem.score_and_slopes(batch, adam.outputs(state.network, batch))
        problem.arrays(adam.update(state, batch.inputs, slopes).network)
        return score

    steps: dict[str, Callable[[], float]] = {OURS: ours}
    losses = {OURS: ours()}
    batch, layers = problem.step(0), layers_of(problem.arrays(state.network))
    tasks = batch.tasks
    print(f"{available_threads()} threads, best of {repeats}; {len(tasks)} tasks, {tasks.values.size} values")
    for name, make in PLAIN.items():
        try:
            steps[name] = make(layers, batch.scaled, tasks, recipe)
            losses[name] = steps[name]()
        except ImportError as error:
            print(f"  {name:<32}not installed ({error.name})")
    best = best_times(steps, repeats)
    print(f"  {OURS:<32}{best[OURS] * 1e3:>10.1f} ms   loss {losses[OURS]:.6f} bits")
    for name in list(steps)[1:]:
        off = losses[name] - losses[OURS]
        same = "the same loss" if abs(off) <= 1e-5 else f"another loss: {off:+.1e}"
        print(f"  {name:<32}{best[name] * 1e3:>10.1f} ms   {best[name] / best[OURS]:6.1f} x   {same}")


if __name__ == "__main__":
    main()
