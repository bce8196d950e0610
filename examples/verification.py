"""Verify ensemble forecasts of wind: a reliability diagram, a rank histogram and scores.

Writes verification.png into the current folder. The forecasts are simulated: 20 members that agree too well.
"""

import numpy as np

from amortized_kde import ensembles
from amortized_kde.density.plotting import COLOURS, new_figure, save_figure

GALE = 17.2
BOUNDS = (0, None)


def forecasts(cells=4000, members=20, seed=1):
    """Draw members of shape (cells, members), and observations: the spread is 70 % of what it should be."""
    rng = np.random.default_rng(seed)
    typical = rng.gamma(4.0, 3.0, cells)
    error = 0.25 * typical + 0.5
    observed = np.abs(typical + error * rng.normal(size=cells))
    return np.abs(typical[:, None] + 0.7 * error[:, None] * rng.normal(size=(cells, members))), observed


def draw(members, observed):
    left, right = new_figure(9.0, 4.0).subplots(1, 2)
    counted = ensembles.reliability_of(np.mean(members > GALE, axis=-1), observed > GALE)
    smoothed = ensembles.reliability(members, observed, GALE, bounds=BOUNDS)
    both = (np.stack(pair) for pair in zip(counted[:3], smoothed[:3], strict=True))
    ensembles.Reliability(*both, counted.edges).plot(left, labels=("share of members", "density"))
    left.set_title("wind above 17.2 m/s")
    counts = ensembles.rank_histogram(members, observed)
    right.bar(np.arange(1, counts.size + 1), counts / counts.sum(), color=COLOURS[0], width=0.85)
    right.axhline(1.0 / counts.size, color="0.4", linewidth=0.8)
    right.set(xlabel="rank of the observation among 20 members", ylabel="relative frequency", title="too little spread")
    save_figure(left, "verification.png")


def main():
    members, observed = forecasts()
    raw = np.mean((np.mean(members > GALE, axis=-1) - (observed > GALE)) ** 2)
    print(f"Brier score, share of members  {raw:.4f}")
    print(f"Brier score, density           {ensembles.brier_scores(members, observed, GALE, bounds=BOUNDS).mean():.4f}")
    print(f"CRPS                           {ensembles.crps(members, observed, bounds=BOUNDS).mean():.3f} m/s")
    gales = ensembles.threshold_weighted_crps(members, observed, (GALE, None), bounds=BOUNDS)
    print(f"CRPS of gales                  {gales.mean():.3f} m/s")
    draw(members, observed)


if __name__ == "__main__":
    main()
