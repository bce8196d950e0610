"""The default here beside SciPy's, on two real samples. Writes against_scipy.png into the current folder.

Scores are means over ten folds of held-out data, in bits; lower is better.
"""

from pathlib import Path

import numpy as np
from scipy.stats import gaussian_kde

import amortized_kde as akde
from amortized_kde.density.plotting import COLOURS, new_figure, save_figure

FOLDS = 10
SAMPLES = (
    ("faithful.csv", "Old Faithful: duration of an eruption (minutes)", 1.0),
    ("galaxies.csv", "velocity of a galaxy (1000 km/s)", 1e-3),
)


def ours(sample, at):
    return akde.fit(sample, bounds=(0, None)).logpdf(at)


def scipys(sample, at):
    return gaussian_kde(sample).logpdf(at)


def held_out(method, sample):
    fold = np.random.default_rng(1).permutation(sample.size) % FOLDS
    logs = [method(sample[fold != k], sample[fold == k]) for k in range(FOLDS)]
    return -np.concatenate(logs).mean() / np.log(2.0)


def draw(axes, sample, label):
    at = np.linspace(0.0 if sample.min() < 3.0 else 5.0, 1.15 * sample.max(), 1000)
    axes.hist(sample, bins=45, density=True, color="0.88")
    for name, method, colour in (("SciPy", scipys, COLOURS[1]), ("amortized-kde", ours, COLOURS[0])):
        score = held_out(method, sample)
        axes.plot(at, np.exp(method(sample, at)), color=colour, linewidth=2.2, label=f"{name}: {score:.3f} bits")
        print(f"{label:<50}{name:<15}{score:.3f} bits")
    axes.set_xlabel(label)
    axes.set_yticks([])
    # Leave space for the legend.
    axes.set_ylim(0.0, 1.2 * axes.get_ylim()[1])
    axes.legend(frameon=False, loc="upper left", ncols=2)


def main():
    panels = new_figure(10.0, 3.2).subplots(1, len(SAMPLES))
    for axes, (file, label, unit) in zip(panels, SAMPLES, strict=True):
        sample = unit * np.loadtxt(Path(__file__).with_name(file), delimiter=",", skiprows=1, usecols=0)
        draw(axes, sample, label)
    panels[0].set_ylabel("density")
    save_figure(panels[0], "against_scipy.png")


if __name__ == "__main__":
    main()
