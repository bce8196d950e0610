"""Times of drawing tasks: the pool, paper-size batches, and the scores of the true densities.

Run with ``python benchmarks/task_speed.py``. A paper-size batch is 256 tasks, n ~ Unif{5..256}, 1024 draws each. Times
are the best of five, after one call that compiles. A NumPy loop over tasks, with the same exact methods, is timed
beside the Gaussian-mixture batches. A batch of the broad world is 256 tasks of 1 to 4096 values (400 on
average) and 256 draws each; its kinds are also timed alone.
"""

import time

import numpy as np

from amortized_kde.research.tasks import WORLDS, broad_batch, draw_tasks, make_pool, world
from amortized_kde.research.tasks.broad.kinds import KINDS

REPEATS = 5
TASKS = 256
DRAWS = 1024


def best(work):
    """Return the shortest of five times, in milliseconds."""
    work(0)
    times = []
    for i in range(1, REPEATS + 1):
        start = time.perf_counter()
        work(i)
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def numpy_batch(components, rng):
    """Return a batch of mixture tasks, written with NumPy."""
    batch = []
    for _ in range(TASKS):
        alpha = np.exp(rng.uniform(np.log(0.5), np.log(4.0)))
        weights = rng.dirichlet(np.full(components, alpha / components))
        centre, dispersion = rng.uniform(np.log(0.025), np.log(0.22)), rng.uniform(0.1, 1.0)
        scales = np.zeros(components)
        while (outside := (scales < 0.015) | (scales > 0.45)).any():
            scales[outside] = np.exp(rng.normal(centre, dispersion, outside.sum()))
        locations = rng.uniform(-1.0, 1.0, components)
        wanted, found = rng.integers(5, 257) + DRAWS, np.empty(0)
        while found.size < wanted:
            chosen = rng.choice(components, wanted, p=weights)
            x = rng.normal(locations[chosen], scales[chosen])
            found = np.append(found, x[np.abs(x) <= 1.0])
        batch.append(found[:wanted])
    return batch


def broad_table():
    for threads in (1, 2):
        spent = best(lambda i: broad_batch(TASKS, seed=1, first=i * TASKS, threads=threads))  # noqa: B023
        print(f"{'broad':12s} batch, {threads} thread{'s' * (threads > 1):1s}             {spent:9.2f} ms")
    batch = broad_batch(TASKS, seed=1)
    print(f"{'broad':12s} true scores of a batch      {best(lambda i: batch.true_scores()):9.2f} ms")
    for kind in KINDS:
        spent = best(lambda i: broad_batch(TASKS, seed=1, first=i * TASKS, kinds=[kind], threads=1))  # noqa: B023
        print(f"{'':12s} {kind:12s} alone, 1 thread   {spent:9.2f} ms")


def main():
    print(f"pool of 100,000 settings                 {best(lambda i: make_pool(seed=i)):9.1f} ms")
    for name in WORLDS:
        tasks = world(name)
        for threads in (1, 2):
            spent = best(lambda i: draw_tasks(tasks, TASKS, seed=1, first=i * TASKS, threads=threads))  # noqa: B023
            print(f"{name:12s} batch, {threads} thread{'s' * (threads > 1):1s}             {spent:9.2f} ms")
        batch = draw_tasks(tasks, TASKS, seed=1)
        print(f"{name:12s} true scores of a batch      {best(lambda i: batch.true_scores()):9.2f} ms")  # noqa: B023
    broad_table()
    rng = np.random.default_rng(1)
    for components in (8, 32):
        print(f"gmm{components:<9d} batch, NumPy task by task   {best(lambda i: numpy_batch(components, rng)):9.2f} ms")  # noqa: B023


if __name__ == "__main__":
    main()
