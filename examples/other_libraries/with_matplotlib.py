"""
matplotlib: violins
===================

``Axes.violinplot`` takes ``bw_method`` as SciPy does.
"""

import matplotlib.pyplot as plt
import numpy as np

from amortized_kde.integrations.scipy import bandwidth_factor

rng = np.random.default_rng(3)
samples = [
    rng.normal(0.0, 1.0, 200),
    rng.choice([-2.0, 2.0], 200) + rng.normal(0.0, 0.3, 200),
    rng.gamma(1.5, 1.0, 200) - 2.0,
]

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, (title, method) in zip(
    axes, {"default": None, "amortized": bandwidth_factor()}.items(), strict=True
):
    ax.violinplot(samples, bw_method=method, points=400, showmedians=True)
    ax.set(title=title, xticks=[1, 2, 3], xticklabels=["normal", "two modes", "skewed"])
plt.show()
