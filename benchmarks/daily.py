"""Everyday functions of a density against SciPy's `gaussian_kde`, and `fit` on a long CSV against a short one.

    python benchmarks/daily.py [--repeats 15] [--out results]

On 1000 arguments, and for 10^5 draws: the default method, on samples of 100, 500 and 5000 values of a standard normal
distribution. *Fresh* is the first call on a new density, which prepares its sums; the process has made such calls
before. SciPy has no distribution function but `integrate_box_1d`, called in a loop, and neither quantiles nor entropy:
quantiles are compared with our own `cdf`, fresh ones with a fresh one. Ours and SciPy's take turns, and the best time
counts.
"""

import argparse
import csv
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import gaussian_kde

import amortized_kde as akde
from amortized_kde._files import write_file
from amortized_kde.research.provenance import models_behind, record_files

SIZES = (100, 500, 5000)
ARGUMENTS, DRAWS = 1000, 100_000
LONG, SHORT = 500_000, 300
HEAD = ["n", "function", "ours_ms", "fresh_ms", "other_ms", "other", "ratio", "fresh_ratio"]

Work = Callable[[], object]


def best_of(repeats: int, *works: Work) -> list[float]:
    """Return the best time of each in milliseconds; they take turns."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, taken in zip(works, times, strict=True):
            begin = time.perf_counter()
            work()
            taken.append(1e3 * (time.perf_counter() - begin))
    return [min(taken) for taken in times]


def works_of(x: np.ndarray) -> dict[str, tuple[Callable[[akde.KernelDensity], object], Work | None, str]]:
    """Return by name what is timed: ours, what it is compared with, and the name of that."""
    kernels, density = gaussian_kde(x), akde.fit(x)
    at = np.linspace(x.min() - x.std(), x.max() + x.std(), ARGUMENTS)
    p = np.random.default_rng(2).random(ARGUMENTS)
    boxes = lambda: [kernels.integrate_box_1d(-np.inf, y) for y in at]  # noqa: E731
    return {
        "pdf": (lambda d: d.pdf(at), lambda: kernels(at), "gaussian_kde"),
        "cdf": (lambda d: d.cdf(at), boxes, "integrate_box_1d in a loop"),
        "ppf": (lambda d: d.ppf(p), lambda: density.cdf(at), "our cdf"),
        "sample": (lambda d: d.sample(DRAWS, rng=1), lambda: kernels.resample(DRAWS, seed=1), "resample"),
        "entropy": (lambda d: d.entropy(), None, ""),
    }


def copy_of(density: akde.KernelDensity) -> akde.KernelDensity:
    """Return the density as it was when it was made: without anything that its methods keep."""
    twin = object.__new__(akde.KernelDensity)
    twin.__setstate__(density.__getstate__())
    return twin


def time_size(n: int, repeats: int) -> list[list[str]]:
    """Return the rows of one sample size."""
    x = np.random.default_rng(1).standard_normal(n)
    density, rows, fresh_times = akde.fit(x), [], {}
    for name, (work, other, label) in works_of(x).items():
        ours = [lambda work=work: work(density), *([other] if other else [])]
        again, *others = best_of(repeats, *ours)
        times = []
        for _ in range(repeats):
            twin = copy_of(density)
            times += best_of(1, lambda twin=twin, work=work: work(twin))
        fresh, compared = min(times), others[0] if others else np.nan
        fresh_times[name] = fresh
        pairs = (again, compared), (fresh, fresh_times["cdf"] if name == "ppf" else compared)
        ratios = [f"{time_ / theirs:.2f}" if others else "" for time_, theirs in pairs]
        shown = f"{compared:.3g}" if others else ""
        rows.append([str(n), name, f"{again:.3g}", f"{fresh:.3g}", shown, label, *ratios])
    return rows


def time_files(repeats: int) -> list[str]:
    """Return a row for `amortized-kde fit` on a long and a short CSV."""
    x = np.random.default_rng(3).lognormal(0.0, 0.5, LONG)
    with tempfile.TemporaryDirectory() as folder:
        commands = []
        for n in (LONG, SHORT):
            path = Path(folder, f"{n}.csv")
            path.write_text("x\n" + "\n".join(f"{value:.9g}" for value in x[:n]) + "\n", encoding="utf-8")
            commands.append([sys.executable, "-m", "amortized_kde", "fit", str(path)])
        works = [
            lambda command=command: subprocess.run(command, check=True, capture_output=True) for command in commands
        ]
        # Once before, so that everything is compiled.
        best_of(1, *works)
        long, short = best_of(repeats, *works)
    return [str(LONG), "fit CSV", f"{long:.0f}", "", f"{short:.0f}", f"fit CSV of {SHORT}", f"{long / short:.2f}", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    rows = []
    for n in SIZES:
        rows += time_size(n, options.repeats)
    rows.append(time_files(max(1, options.repeats // 3)))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([HEAD, *rows])
    print(text.getvalue(), end="")
    write_file(options.out / "daily.csv", text.getvalue())
    record_files(options.out, ["daily.csv"], models_behind(["amortized"]), command="python benchmarks/daily.py")


if __name__ == "__main__":
    main()
