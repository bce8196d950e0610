"""Time of the first answer in a new environment, and of `amortized-kde fit` later, against SciPy.

    python benchmarks/first_use.py [--repeats 5] [--out results]

Every measurement is a process of its own, from the start of the interpreter to its end. A new environment has no
machine code in its cache, so that nothing compiled can be loaded; bytecode exists, since pip writes it. The limits are
1.5 s for the first answer for one sample of up to 1000 values, and 0.6 s for the command line. All take turns; times
are the best of the repeats, and ratios are to SciPy's `gaussian_kde` in the same run.
"""

import argparse
import csv
import io
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from amortized_kde._files import write_file
from amortized_kde.research.provenance import models_behind, record_files

SIZES = (100, 1000)
FIRST_LIMIT, COMMAND_LIMIT = 1.5, 0.6
SAMPLE = "import numpy as np; x = np.random.default_rng(0).gamma(2.0, size={n}); at = np.linspace(0.0, 9.0, 100); "
OURS = SAMPLE + "import amortized_kde as akde; akde.fit(x).pdf(at)"
SCIPY = SAMPLE + "from scipy.stats import gaussian_kde; gaussian_kde(x).evaluate(at)"
FILE = "table.csv"


class Run(NamedTuple):
    """One kind of process: its name, the size of its sample, its arguments, whether it is new, and its limit."""

    name: str
    n: int
    arguments: tuple[str, ...]
    is_new: bool = False
    limit: float = math.inf


def runs() -> Iterator[Run]:
    """Yield what is timed; of each size first SciPy, then ours."""
    for n in SIZES:
        yield Run("SciPy, gaussian_kde and evaluate", n, ("-c", SCIPY.format(n=n)))
        yield Run("first fit and pdf, new environment", n, ("-c", OURS.format(n=n)), True, FIRST_LIMIT)
        yield Run("fit and pdf, later process", n, ("-c", OURS.format(n=n)), limit=FIRST_LIMIT)
        yield Run("amortized-kde fit FILE", n, ("-m", "amortized_kde", "fit", f"{n}{FILE}"), limit=COMMAND_LIMIT)
    yield Run("import scipy.stats", 0, ("-c", "import scipy.stats"))
    yield Run("import amortized_kde", 0, ("-c", "import amortized_kde"))


def seconds(run: Run, folder: Path, cache: Path) -> float:
    """Return the time of one process in this folder, with this cache of machine code."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["NUMBA_CACHE_DIR"] = str(cache)
    begin = time.perf_counter()
    subprocess.run([sys.executable, *run.arguments], check=True, stdout=subprocess.DEVNULL, cwd=folder, env=environment)
    return time.perf_counter() - begin


def measure(repeats: int) -> dict[Run, float]:
    """Return the best time of each run over the repeats, after one that writes bytecode and fills the disk's cache."""
    best = dict.fromkeys(runs(), math.inf)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for n in SIZES:
            np.savetxt(folder / f"{n}{FILE}", np.random.default_rng(0).gamma(2.0, size=n))
        for repeat in range(repeats + 1):
            for run in best:
                cache = folder / (f"cache{repeat}-{run.n}" if run.is_new else "cache")
                taken = seconds(run, folder, cache)
                best[run] = min(best[run], taken) if repeat else math.inf
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    best = measure(options.repeats)
    peers = {run.n: taken for run, taken in best.items() if "scipy" in run.name.lower()}
    rows = []
    for run, taken in best.items():
        ratio, limit = taken / peers[run.n], "" if math.isinf(run.limit) else run.limit
        rows.append([run.name, run.n or "", f"{taken:.3f}", f"{ratio:.2f}", limit])
        verdict = "" if limit == "" else f"   limit {limit} s: {'kept' if taken <= run.limit else 'missed'}"
        print(f"{run.name:<36}{run.n or '':>6}{taken:>8.2f} s{ratio:>8.2f} times SciPy's{verdict}")
    options.out.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["run", "n", "seconds", "ratio", "limit"], *rows])
    write_file(options.out / "first_use.csv", text.getvalue())
    record_files(options.out, ["first_use.csv"], models_behind(["amortized"]))


if __name__ == "__main__":
    main()
