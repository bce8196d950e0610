"""Selectors and log-densities against other libraries, side by side in one run.

    python benchmarks/selector_speed.py [--samples 10000]

Every time is the best of five on the same samples. What matters is the ratio; absolute times depend on the machine.
Other libraries take one sample per call, so they run in a loop over fewer samples (shown in the table) and are scaled
up.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from KDEpy.bw_selection import improved_sheather_jones
from scipy.stats import gaussian_kde
from statsmodels.nonparametric.bandwidths import bw_silverman

import amortized_kde as akde
from amortized_kde.ensembles import log_densities
from amortized_kde.numerics.threads import available_threads

REPEATS = 5
R_SCRIPT = """
arguments <- commandArgs(TRUE)
x <- matrix(readBin(arguments[1], "double", 1e9), ncol = as.integer(arguments[2]), byrow = TRUE)
best <- function(f) min(sapply(1:5, function(i) system.time(apply(x, 1, f))[["elapsed"]])) / nrow(x)
cat(sprintf('{"bw.nrd0": %.9g, "bw.ucv": %.9g, "bw.SJ": %.9g}', best(bw.nrd0),
            best(function(v) suppressWarnings(bw.ucv(v))), best(function(v) bw.SJ(v, method = "ste"))))
"""


def best_time(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def r_times(x: np.ndarray) -> dict[str, float]:
    """Seconds per sample of R's selectors, measured inside R."""
    with tempfile.TemporaryDirectory() as folder:
        data, script = Path(folder, "x.bin"), Path(folder, "time.R")
        np.ascontiguousarray(x).tofile(data)
        script.write_text(R_SCRIPT)
        done = subprocess.run(
            ["Rscript", str(script), str(data), str(x.shape[1])], check=True, capture_output=True, text=True
        )
    return dict(json.loads(done.stdout))


def print_row(name: str, seconds: float, ours: float | None = None, samples: int | None = None) -> None:
    ratio = "" if ours is None else f"{seconds / ours:10.1f} x"
    note = "" if samples is None else f"   ({samples} samples in its loop)"
    print(f"  {name:<34}{seconds * 1e6:>11.2f} µs a sample{ratio}{note}")


def compare_selectors(n: int, samples: int, rng: np.random.Generator) -> None:
    x = rng.normal(size=(samples, n))
    few = x[: max(samples // 20, 1)]
    print(f"\nBandwidths, n = {n}, {samples} samples in one call; ratios to the same selector here")
    ours = {}
    for method in akde.selectors():
        akde.bandwidth(x[:2], axis=-1, method=method)
        ours[method] = best_time(lambda m=method: akde.bandwidth(x, axis=-1, method=m)) / samples
        print_row(f"amortized-kde {method}", ours[method])

    def loop(select: Callable[[np.ndarray], object]) -> float:
        return best_time(lambda: [select(row) for row in few]) / len(few)

    print_row("statsmodels bw_silverman", loop(bw_silverman), ours["silverman"], len(few))
    print_row(
        "scipy gaussian_kde (silverman)",
        loop(lambda row: gaussian_kde(row, "silverman").factor),
        ours["silverman"],
        len(few),
    )
    print_row(
        "KDEpy improved_sheather_jones",
        loop(lambda row: improved_sheather_jones(row[:, None])),
        ours["sheather-jones"],
        len(few),
    )
    if shutil.which("Rscript") is None:
        print("  R: not found on this machine, so not compared")
        return
    times = r_times(few)
    for name, mine in (("bw.nrd0", "silverman"), ("bw.ucv", "lscv"), ("bw.SJ", "sheather-jones-r")):
        print_row(f"R {name}", times[name], ours[mine], len(few))


def compare_densities(samples: int, points: int, rng: np.random.Generator) -> None:
    n = 100
    x, y = rng.normal(size=(samples, n)), rng.normal(size=(samples, points))
    h = akde.bandwidth(x, axis=-1, method="silverman")
    log_densities(x[:2], h[:2], y[:2])
    ours = best_time(lambda: log_densities(x, h, y)) / samples
    few = max(samples // 50, 1)
    factor = h / x.std(axis=-1, ddof=1)

    def scipy_loop() -> np.ndarray:
        return np.array([gaussian_kde(x[i], factor[i]).logpdf(y[i]) for i in range(few)])

    error = np.max(np.abs(scipy_loop() - log_densities(x[:few], h[:few], y[:few])))
    print(f"\nLog-densities of {samples} samples (n = {n}) at {points} points each")
    print_row("amortized-kde log_densities", ours)
    print_row("scipy gaussian_kde.logpdf", best_time(scipy_loop) / few, ours, few)
    print(f"  largest difference: {error:.1e}")


def compare_with_mean_and_sd(samples: int, n: int, rng: np.random.Generator) -> None:
    """Time a learned selector against the mean and the standard deviation alone, in turns."""
    x = rng.normal(size=(samples, n))
    method, bounds = "amortized:gmm32", (-10.0, 10.0)
    works: dict[str, Callable[[], object]] = {
        "NumPy mean and std": lambda: (x.mean(-1), x.std(-1)),
        f"amortized-kde {method}": lambda: akde.bandwidth(x, axis=-1, method=method),
        "the same between bounds": lambda: akde.bandwidth(x, axis=-1, method=method, bounds=bounds),
    }
    akde.bandwidth(x[:2], axis=-1, method=method)
    best = dict.fromkeys(works, float("inf"))
    for _ in range(REPEATS):
        for name, work in works.items():
            begin = time.perf_counter()
            work()
            best[name] = min(best[name], (time.perf_counter() - begin) / samples)
    plain = best["NumPy mean and std"]
    print(f"\nA learned selector on {samples} samples of {n} values")
    for name, seconds in best.items():
        print(f"  {name:<34}{seconds * 1e6:>11.2f} µs a sample{seconds / plain:10.2f} times NumPy's")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000)
    samples = parser.parse_args().samples
    rng = np.random.default_rng(20260101)
    print(f"{available_threads()} threads; best of {REPEATS}")
    for n in (20, 100, 256):
        compare_selectors(n, samples, rng)
    compare_densities(samples, 1000, rng)
    compare_with_mean_and_sd(100 * samples, 51, rng)


if __name__ == "__main__":
    main()
