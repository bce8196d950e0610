"""One sample, one density: Old Faithful's eruptions, in minutes. Writes quickstart.png into the current folder."""

from pathlib import Path

import numpy as np

import amortized_kde as akde
from amortized_kde.density.plotting import new_figure, save_figure

ERUPTIONS = np.loadtxt(Path(__file__).with_name("faithful.csv"), delimiter=",", skiprows=1, usecols=0)


def describe(density):
    low, high = density.interval(0.9)
    print(density)
    print(f"nine eruptions in ten last from {low:.1f} to {high:.1f} minutes")
    for mode in density.modes():
        print(f"a mode at {mode.place:.1f} minutes, around which {100 * mode.mass:.0f} % of the eruptions lie")


def compare(sample, outcomes):
    for method in ("amortized", "silverman", "scott", "sheather-jones"):
        scores = akde.log_score(akde.fit(sample, bounds=(0, None), method=method), outcomes)
        print(f"{method:<16}{scores.mean():.3f} bits at {outcomes.size} held-out eruptions")


def draw(density):
    above, below = new_figure(7.0, 5.5).subplots(2, sharex=True, height_ratios=(2, 1))
    density.plot(above)
    density.plot_bandwidth(below)
    below.set_xlabel("duration of an eruption (minutes)")
    save_figure(above, "quickstart.png")


def main():
    density = akde.fit(ERUPTIONS, bounds=(0, None))
    describe(density)
    compare(ERUPTIONS[::2], ERUPTIONS[1::2])
    draw(density)


if __name__ == "__main__":
    main()
