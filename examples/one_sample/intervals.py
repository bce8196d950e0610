"""
Intervals and regions
=====================

Three answers to "where do 80 % of eruptions lie?": equal tails, the shortest interval, and the smallest region, which
can have several parts.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np

import amortized_kde as akde

x = np.loadtxt(
    files("amortized_kde") / "app/data/faithful.csv", delimiter=",", skiprows=1, usecols=0
)
density = akde.fit(x, bounds=(0, None))

parts = {
    "equal-tailed": [density.interval(0.8)],
    "highest-density": [density.interval(0.8, kind="highest-density")],
    "region": density.region(0.8),
}
for name, intervals in parts.items():
    words = " and ".join(f"{low:.2f} to {high:.2f}" for low, high in intervals)
    length = sum(high - low for low, high in intervals)
    print(f"{name:<16}{words} minutes; total length {length:.2f}")

# %%
# With two modes the region is shorter than any interval.

figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True, layout="constrained")
for ax, (name, intervals) in zip(axes, parts.items(), strict=True):
    density.plot(ax, rug=False)
    for low, high in intervals:
        inside = np.linspace(low, high, 200)
        ax.fill_between(inside, density.pdf(inside), color="C1", alpha=0.5, linewidth=0)
    ax.set(title=name, xlabel="minutes", xlim=(1, 6))
plt.show()
