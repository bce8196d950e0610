"""
A density in three lines
========================

Fit a density to 272 eruptions of the Old Faithful geyser, and ask it questions.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np

import amortized_kde as akde

x = np.loadtxt(
    files("amortized_kde") / "app/data/faithful.csv", delimiter=",", skiprows=1, usecols=0
)
density = akde.fit(x, bounds=(0, None))
print(density)

# %%
# Methods have the names of SciPy's distributions, and take numbers or arrays.

low, high = density.interval(0.9)
print(f"90 % of eruptions last between {low:.1f} and {high:.1f} minutes")
print(f"P(at most 3 minutes) = {density.cdf(3.0):.2f}")
print(f"five draws: {density.sample(5, rng=1).round(1)}")

# %%
# Every point has its own bandwidth, narrow where the data are dense and wide where they are sparse.

figure, (above, below) = plt.subplots(
    2, sharex=True, height_ratios=(2, 1), figsize=(7, 5), layout="constrained"
)
density.plot(above)
density.plot_bandwidth(below)
below.set_xlabel("duration of an eruption (minutes)")
plt.show()
