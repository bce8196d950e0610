"""Measure what training on an archive gains against EMOS and others: on synthetic archives and, where found, real ones.

    python benchmarks/archive.py [--archives DIR] [--seed 202] [--steps N] [--out results]

Synthetic forecasts have twenty members; three in ten have errors with two modes. The first archive is biased and has
half of the right spread, the second has a quarter of its places, the third has neither fault; one fifth of 60 blocks of
time is scored. Of real archives (DIR/temp.nc and DIR/rain.nc, with the variables fc (time, member) and obs) three parts
are scored: rows 50 to 70 % by a fit of those before, 60 to 80 %, 70 to 90 %. Everything is chosen on the rows that are
fitted. Writes archive.csv and archive.md: scores in bits, CRPS, coverage of central 90 % intervals, and each method's
difference to the trained model with a 95 % interval by blocks of time. Takes some minutes.
"""

import argparse
import csv
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xarray as xr

from amortized_kde.integrations.xarray.archives import archive_of
from amortized_kde.research.provenance import models_behind, record_files
from amortized_kde.research.training.archive.calibrate import choose, fit_calibration
from amortized_kde.research.training.archive.decide import decide, fit
from amortized_kde.research.training.archive.pairs import Pairs, read_pairs
from amortized_kde.research.training.archive.predictive import Scores, score
from amortized_kde.research.training.archive.recipe import STEPS, archive_recipe
from amortized_kde.research.training.archive.report import OURS, Report, join, table_lines, tabulate
from amortized_kde.research.training.archive.rivals import rivals_of

DAYS, MEMBERS, BLOCKS = 730, 20, 60
# Places, bias, slope of the forecast's mean, and spread relative to what it should be.
SYNTHETIC = {
    "biased, half the spread": (40, 1.0, 0.9, 0.5),
    "the same, a quarter of the places": (10, 1.0, 0.9, 0.5),
    "neither bias nor lack of spread": (40, 0.0, 1.0, 1.0),
}
REAL = {
    "temperature": ("temp.nc", {}),
    "rain": ("rain.nc", {"bounds": (0.0, None), "atoms": (0.0,)}),
}
SPLITS = ((0.5, 0.7), (0.6, 0.8), (0.7, 0.9))
HEAD = ("archive", "part", "pairs", "method", "bits", "occurrence", "amount", "crps", "coverage_90")
HEAD += ("minus_trained_bits", "low_95", "high_95")


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
    days = np.repeat(np.arange(DAYS), places)
    dates = {"day_of_year": 1.0 + days % 365}
    return read_pairs(forecasts.reshape(-1, MEMBERS), truth.reshape(-1), days, covariates=dates)


