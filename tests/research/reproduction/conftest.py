"""Small synthetic tables, on which every claim about scores holds until a test changes a number."""

import csv
import json

import numpy as np
import pytest

from amortized_kde.research.reproduction.modes import PAPER_MODES

SIZES = (5, 10, 20, 50, 90, 256)
CHUNKS = 10
TRUE_SCORE = {"gaussian": 2.0, "multifamily": 0.2, "gmm": -0.5}
# Excess at n is this divided by n.
FACTORS = {
    "gaussian": {
        "truth": 0.0,
        "oracle": 1.5,
        "silverman": 5.0,
        "sheather-jones-r": 6.0,
        "lscv": 8.0,
        "lcv": 2.5,
        "amortized:gaussian": 2.0,
    },
    "multifamily": {
        "truth": 0.0,
        "oracle": 2.0,
        "silverman": 9.0,
        "sheather-jones-r": 10.0,
        "lscv": 15.0,
        "lcv": 4.0,
        "amortized:multifamily": 3.0,
        "amortized:gmm8": 3.15,
        "amortized:gmm16": 3.12,
        "amortized:gmm32": 3.09,
    },
    "gmm": {
        "truth": 0.0,
        "oracle": 3.0,
        "silverman": 16.0,
        "sheather-jones-r": 20.0,
        "lscv": 24.0,
        "lcv": 6.0,
        "amortized:multifamily": 4.36,
        "amortized:gmm8": 4.08,
        "amortized:gmm16": 4.04,
        "amortized:gmm32": 4.0,
    },
}


def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header.split(","), *rows])


def write_bed(folder, bed, changes):
    rows, chunks = [], []
    for n in SIZES:
        # The same in all methods, as hard and easy tasks are: pairs differ by the excess alone.
        wobble = np.random.default_rng(n).normal(0.0, 0.1, CHUNKS)
        wobble -= wobble.mean()
        for method, factor in FACTORS[bed].items():
            excess = changes.get((bed, method, n), factor / n)
            median = excess / (2.0 if method.startswith("amortized") else 20.0)
            score = TRUE_SCORE[bed] + excess
            limits = [score, 0.98 * score, 1.02 * score, excess, 0.98 * excess, 1.02 * excess]
            rows.append([n, method, 1000, *map(repr, limits), repr(median), 0])
            for k, off in enumerate(wobble):
                # Heavier for a larger excess, so that limits have a width.
                chunks.append([n, k, 100 * k, 100, method, repr(float(score + off * (1.0 + 0.05 * excess)))])
    header = "n,method,tasks,score_bits,score_lower,score_upper,excess_bits,excess_lower,excess_upper"
    write(folder / f"{bed}.csv", f"{header},median_excess_bits,failures", rows)
    write(folder / f"chunks_{bed}.csv", "n,chunk,first,tasks,method,score_bits", chunks)


def write_families(folder, changes):
    rows = [
        [n, family, method, 100, repr(changes.get((family, method, n), factor / n)), repr(0.01 / n)]
        for n in SIZES
        for family in ("gaussian", "beta")
        for method, factor in FACTORS["multifamily"].items()
    ]
    write(folder / "families.csv", "n,family,method,tasks,excess_bits,standard_error", rows)


def write_small_tables(folder, changes):
    modes = {**PAPER_MODES, **changes.get("modes", {})}
    rows = [[k, "ours", *shares] for k, shares in modes.items()]
    write(folder / "table2_modes.csv", "K,row,1,2,3,4,5,6,7,8,>=9", rows)
    agrees = changes.get("agrees", "yes")
    ends = [["beta", "s", end, "0.7", "0.71", "0.72", "0.01", "0.9", "0.0", agrees] for end in ("low", "high")]
    write(folder / "table1_ranges.csv", "family,parameter,end,paper,ours,mean,sd,prints alike,sds off,agrees", ends)
    ablations = [
        [group, variant, steps, "gmm32", 500, changes.get(variant, excess), 0.001, changes.get(f"{variant} h", octaves)]
        for group, variant, steps, excess, octaves in (
            ("mass threshold", "c >= 0.90 (paper)", 1000, 0.1, 0.0),
            ("mass threshold", "c >= 0.80", 1000, 0.102, 0.0),
            ("mass threshold", "another seed", 1000, 0.103, 0.0),
            ("mass threshold", "full training", 35000, 0.05, 0.0),
            ("mass threshold", "silverman", 0, 5.0, -1.0),
            ("mixture construction", "paper", 1000, 0.3, 0.0),
            ("mixture construction", "wider", 1000, 0.31, 0.0),
            ("bounds", "mixtures with bounds", 1000, 0.3, 0.01),
            ("bounds", "mixtures without", 1000, 0.6, 1.0),
            ("bounds", "oracle", 0, 0.2, 2.0),
        )
    ]
    header = "group,variant,steps,world_judged,tasks,excess_bits,standard_error,mean_log2_bandwidth_ratio"
    write(folder / "ablations.csv", header, ablations)
    penalties = [["gaussian", "silverman", 5, k, 1234.5 + k, "1234.5", f"{k}e-15"] for k in (1, 2)]
    header = "bed,method,n,task,score_bits,score_50_digits,relative_difference"
    write(folder / "penalties.csv", header, penalties)
    header = "n,method,tasks,gauss_hermite_bits,integral_bits,worst_miss_bits"
    write(folder / "quadrature.csv", header, [[n, "silverman", 10, 2.5, 2.499, 0.25] for n in SIZES])
    run = {"scale": "quick", "command": "amortized-kde reproduce all", "seed": 7, "cores": 2, "machine": "a processor"}
    parts = {
        "gmm": {"seconds": 90.0, "processor_seconds": 150.0, "tasks_per_size": 1000, "finished": "2000-01-01T00:00:00"}
    }
    (folder / "run.json").write_text(json.dumps(run | {"parts": parts}))


@pytest.fixture
def make_results(tmp_path):
    """Write all tables into a folder, some numbers changed, and give the folder."""

    def make(name="results", beds=tuple(FACTORS), **changes):
        folder = tmp_path / name
        folder.mkdir()
        scores = changes.pop("scores", {})
        for bed in beds:
            write_bed(folder, bed, scores)
        write_families(folder, changes.pop("families", {}))
        write_small_tables(folder, changes.pop("small", {}))
        return folder

    return make
