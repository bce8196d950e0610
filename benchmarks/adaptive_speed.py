"""Time and memory of the adaptive estimator: one sample, many samples, a large sample.

    python benchmarks/adaptive_speed.py [--repeats 5]

Best of the repeats, with warm compiled loops; absolute times depend on the machine. benchmarks/first_use.py times the
first call, without any.
"""

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

import amortized_kde as akde
from amortized_kde.errors import AmortizedKdeWarning

# In a new process: the peak of one that has computed more would say nothing.
PEAK = """
import sys, resource, numpy as np, amortized_kde as akde
rng = np.random.default_rng(1)
akde.fit(rng.normal(size=10_000)).logpdf(np.linspace(-3, 3, 512))
x = rng.normal(size=int(sys.argv[1]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
akde.fit(x).logpdf(np.linspace(-3, 3, 512))
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


def best(work: Callable[[], object], repeats: int) -> float:
    work()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def peak(n: int) -> int:
    done = subprocess.run([sys.executable, "-c", PEAK, str(n)], check=True, capture_output=True, text=True)
    return int(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    rng, grid = np.random.default_rng(1), np.linspace(-3.0, 3.0, 512)
    one, large, many = rng.normal(size=100), rng.normal(size=1_000_000), rng.normal(size=(100_000, 51))
    # One small sample alone would not load the loops.
    akde.fit(large[:5000])
    print(
        f"fit, n = 100                              {1e3 * best(lambda: akde.fit(one), 20 * repeats):8.2f} ms (limit 3)"
    )
    print(f"fit, n = 10^6                             {best(lambda: akde.fit(large), repeats):8.2f} s  (limit 1)")
    print(f"fit and pdf at 512 points, n = 10^6       {best(lambda: akde.fit(large).pdf(grid), repeats):8.2f} s")
    for method, limit in (("amortized:adaptive", "  (limit 5)"), ("amortized:single", "")):
        took = best(lambda method=method: akde.bandwidth(many, axis=-1, method=method), repeats)
        print(f"10^5 samples of 51, {method:<21} {took:8.2f} s{limit}")
    sizes = (1_000_000, 2_000_000, 4_000_000)
    peaks = ", ".join(f"{peak(n) / n:.0f}" for n in sizes)
    print(f"memory beyond the sample, n = 1, 2, 4 x 10^6: {peaks} bytes a value")


if __name__ == "__main__":
    main()
