"""Time a training step of the paper's size against plain versions with automatic differentiation.

    python benchmarks/training_step.py [--repeats 5]

A step is: 256 fresh K = 32 mixture tasks with n ~ Unif{5..256}, 1024 evaluation draws each, the mean bounded score
in bits, its gradient through the 5-128-128-1 network, and one update by Adam with clipping. The plain versions take
the same tasks, padded to the longest sample, in float32 on all cores, and must return the same loss to 1e-5. Our time
includes making the tasks, theirs does not. Each has a process of its own, one after the other, because threads of JAX
are still at work after its steps. Times are the best of the repeats.
"""

import argparse
import json
import math
import subprocess
import sys
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


def best_time(work: Callable[[], object], repeats: int) -> float:
    """Return the best seconds over the repeats."""
    best = math.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
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


def time_alone(name: str, repeats: int) -> dict[str, Any]:
    """Return the best time of one way's step, its loss and the numbers of tasks and values, in this process."""
    recipe = find_recipe("gmm32")
    problem = PaperProblem(recipe)
    adam = Adam.of(problem)
    state = adam.start(problem.start())

    def ours() -> float:
        batch = problem.step(0)
        score, slopes = problem.score_and_slopes(batch, adam.outputs(state.network, batch))
        problem.arrays(adam.update(state, batch.inputs, slopes).network)
        return score

    batch = problem.step(0)
    layers = layers_of(problem.arrays(state.network))
    step = ours if name == OURS else PLAIN[name](layers, batch.scaled, batch.tasks, recipe)
    # The first step compiles.
    loss = step()
    sizes = {"tasks": len(batch.tasks), "values": int(batch.tasks.values.size)}
    return {"loss": loss, "seconds": best_time(step, repeats), **sizes}


def time_in_new_process(name: str, repeats: int) -> dict[str, Any] | None:
    """Return what `time_alone` does, or None if a library is not installed."""
    command = [sys.executable, __file__, "--repeats", str(repeats), "--only", name]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] | None = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=[OURS, *PLAIN], help="time this in this process, and print JSON")
    options = parser.parse_args()
    if options.only:
        try:
            print(json.dumps(time_alone(options.only, options.repeats)))
        except ImportError:
            print("null")
        return
    ours = time_in_new_process(OURS, options.repeats)
    assert ours is not None, "training needs the train extra"
    print(f"{available_threads()} threads, best of {options.repeats}; {ours['tasks']} tasks, {ours['values']} values")
    print(f"  {OURS:<32}{ours['seconds'] * 1e3:>10.1f} ms   loss {ours['loss']:.6f} bits")
    for name in PLAIN:
        other = time_in_new_process(name, options.repeats)
        if other is None:
            print(f"  {name:<32}not installed")
            continue
        off = other["loss"] - ours["loss"]
        same = "the same loss" if abs(off) <= 1e-5 else f"another loss: {off:+.1e}"
        ratio = other["seconds"] / ours["seconds"]
        print(f"  {name:<32}{other['seconds'] * 1e3:>10.1f} ms   {ratio:6.1f} x   {same}")


if __name__ == "__main__":
    main()
