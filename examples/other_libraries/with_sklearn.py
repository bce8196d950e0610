"""
scikit-learn
============

``AmortizedKernelDensity`` is an estimator like ``KernelDensity``, without a bandwidth to tune: it works in pipelines,
grid searches and cross-validation.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KernelDensity

from amortized_kde.integrations.sklearn import AmortizedKernelDensity

X = np.random.default_rng(1).gamma(1.5, 2.0, 200)[:, np.newaxis]

# %%
# ``score`` is the sum of natural log-densities, so higher is better. A grid search over 30 bandwidths, against none:

search = GridSearchCV(KernelDensity(), {"bandwidth": np.logspace(-1, 0.5, 30)}, cv=5).fit(X)
ours = AmortizedKernelDensity(bounds=(0, None))
print(
    f"KernelDensity, bandwidth {search.best_params_['bandwidth']:.2f}: {search.best_score_:.2f}"
)
print(f"AmortizedKernelDensity: {cross_val_score(ours, X, cv=5).mean():.2f}")

# %%
# The fitted estimator has the density, with all its methods, as ``density_``.

grid = np.linspace(-2.0, 14.0, 801)[:, np.newaxis]
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.hist(X[:, 0], 40, density=True, color="0.9")
ax.plot(
    grid,
    np.exp(search.best_estimator_.score_samples(grid)),
    color="0.6",
    label="KernelDensity, grid search",
)
ax.plot(
    grid,
    np.exp(ours.fit(X).score_samples(grid)),
    "C0",
    label="AmortizedKernelDensity(bounds=(0, None))",
)
ax.set(xlabel="x", ylabel="density")
ax.legend(frameon=False)
plt.show()
print(f"90 % quantile: {ours.density_.ppf(0.9):.2f}")
