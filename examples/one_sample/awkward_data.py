"""
Awkward data
============

Outliers, heavy tails, other units, equal values: the density stays useful, or an error says why there is none.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import gaussian_kde

import amortized_kde as akde

rng = np.random.default_rng(5)
clean = rng.normal(0.0, 1.0, 100)
spoiled = np.append(clean[:-1], 1000.0)  # one value is a thousand standard deviations away
cauchy = rng.standard_cauchy(200)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
grid = np.linspace(-4.0, 4.0, 401)
for sample, style in ((clean, ":"), (spoiled, "-")):
    left.plot(grid, gaussian_kde(sample)(grid), "C1" + style)
    left.plot(grid, akde.fit(sample).pdf(grid), "C0" + style)
left.set(title="dotted: clean; solid: one outlier", xlabel="x", ylabel="density")
far = np.linspace(-60.0, 60.0, 1201)
right.semilogy(far, 1 / (np.pi * (1 + far**2)), color="0.5", label="Cauchy")
right.semilogy(far, gaussian_kde(cauchy)(far), "C1", label="SciPy")
right.semilogy(far, akde.fit(cauchy).pdf(far), "C0", label="amortized-kde")
right.set(title="200 values with heavy tails", xlabel="x", ylim=(1e-6, 1))
right.legend(frameon=False)
plt.show()

# %%
# An answer does not depend on units or on where zero lies.

density, scaled = akde.fit(clean), akde.fit(1e6 + 1e3 * clean)
print(f"{density.ppf(0.9):.6f} and {(scaled.ppf(0.9) - 1e6) / 1e3:.6f}")

# %%
# Where there is no answer, an error says what to do.

for sample in ([3.7, 3.7, 3.7], [1.0, np.nan, 2.0], ["1.0", "two"]):
    try:
        akde.fit(sample)
    except akde.errors.AmortizedKdeError as error:
        print(f"{type(error).__name__}: {error}")
