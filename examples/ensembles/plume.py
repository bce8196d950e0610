"""
A plume of densities
====================

An ensemble forecast of 51 members becomes a density at every lead time, in one call. The forecast is simulated: after
four days the members split into two weather regimes.
"""

import matplotlib.pyplot as plt
import numpy as np

from amortized_kde import ensembles

DAYS = np.arange(0.25, 10.25, 0.25)
LEVELS = np.linspace(-10.0, 18.0, 281)


def forecast(rng, members=51):
    days = DAYS[:, None]
    warm = rng.random(members + 1) < 0.6
    regimes = np.where(warm, 1.0, -1.0) * 4.0 / (1.0 + np.exp(-2.0 * (days - 5.5)))
    noise = np.cumsum(rng.normal(0.0, 0.3, (DAYS.size, members + 1)), axis=0)
    paths = 4.0 + regimes + noise
    return paths[:, :-1], paths[:, -1]


forecasts = [forecast(np.random.default_rng(seed)) for seed in range(50)]
members, observed = (np.stack(parts) for parts in zip(*forecasts, strict=True))
print(f"{members.shape[0]} places, {members.shape[1]} lead times, {members.shape[2]} members")

# %%
# Mean scores over all places and lead times, in bits, lower is better:

for method in ("amortized", "amortized:single", "silverman", "sheather-jones"):
    print(f"{method:<18}{ensembles.log_scores(members, observed, method=method).mean():.3f} bits")

# %%
# One place. Each column is scaled to its own height, because the spread grows tenfold.

density = ensembles.densities(members[3], LEVELS)
shades = (density / density.max(axis=-1, keepdims=True)).T
figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
ax.pcolormesh(DAYS, LEVELS, shades, cmap="Blues", shading="nearest", vmax=1.3, rasterized=True)
ax.plot(DAYS, members[3], ".", color="0.2", markersize=1.5)
ax.plot(DAYS, observed[3], color="#D55E00", linewidth=1.6, label="observation")
ax.set(xlabel="days ahead", ylabel="temperature (°C)", ylim=(LEVELS[0], LEVELS[-1]))
ax.legend(frameon=False, loc="upper left")
plt.show()
