"""
Rain: zeros are an atom
=======================

Half of the members of a rain forecast can be exactly zero. Declare zero an atom: it gets a probability of its own, and
the density describes the amounts.
"""

import matplotlib.pyplot as plt
import numpy as np

from amortized_kde import ensembles

rng = np.random.default_rng(1)
chance = np.linspace(0.02, 0.98, 60)  # from a dry place to a wet one
wet = rng.random((60, 41)) < chance[:, None]
rain = np.where(wet, rng.gamma(0.8, 5.0, wet.shape), 0.0)
members, observed = rain[:, 1:], rain[:, 0]
options = {"bounds": (0, None), "atoms": (0,), "climatology": rng.gamma(0.8, 5.0, 500)}

any_rain = ensembles.probabilities(members, 0.0, above=True, **options)
heavy = ensembles.probabilities(members, 10.0, above=True, **options)

# %%
# The score splits into two parts: rain or no rain, and how much.

parts = ensembles.log_score_parts(members, observed, **options)
print(f"occurrence {parts.occurrence.mean():.2f} bits, amount {parts.amount.mean():.2f} bits")

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(chance, np.mean(members > 0, axis=-1), "o", color="0.7", label="share of wet members")
ax.plot(chance, any_rain, "C0", label="P(rain)")
ax.plot(chance, np.mean(members > 10, axis=-1), "s", color="0.85", label="share above 10 mm")
ax.plot(chance, heavy, "C1", label="P(more than 10 mm)")
ax.set(xlabel="true chance of rain", ylabel="probability")
ax.legend(frameon=False)
plt.show()
