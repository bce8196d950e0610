"""
A map of probabilities
======================

The probability of frost at every cell of a grid, from 20 members. Counting members gives steps of 1/20, and 0 where no
member is below freezing; densities give smooth maps and small probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np

from amortized_kde import ensembles

rng = np.random.default_rng(4)
lat, lon = np.linspace(45, 55, 40), np.linspace(0, 20, 60)
height = np.exp(-(((lon - 12) / 4) ** 2)[None, :] - (((lat[:, None] - 48) / 1.5) ** 2))
mean = 6.0 - 0.4 * (lat[:, None] - 45) - 8.0 * height


def smooth_noise(size):
    """Noise with a correlation length of several cells."""
    noise = rng.normal(size=(size, lat.size, lon.size))
    for _ in range(30):
        noise = 0.25 * (
            np.roll(noise, 1, 1)
            + np.roll(noise, -1, 1)
            + np.roll(noise, 1, 2)
            + np.roll(noise, -1, 2)
        )
    return noise / noise.std()


members = np.moveaxis(mean + 2.0 * smooth_noise(20), 0, -1)  # members along the last axis
print(members.shape)

counted = np.mean(members < 0.0, axis=-1)
smooth = ensembles.probabilities(members, 0.0)
print(
    f"probability 0 in {np.mean(counted == 0):.0%} of cells by counting, in {np.mean(smooth == 0):.0%} by densities"
)

# %%

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
for ax, (title, values) in zip(
    axes, {"share of members": counted, "density": smooth}.items(), strict=True
):
    image = ax.pcolormesh(
        lon, lat, values, cmap="Blues", vmin=0, vmax=1, shading="nearest", rasterized=True
    )
    ax.contour(lon, lat, values, [0.05, 0.5, 0.95], colors="0.3", linewidths=0.8)
    ax.set(title=title, xlabel="longitude")
axes[0].set_ylabel("latitude")
figure.colorbar(image, ax=axes, label="probability of frost")
plt.show()
