"""
seaborn
=======

``kdeplot``, ``violinplot``, ``displot`` and ``histplot(kde=True)`` pass ``bw_method`` on to SciPy. Every group gets its
own bandwidth. For two variables there is a ``kdeplot`` of our own.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn

from amortized_kde.integrations.scipy import bandwidth_factor
from amortized_kde.integrations.seaborn import kdeplot

rng = np.random.default_rng(1)
groups = {
    "narrow": rng.normal(0.0, 0.3, 150),
    "two modes": rng.choice([-2.0, 2.0], 150) + rng.normal(0, 0.4, 150),
}
table = pd.DataFrame(
    [(name, value) for name, values in groups.items() for value in values], columns=["group", "x"]
)

figure, axes = plt.subplots(
    1, 2, figsize=(9, 3.6), sharex=True, sharey=True, layout="constrained"
)
for ax, (title, method) in zip(
    axes, {"default": "scott", "amortized": bandwidth_factor()}.items(), strict=True
):
    seaborn.kdeplot(
        table,
        x="x",
        hue="group",
        bw_method=method,
        fill=True,
        common_norm=False,
        gridsize=500,
        ax=ax,
    )
    ax.set_title(title)
plt.show()

# %%
# Violins, in the same way:

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, (title, method) in zip(
    axes, {"default": "scott", "amortized": bandwidth_factor()}.items(), strict=True
):
    seaborn.violinplot(
        table, x="group", y="x", bw_method=method, inner="quart", gridsize=300, ax=ax
    )
    ax.set_title(title)
plt.show()

# %%
# Two variables: seaborn smooths with the covariance of the data, which blurs a bend and crosses a bound. Our
# ``kdeplot`` takes the same arguments, and bounds; its levels are the probabilities inside the contours.

x = rng.gamma(1.5, 2.0, 400)
table = pd.DataFrame({"dose": x, "response": np.sqrt(x) + 0.2 * rng.standard_normal(400)})
table["group"] = np.where(rng.random(400) < 0.5, "treated", "control")
table.loc[table["group"] == "treated", "response"] += 1.5

figure, axes = plt.subplots(
    1, 2, figsize=(9, 3.8), sharex=True, sharey=True, layout="constrained"
)
seaborn.kdeplot(
    table, x="dose", y="response", hue="group", levels=[0.05, 0.25, 0.5, 0.75], ax=axes[0]
)
kdeplot(table, x="dose", y="response", hue="group", bounds={"dose": (0, None)}, ax=axes[1])
for ax, title in zip(axes, ("seaborn", "amortized"), strict=True):
    ax.set_title(title)
plt.show()
