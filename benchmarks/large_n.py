"""A density on 1024 points from a million values, against KDEpy's FFTKDE with its ISJ: time, error and memory.

    python benchmarks/large_n.py [--n 1000000] [--repeats 5] [--out results]

Timed is the whole call on an unsorted array, bandwidth and density; estimators take turns and the best time of each
counts. What matters is the ratio. Errors are integrals of the estimated density against the true one. KDEpy's ISJ
returns its bandwidth in the wrong unit (contests/large_n.py): errors are shown for KDEpy as it is, and with the unit
corrected. Where its bandwidth is smaller than the step of the grid, its values on the grid are also too large; the last
column has their integral.
"""

import argparse
import warnings
from pathlib import Path

from amortized_kde.errors import AmortizedKdeWarning
from amortized_kde.numerics.threads import available_threads
from amortized_kde.research.provenance import models_behind, record_files
from contests.large_n import ESTIMATORS, KDEPY, TRUTHS, compare, peak_memory, write_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    print(f"n = {options.n}, {available_threads()} threads, best of {options.repeats}")
    rows = []
    for name in TRUTHS:
        print(f"\n{name:<20}{'ms':>10}{'speed':>10}{'excess, bits':>16}{'squared error':>16}{'mass on grid':>16}")
        for row in compare(name, options.n, repeats=options.repeats):
            rows.append(row)
            print(f"  {row.estimator:<18}{1e3 * row.seconds:>10.1f}{row.ratio:>9.2f}x", end="")
            print(f"{row.excess:>16.2e}{row.squared:>16.2e}{row.mass:>16.4f}")
    print("\nmemory beyond the sample, bytes a value")
    for estimator in ESTIMATORS:
        peaks = ", ".join(f"{peak_memory(estimator, k * options.n):.0f}" for k in (1, 2, 4))
        print(f"  {estimator:<18} n = {options.n} x 1, 2, 4: {peaks}")
    print(f"\nspeed is how many times as fast as {KDEPY}")
    options.out.mkdir(parents=True, exist_ok=True)
    write_rows(options.out / "large_n.csv", rows)
    record_files(options.out, ["large_n.csv"], models_behind(ESTIMATORS))


if __name__ == "__main__":
    main()
