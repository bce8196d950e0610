"""
Two variables: contours, margins, conditions
============================================

A table of two columns is one sample of two variables. The contours enclose the smallest regions that hold 25, 50, 75
and 95 % of the probability; given one variable, the other one has a density too.
"""

import matplotlib.pyplot as plt
import numpy as np

import amortized_kde as akde

rng = np.random.default_rng(4)
x = rng.gamma(3.0, size=300)
y = np.sqrt(x) + np.where(rng.random(300) < 0.7, 0.0, 1.5) + 0.25 * rng.standard_normal(300)

density = akde.fit({"dose": x, "response": y}, bounds={"dose": (0, None)})
print(density)
print(f"P(dose < 2, response < 2) = {density.cdf([2.0, 2.0]):.3f}")

# %%
# `conditional` gives the density of the response at a dose, with quantiles and everything else.

given = density.conditional({"dose": 3.0})
low, high = given.interval(0.9)
print(f"at dose 3 the response is between {low:.2f} and {high:.2f} with probability 90 %")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
density.plot(left)
left.axvline(3.0, color="C1", linewidth=1.2)
density.marginal("response").plot(right, label="all doses")
given.plot(right, color="C1", label="at dose 3")
right.legend(frameon=False)
plt.show()