def held_out_block(days: np.ndarray) -> np.ndarray:
    """Return which days are in the block that is scored, one of every five; its position shifts by two each time."""
    group, position = np.divmod(days * BLOCKS // DAYS, 5)
    return position == (3 + 2 * group) % 5


def parts(options: argparse.Namespace) -> Iterator[tuple[str, str, Pairs, Pairs]]:
    """Return the name of each archive, the part that is scored, and the pairs to fit and to score."""
    for name, settings in SYNTHETIC.items():
        pairs = make(*settings, options.seed)
        scored = held_out_block(pairs.days)
        yield name, "one of five blocks", pairs.where(~scored), pairs.where(scored)
    for name, (file, support) in REAL.items():
        path = options.archives / file
        if not path.exists():
            print(f"{path} is not there; {name} is left out")
            continue
        with xr.open_dataset(path) as data:
            found = archive_of(data.fc, data.obs)
        pairs = read_pairs(found.members, found.observations, found.days, covariates=found.covariates, **support)
        row = np.arange(len(pairs))
        for first, last in SPLITS:
            start, stop = int(first * len(pairs)), int(last * len(pairs))
            part = f"{100 * first:.0f} to {100 * last:.0f} %"
            yield name, part, pairs.where(row < start), pairs.where((row >= start) & (row < stop))


def judge(fitted: Pairs, scored: Pairs, steps: int) -> dict[str, Scores]:
    """Return the scores of the rivals and of the trained model, all fitted on the same pairs."""
    recipe = archive_recipe(fitted, steps=steps)
    begin = time.perf_counter()
    fit_calibration(fitted, choose(fitted))
    calibration = time.perf_counter() - begin
    decided = decide(fitted, recipe, say=lambda sentence: print(f"  {sentence}"))
    model = fit(fitted, recipe, decided)
    print(f"  {len(fitted)} pairs: calibration {calibration:.1f} s, all {time.perf_counter() - begin:.1f} s")
    found = {name: score(rival(fitted, scored), scored) for name, rival in rivals_of(fitted, decided.choice).items()}
    return found | {OURS: score(model.predictive(scored), scored)}


def rows_of(archive: str, part: str, report: Report) -> list[tuple[str, ...]]:
    """Return the lines of the table."""
    rows = []
    for r in report.rows:
        numbers = (r.bits, r.occurrence, r.amount, r.crps, r.coverage, r.difference, r.low, r.high)
        rows.append((archive, part, str(report.pairs), r.method, *(f"{value:.4f}" for value in numbers)))
    return rows


def to_markdown(rows: list[tuple[str, ...]]) -> str:
    """Return the rows of whole archives as a table; the CSV has each part too."""
    head = ["archive", "method", "bits", "occurrence + amount", "CRPS", "in 90 %", "behind the trained model, 95 %"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for archive, part, pairs, method, bits, dry, wet, crps, covered, behind, low, high in rows:
        if " to " in part:
            continue
        both = f"{float(dry):.3f} + {float(wet):.3f}" if float(dry) else ""
        gap = "" if method == OURS else f"{float(behind):+.3f} ({float(low):+.3f} to {float(high):+.3f})"
        name = f"**{method}**" if method == OURS else method
        cells = (f"{archive} ({int(pairs):,} scored)", name, f"{float(bits):.3f}", both, f"{float(crps):.3f}")
        lines.append("| " + " | ".join((*cells, f"{100 * float(covered):.0f} %", gap)) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archives", type=Path, default=Path("archives"))
    parser.add_argument("--seed", type=int, default=202)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    rows: list[tuple[str, ...]] = []
    whole: dict[str, list[tuple[dict[str, Scores], Pairs]]] = {}
    for archive, part, fitted, scored in parts(options):
        print(f"{archive}, {part}")
        found = judge(fitted, scored, options.steps)
        report = tabulate(found, scored)
        rows += rows_of(archive, part, report)
        print(*table_lines(report), sep="\n", flush=True)
        whole.setdefault(archive, []).append((found, scored))
    for archive, several in whole.items():
        if len(several) > 1:
            report = pooled(several)
            rows += rows_of(archive, "mean of three parts", report)
            print(archive, "mean of three parts", *table_lines(report), sep="\n", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    with open(options.out / "archive.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *rows])
    (options.out / "archive.md").write_text(to_markdown(rows), encoding="utf-8")
    command = "python benchmarks/archive.py --archives DIR"
    record_files(options.out, ["archive.csv", "archive.md"], models_behind(["amortized:adaptive"]), command=command)


def pooled(several: list[tuple[dict[str, Scores], Pairs]]) -> Report:
    """Return the report of all parts together, of the methods that occur in each; days of two parts stay together."""
    methods = [name for name in several[0][0] if all(name in found for found, _ in several)]
    scores = {
        name: Scores(*(np.concatenate(part) for part in zip(*(found[name] for found, _ in several), strict=True)))
        for name in methods
    }
    pairs = several[0][1]
    for _, more in several[1:]:
        pairs = join(pairs, more)
    return tabulate(scores, pairs)


if __name__ == "__main__":
    main()
