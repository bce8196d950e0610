"""The effect of bounds on waiting times, which are never negative, and on proportions. Writes bounds.png."""

import numpy as np

import amortized_kde as akde
from amortized_kde.density.plotting import COLOURS, new_figure, save_figure

RNG = np.random.default_rng(4)
# Name, sample, bounds, and the visible part of the axis.
SAMPLES = (
    ("waiting time (minutes)", RNG.exponential(2.0, 100), (0, None), (-2.0, 11.0)),
    ("proportion", RNG.beta(2.0, 1.0, 100), (0, 1), (-0.2, 1.2)),
)


def outside(density, bounds):
    """Return the probability of impossible values."""
    low, high = bounds
    return density.cdf(low) + (0.0 if high is None else density.sf(high))


def draw(ax, name, sample, bounds, shown):
    free, bounded = akde.fit(sample), akde.fit(sample, bounds=bounds)
    print(f"{name}: without bounds {outside(free, bounds):.1%} of the probability lies outside the bounds")
    grid = np.linspace(*shown, 1001)
    lost = bounded.pdf(grid) == 0.0
    ax.fill_between(
        grid, free.pdf(grid), where=lost, color=COLOURS[1], alpha=0.3, linewidth=0, label="outside the bounds"
    )
    ax.plot(grid, free.pdf(grid), color=COLOURS[1], linestyle="--", label="no bounds")
    bounded.plot(ax, label=f"bounds=({bounds[0]}, {bounds[1]})")
    ax.set(xlabel=name, xlim=shown)
    ax.legend(frameon=False, fontsize=9)


def main():
    panels = new_figure(9.0, 3.6).subplots(1, 2)
    for ax, case in zip(panels, SAMPLES, strict=True):
        draw(ax, *case)
    save_figure(panels[0], "bounds.png")


if __name__ == "__main__":
    main()
