"""Train and judge on your own densities: a family in twenty lines, and a batch of its tasks.

The family here is Kumaraswamy's on [-1, 1]: with z = (x + 1)/2, F(x) = 1 - (1 - z^a)^b.
"""

import numpy as np

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


def main():
    batch = draw_tasks(own_world(Kumaraswamy()), 200, seed=1)
    print(f"{len(batch)} tasks with {batch.sizes.min()} to {batch.sizes.max()} values each")
    print(f"score of the true densities: {batch.true_scores().mean():.3f} bits")


if __name__ == "__main__":
    main()
