"""Realised ranges of the families' parameters beside those printed in the paper's Table 1.

An extreme of 10,000 settings is itself random, so it is judged by its spread over pools from different seeds.
"""

import csv
import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from amortized_kde._files import write_file
from amortized_kde.research.provenance import record_files
from amortized_kde.research.tasks.families import FAMILIES, parameters
from amortized_kde.research.tasks.worlds import POOL_SEED, POOL_SIZE, Pool, make_pool

# Table 1: the intervals without a sampling distribution, as printed, so that their rounding can be read off.
PAPER_RANGES = {
    ("gaussian", "sigma"): ("0.13", "0.61"),
    ("laplace", "b"): ("0.06", "0.43"),
    ("student-t", "s"): ("0.02", "0.59"),
    ("gamma", "theta"): ("0.04", "1.4"),
    ("beta", "s"): ("0.7", "8.3"),
    ("logistic", "s"): ("0.06", "0.34"),
    ("lognormal", "s"): ("0.01", "2.4"),
    ("bimodal", "mu_1"): ("-1.0", "0.4"),
    ("bimodal", "mu_2"): ("-0.4", "1.0"),
    ("bimodal", "sigma_1"): ("0.04", "0.34"),
    ("bimodal", "sigma_2"): ("0.04", "0.34"),
    ("trimodal", "mu_1"): ("-1.3", "0.4"),
    ("trimodal", "mu_2"): ("-0.7", "0.7"),
    ("trimodal", "mu_3"): ("-0.4", "1.4"),
    ("trimodal", "sigma_1"): ("0.03", "0.29"),
    ("trimodal", "sigma_2"): ("0.03", "0.31"),
    ("trimodal", "sigma_3"): ("0.03", "0.28"),
    ("spike-slab", "sigma_spike"): ("0.01", "0.26"),
    ("spike-slab", "sigma_slab"): ("0.12", "1.43"),
}
_ENDS = {"low": np.min, "high": np.max}
# Pools over which an extreme's spread is taken. With 38 ends, one in ten such tables has an end more than
# three standard deviations off (normal law).
_POOLS = 40
_DEVIATIONS = 3.0


@dataclass(frozen=True)
class RangeEnd:
    """One end of one interval: printed, in our pool, and over pools (mean, deviation, fraction that prints alike)."""

    family: str
    parameter: str
    end: str
    printed: str
    ours: float
    mean: float
    deviation: float
    alike: float

    @property
    def rounding(self) -> float:
        """Half a unit of the last decimal printed."""
        return 0.5 * 10.0 ** -_decimals(self.printed)

    @property
    def off(self) -> float:
        """Standard deviations between the printed end, anywhere inside its rounding, and the mean extreme."""
        return max(0.0, abs(float(self.printed) - self.mean) - self.rounding) / self.deviation

    @property
    def agrees(self) -> bool:
        """Whether the printed end is what a pool of ours could have shown."""
        return self.off <= _DEVIATIONS


def _decimals(printed: str) -> int:
    return len(printed.partition(".")[2])


def _extremes(pool: Pool) -> dict[tuple[str, str, str], float]:
    found: dict[tuple[str, str, str], float] = {}
    for name in pool.families:
        values = parameters(FAMILIES[name], pool.family(name))
        for (family, parameter), _ in PAPER_RANGES.items():
            if family == name:
                found |= {(name, parameter, end): float(of(values[parameter])) for end, of in _ENDS.items()}
    return found


def compare_ranges(pools: int = _POOLS, seed: int = POOL_SEED, *, size: int = POOL_SIZE) -> list[RangeEnd]:
    """Return the ends of all realised ranges beside the printed ones.

    At least two pools of `size` settings a family are made, with the seeds from `seed` on; `ours` is from the first.

    Examples
    --------
    >>> ends = compare_ranges(2, size=50)
    >>> ends[0].family, ends[0].parameter, ends[0].end, ends[0].printed
    ('gaussian', 'sigma', 'low', '0.13')
    """
    found = [_extremes(make_pool(size, seed + i)) for i in range(pools)]
    rows = []
    for (family, parameter), printed in PAPER_RANGES.items():
        for end, text in zip(_ENDS, printed, strict=True):
            values = np.array([extremes[family, parameter, end] for extremes in found])
            alike = np.mean([f"{value:.{_decimals(text)}f}" == text for value in values])
            over_pools = float(values.mean()), float(values.std(ddof=1)), float(alike)
            rows.append(RangeEnd(family, parameter, end, text, float(values[0]), *over_pools))
    return rows


def _line(row: RangeEnd) -> list[str]:
    numbers = [f"{value:.4f}" for value in (row.ours, row.mean, row.deviation)]
    verdict = "yes" if row.agrees else "no"
    return [row.family, row.parameter, row.end, row.printed, *numbers, f"{row.alike:.2f}", f"{row.off:.1f}", verdict]


def reproduce_ranges(out: str | os.PathLike[str], *, pools: int = _POOLS) -> str:
    """Write ``table1_ranges.csv`` into a directory, and return the table as text.

    Columns: the end as printed; in our pool; mean and standard deviation over pools; the fraction of pools in which it
    prints as in the paper; standard deviations between the mean and the printed end; the verdict.
    """
    header = ["family", "parameter", "end", "paper", "ours", "mean", "sd", "prints alike", "sds off", "agrees"]
    lines = [header, *(_line(row) for row in compare_ranges(pools))]
    directory = Path(out)
    directory.mkdir(parents=True, exist_ok=True)
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(lines)
    write_file(directory / "table1_ranges.csv", text.getvalue())
    record_files(directory, ["table1_ranges.csv"], {})
    return "\n".join("".join(cell.ljust(13) for cell in line).rstrip() for line in lines)
