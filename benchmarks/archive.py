"""Measure what training on an archive gains: synthetic forecasts with observations, scored on held-out time.

    python benchmarks/archive.py [--seed 202] [--steps N] [--out results]

Forecasts have twenty members; three in ten have errors with two modes. The first archive is biased and has half of the
right spread, the second has a quarter of its places, the third has neither fault and is not dressed. Writes
archive.csv: scores in bits, and each method's difference to the tuned model with a 95 % interval. Takes some minutes.
"""

import argparse
import csv
import tempfile
from pathlib import Path

import numpy as np
from rich.progress import track

from amortized_kde.research.provenance import models_behind, record_files
from amortized_kde.research.training.archive.pairs import Pairs, read_pairs
from amortized_kde.research.training.archive.recipe import archive_recipe
from amortized_kde.research.training.archive.scores import table_lines
from amortized_kde.research.training.archive.train import train_archive

DAYS, MEMBERS = 730, 20
# Places, bias, slope of the forecast's mean, and spread relative to what it should be.
ARCHIVES = {
    "biased, half the spread": (40, 1.0, 0.9, 0.5),
    "the same, a quarter of the places": (10, 1.0, 0.9, 0.5),
    "neither bias nor lack of spread": (40, 0.0, 1.0, 1.0),
}
HEAD = ("archive", "pairs", "dressed", "method", "held_out_bits", "minus_tuned_bits", "low_95", "high_95")


def make(places: int, bias: float, slope: float, spread: float, seed: int) -> Pairs:
    """Return two years of daily temperatures, with a season and persistent weather, and their forecasts."""
    rng = np.random.default_rng(seed)
    weather = np.zeros((DAYS, 1))
    for day in range(1, DAYS):
        weather[day] = 0.8 * weather[day - 1] + 2.0 * rng.normal()
    season = 10.0 * np.sin(2.0 * np.pi * np.arange(DAYS) / 365.25)[:, None]
    mean = 10.0 + season + weather + rng.normal(size=(DAYS, places))
    scale, two = rng.gamma(4.0, 0.5, size=(DAYS, places)), rng.random((DAYS, places)) < 0.3

    def draw(count: int) -> np.ndarray:
        side = np.where(rng.random((DAYS, places, count)) < 0.6, 1.5, -1.5) * two[..., None]
        noise = rng.normal(size=(DAYS, places, count)) * np.where(two, 0.5, 1.0)[..., None]
        return scale[..., None] * (noise + side)

    truth = mean + draw(1)[..., 0]
    forecasts = bias + (mean[..., None] + spread * draw(MEMBERS)) / slope
    return read_pairs(forecasts.reshape(-1, MEMBERS), truth.reshape(-1), np.repeat(np.arange(DAYS), places))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=202)
    parser.add_argument("--steps", type=int, default=None)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    lines = []
    for name, (places, bias, slope, spread) in track(ARCHIVES.items(), description="archives"):
        pairs, dress = make(places, bias, slope, spread, options.seed), spread != 1.0
        options_given = {} if options.steps is None else {"steps": options.steps}
        with tempfile.TemporaryDirectory() as folder:
            recipe = archive_recipe(pairs, dress=dress, **options_given)
            report = train_archive(recipe, pairs, Path(folder)).report
        print(f"{name}, {len(pairs)} pairs", *table_lines(report), sep="\n")
        for row in report.rows:
            figures = (f"{value:.4f}" for value in (row.score, row.difference, row.low, row.high))
            lines.append((name, len(pairs), dress, row.method, *figures))
    options.out.mkdir(parents=True, exist_ok=True)
    with open(options.out / "archive.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *lines])
    record_files(options.out, ["archive.csv"], models_behind([f"amortized:{recipe.start}"]))


if __name__ == "__main__":
    main()
