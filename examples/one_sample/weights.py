"""
Importance weights
==================

Points were drawn evenly but stand for a normal distribution: pass ``weights=``.
"""

import matplotlib.pyplot as plt
import numpy as np

import amortized_kde as akde

x = np.random.default_rng(1).uniform(-4.0, 4.0, 500)
weights = np.exp(-0.5 * x**2)

weighted, plain = akde.fit(x, weights=weights), akde.fit(x)
print(
    f"P(X <= 1): {weighted.cdf(1.0):.3f} with weights, {plain.cdf(1.0):.3f} without; the truth is 0.841"
)

# %%
# Only ratios of weights matter. In every formula n is Kish's effective size.

effective = weights.sum() ** 2 / np.sum(weights**2)
print(f"{x.size} points count as {effective:.0f} equally weighted ones")

grid = np.linspace(-5.0, 5.0, 501)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(
    grid, np.exp(-0.5 * grid**2) / np.sqrt(2 * np.pi), color="0.5", linestyle=":", label="truth"
)
ax.plot(grid, plain.pdf(grid), "C1--", label="without weights")
ax.plot(grid, weighted.pdf(grid), "C0", label="with weights")
ax.scatter(x, np.full(x.size, -0.01), s=40 * weights, alpha=0.4, color="C0", linewidth=0)
ax.set(xlabel="x", ylabel="density")
ax.legend(frameon=False)
plt.show()
