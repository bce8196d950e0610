"""
Verify forecasts of wind
========================

A reliability diagram, a rank histogram and scores. The forecasts are simulated: 20 members that agree too well.
"""

import matplotlib.pyplot as plt
import numpy as np

from amortized_kde import ensembles

GALE, BOUNDS = 17.2, (0, None)
rng = np.random.default_rng(1)
typical = rng.gamma(4.0, 3.0, 4000)
error = 0.25 * typical + 0.5
observed = np.abs(typical + error * rng.normal(size=4000))
# The spread is 70 % of what it should be.
members = np.abs(typical[:, None] + 0.7 * error[:, None] * rng.normal(size=(4000, 20)))

# %%
# Scores are negatively oriented: lower is better.

share = np.mean(members > GALE, axis=-1)
print(f"Brier score, share of members  {np.mean((share - (observed > GALE)) ** 2):.4f}")
print(
    f"Brier score, density           {ensembles.brier_scores(members, observed, GALE, bounds=BOUNDS).mean():.4f}"
)
print(
    f"CRPS                           {ensembles.crps(members, observed, bounds=BOUNDS).mean():.3f} m/s"
)
gales = ensembles.threshold_weighted_crps(members, observed, (GALE, None), bounds=BOUNDS)
print(f"CRPS of gales                  {gales.mean():.3f} m/s")

# %%
# The curve is flatter than the diagonal, and too many observations lie outside all members: such forecasts need
# calibration, which smoothing cannot replace.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
counted = ensembles.reliability_of(share, observed > GALE)
smoothed = ensembles.reliability(members, observed, GALE, bounds=BOUNDS)
both = (np.stack(pair) for pair in zip(counted[:3], smoothed[:3], strict=True))
ensembles.Reliability(*both, counted.edges).plot(left, labels=("share of members", "density"))
left.set_title("wind above 17.2 m/s")
counts = ensembles.rank_histogram(members, observed)
right.bar(np.arange(1, counts.size + 1), counts / counts.sum(), width=0.85)
right.axhline(1.0 / counts.size, color="0.4", linewidth=0.8)
right.set(
    xlabel="rank of the observation among 20 members",
    ylabel="relative frequency",
    title="too little spread",
)
plt.show()
