"""
Tasks of your own
=================

A family of densities in twenty lines becomes a world to train and judge selectors on. Here Kumaraswamy's, on [-1, 1]:
with z = (x + 1)/2, F(x) = 1 - (1 - z^a)^b.
"""

import matplotlib.pyplot as plt
import numpy as np

import amortized_kde as akde
from amortized_kde.research.tasks import draw_tasks, own_world


class Kumaraswamy:
    """A family: three methods for one density at a time."""

    name, bounds = "kumaraswamy", (-1.0, 1.0)

    def draw_setting(self, *, rng):
        """Draw the parameters (a, b) of one density."""
        return rng.uniform(1.0, 6.0, 2)

    def logpdf(self, setting, x):
        """Return its natural log-density at x."""
        (a, b), z = setting, (x + 1.0) / 2.0
        with np.errstate(divide="ignore"):
            return np.log(a * b / 2.0) + (a - 1.0) * np.log(z) + (b - 1.0) * np.log1p(-(z**a))

    def sample(self, setting, count, *, rng):
        """Draw from it, here by the inverse of F."""
        a, b = setting
        return 2.0 * (1.0 - rng.random(count) ** (1.0 / b)) ** (1.0 / a) - 1.0


# %%
# A batch has samples, draws to score at, and the true densities. A recipe with ``world = "own_task.py:Kumaraswamy"``
# trains on such tasks, and imports this file; so what follows runs only as a script.


def excess(batch, method):
    """Mean excess over the score of the true densities, in bits."""
    scores = []
    for k, draws in enumerate(batch.draws):
        sample = batch.values[batch.offsets[k] : batch.offsets[k + 1]]
        density = akde.fit(sample, bounds=Kumaraswamy.bounds, method=method)
        scores.append(akde.log_score(density, draws).mean())
    return np.mean(scores - batch.true_scores())


def draw(batch, count=12):
    """Draw some of the densities."""
    grid = np.linspace(-0.999, 0.999, 400)
    curves = np.exp(batch.truths.logpdf(np.broadcast_to(grid, (len(batch), grid.size))))
    ax = plt.subplots(figsize=(7, 4), layout="constrained")[1]
    ax.plot(grid, curves[:count].T, linewidth=1)
    ax.set(xlabel="x", ylabel="density", title=f"{count} of the densities")
    plt.show()


if __name__ == "__main__":
    batch = draw_tasks(own_world(Kumaraswamy()), 200, seed=1)
    print(f"{len(batch)} tasks with {batch.sizes.min()} to {batch.sizes.max()} values each")
    for method in ("amortized", "silverman"):
        print(f"{method:<10} mean excess {excess(batch, method):.3f} bits")
    draw(batch)
