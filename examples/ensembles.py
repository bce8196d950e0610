"""Many samples in one call: an ensemble forecast of 51 members becomes a density at every lead time.

Writes ensembles.png into the current folder. The forecast is simulated: after four days the members split into two
weather regimes.
"""

import numpy as np

import amortized_kde as akde
from amortized_kde.density.plotting import new_figure, save_figure
from amortized_kde.ensembles import log_densities

DAYS = np.arange(0.25, 10.25, 0.25)
LEVELS = np.linspace(-10.0, 18.0, 281)


def forecast(rng, members=51):
    """Draw members of shape (lead times, members), and an observation: one more path of the same kind."""
    days = DAYS[:, None]
    warm = rng.random(members + 1) < 0.6
    regimes = np.where(warm, 1.0, -1.0) * 4.0 / (1.0 + np.exp(-2.0 * (days - 5.5)))
    noise = np.cumsum(rng.normal(0.0, 0.3, (DAYS.size, members + 1)), axis=0)
    paths = 4.0 + regimes + noise
    return paths[:, :-1], paths[:, -1]


def score(members, truth, method):
    """Return the mean score in bits, lower is better: one call for all bandwidths, one for all densities."""
    bandwidths = akde.bandwidth(members, axis=-1, method=method)
    return -log_densities(members, bandwidths, truth[..., None]).mean() / np.log(2.0)


def draw(members, truth):
    density = np.exp(log_densities(members, akde.bandwidth(members, axis=-1), LEVELS))
    # Each column by its own height: the spread grows tenfold.
    shades = (density / density.max(axis=-1, keepdims=True)).T
    ax = new_figure(8.0, 4.2).add_subplot()
    ax.pcolormesh(DAYS, LEVELS, shades, cmap="Blues", shading="nearest", vmax=1.3, rasterized=True)
    ax.plot(DAYS, members, ".", color="0.2", markersize=1.5)
    ax.plot(DAYS, truth, color="#D55E00", linewidth=1.6, label="observation")
    ax.set(xlabel="days ahead", ylabel="temperature (°C)", ylim=(LEVELS[0], LEVELS[-1]))
    ax.legend(frameon=False, loc="upper left")
    save_figure(ax, "ensembles.png")


def main():
    forecasts = [forecast(np.random.default_rng(seed)) for seed in range(50)]
    members, truth = (np.stack(parts) for parts in zip(*forecasts, strict=True))
    print(f"{members.shape[0]} places, {members.shape[1]} lead times, {members.shape[2]} members")
    for method in ("amortized", "silverman", "sheather-jones"):
        print(f"{method:<16}{score(members, truth, method):.3f} bits")
    draw(members[3], truth[3])


if __name__ == "__main__":
    main()
