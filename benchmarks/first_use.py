"""Time of the first `amortized-kde fit`, with compilation, and of later ones.

    python benchmarks/first_use.py [--repeats 5]

Each first run has an empty cache of compiled loops. Best of the repeats; absolute times depend on the machine.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "faithful.csv"
COMMAND = [
    sys.executable,
    "-m",
    "amortized_kde.cli",
    "fit",
    str(EXAMPLE),
    "--column",
    "eruptions",
    "--bounds",
    "0",
    "none",
]


def seconds(command: list[str], cache: str) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "NUMBA_CACHE_DIR": cache})
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    first, later, imports, scipy = [], [], [], []
    for _ in range(parser.parse_args().repeats):
        with tempfile.TemporaryDirectory() as cache:
            first.append(seconds(COMMAND, cache))
            later.append(seconds(COMMAND, cache))
            imports.append(seconds([sys.executable, "-c", "import amortized_kde"], cache))
            scipy.append(seconds([sys.executable, "-c", "import scipy.stats"], cache))
    print(f"first fit {min(first):.2f} s, later {min(later):.2f} s")
    ratio = min(imports) / min(scipy)
    print(f"import amortized_kde {min(imports):.2f} s, {ratio:.2f} times import scipy.stats")


if __name__ == "__main__":
    main()
