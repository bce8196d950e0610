"""
Our default and SciPy's
=======================

Two real samples. Scores are means over ten folds of held-out data, in bits; lower is better.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import gaussian_kde

import amortized_kde as akde

DATA = files("amortized_kde") / "app/data"
eruptions = np.loadtxt(DATA / "faithful.csv", delimiter=",", skiprows=1, usecols=0)
velocities = np.loadtxt(DATA / "galaxies.csv", skiprows=1) / 1000.0

METHODS = {
    "SciPy": lambda sample, at: gaussian_kde(sample).logpdf(at),
    "amortized-kde": lambda sample, at: akde.fit(sample, bounds=(0, None)).logpdf(at),
}


# %%
# The held-out score of any function from a sample to a log-density:


def held_out(method, sample, folds=10):
    fold = np.random.default_rng(1).permutation(sample.size) % folds
    logs = [method(sample[fold != k], sample[fold == k]) for k in range(folds)]
    return -np.concatenate(logs).mean() / np.log(2.0)


figure, panels = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
cases = (
    ("duration of an eruption (minutes)", eruptions, (0, 6)),
    ("velocity of a galaxy (1000 km/s)", velocities, (5, 40)),
)
for ax, (label, sample, shown) in zip(panels, cases, strict=True):
    grid = np.linspace(*shown, 1000)
    ax.hist(sample, bins=45, density=True, color="0.88")
    for (name, method), colour in zip(METHODS.items(), ("#D55E00", "#0072B2"), strict=True):
        score = held_out(method, sample)
        ax.plot(
            grid,
            np.exp(method(sample, grid)),
            color=colour,
            linewidth=2.2,
            label=f"{name}: {score:.3f} bits",
        )
        print(f"{label:<36}{name:<15}{score:.3f} bits")
    ax.set(xlabel=label, yticks=[], ylim=(0.0, 1.2 * ax.get_ylim()[1]))
    ax.legend(
        frameon=False, loc="upper left", ncols=2, fontsize=9, columnspacing=0.8, handlelength=1
    )
    ax.spines[["top", "right", "left"]].set_visible(False)
plt.show()
