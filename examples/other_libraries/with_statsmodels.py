"""
statsmodels
===========

``KDEUnivariate.fit`` takes a function for ``bw``: ``bandwidth_rule()``.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np
from statsmodels.nonparametric.kde import KDEUnivariate

from amortized_kde.integrations.statsmodels import bandwidth_rule

x = np.loadtxt(
    files("amortized_kde") / "app/data/faithful.csv", delimiter=",", skiprows=1, usecols=0
)

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.hist(x, 45, density=True, color="0.9")
for label, bw in (
    ("default", "normal_reference"),
    ("bandwidth_rule()", bandwidth_rule(bounds=(0, None))),
):
    kde = KDEUnivariate(x).fit(bw=bw)
    print(f"{label:<18} bandwidth {kde.bw:.4f}")
    ax.plot(kde.support, kde.density, color="0.6" if label == "default" else "C0", label=label)
ax.set(xlabel="minutes", ylabel="density", xlim=(0, 6.5))
ax.legend(frameon=False)
plt.show()
