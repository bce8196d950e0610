"""
Many samples in one call
========================

``akde.bandwidth(x, axis=...)`` reduces an axis as ``numpy.std`` does. Samples of different sizes are padded with NaN.
"""

import matplotlib.pyplot as plt
import numpy as np

import amortized_kde as akde

rng = np.random.default_rng(1)
sizes = np.array([5, 10, 20, 50, 100, 200, 500])
samples = np.full((100, sizes.size, sizes.max()), np.nan)
for k, n in enumerate(sizes):
    samples[:, k, :n] = rng.normal(size=(100, n))

bandwidths = {
    name: akde.bandwidth(samples, axis=-1, method=name)
    for name in ("amortized", "silverman", "lscv")
}
print({name: found.shape for name, found in bandwidths.items()})

# %%
# On normal samples Silverman's rule is nearly right by construction. Cross-validation varies from sample to sample;
# the learned bandwidth varies little, and is wider where few values leave more open.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for k, (name, found) in enumerate(bandwidths.items()):
    low, middle, high = np.quantile(found, [0.05, 0.5, 0.95], axis=0)
    x = sizes * 1.08 ** (k - 1)
    ax.errorbar(
        x,
        middle,
        yerr=[middle - low, high - middle],
        fmt="o",
        capsize=3,
        color=f"C{k}",
        label=name,
    )
ax.set(xscale="log", yscale="log", xlabel="n", ylabel="bandwidth, in standard deviations")
ax.legend(frameon=False)
plt.show()
