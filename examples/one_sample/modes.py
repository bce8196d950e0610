"""
How many modes?
===============

Velocities of 82 galaxies: several modes are evidence of superclusters with voids between them. ``modes()`` returns
place, height, prominence and probability of each.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np

import amortized_kde as akde

x = np.loadtxt(files("amortized_kde") / "app/data/galaxies.csv", skiprows=1) / 1000.0
density = akde.fit(x, bounds=(0, None))
modes = density.modes()
print(modes)

# %%
# ``prominence`` is the fall, as a fraction of the highest density, from which a maximum counts. The default is 0.05.

for prominence in (0.01, 0.05, 0.2):
    print(f"prominence {prominence}: {len(density.modes(prominence=prominence))} modes")

ax = density.plot(plt.subplots(figsize=(7, 4), layout="constrained")[1])
ax.plot(modes.places, modes.heights, "v", color="C1")
for mode in modes:
    ax.annotate(
        f"{mode.mass:.0%}",
        (mode.place, mode.height),
        xytext=(0, 8),
        textcoords="offset points",
        ha="center",
    )
ax.set(xlabel="velocity (1000 km/s)", ylim=(0, 1.15 * modes.heights.max()))
plt.show()
