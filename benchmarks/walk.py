"""How many files of the package run in a warm call, and how often execution moves from one file to another.

    python benchmarks/walk.py [--files]

Each call is made once to load and compile, and counted the second time, by `sys.setprofile`. Generated
code and other libraries do not count; a compiled loop counts as its own file.
"""

import argparse
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

import amortized_kde as akde

PACKAGE = str(Path(akde.__file__).parent)


def walk(call: Callable[[], object]) -> list[str]:
    """Return the files of the package in the order in which a second call enters them."""
    call()
    steps: list[str] = []

    def profile(frame, event, _):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(PACKAGE):
            steps.append(name.removeprefix(PACKAGE).lstrip("/\\"))

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return steps


def lazy_scores() -> Callable[[], object]:
    import xarray as xr

    from amortized_kde.integrations import xarray as labelled

    rng = np.random.default_rng(0)
    members = xr.DataArray(rng.normal(size=(8, 6, 11)), dims=("time", "place", "member")).chunk({"time": 4})
    observed = xr.DataArray(rng.normal(size=(8, 6)), dims=("time", "place")).chunk({"time": 4})
    return lambda: labelled.log_scores(members, observed, dim="member").compute(scheduler="synchronous")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="list the files of each call")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    x, many = rng.normal(size=60), rng.normal(size=(50, 20))
    calls = {
        "fit(x)": lambda: akde.fit(x),
        "fit(x).pdf(0)": lambda: akde.fit(x).pdf(0.0),
        "bandwidth(X, axis=-1)": lambda: akde.bandwidth(many, axis=-1),
        "log_scores on dask": lazy_scores(),
    }
    for name, call in calls.items():
        steps = walk(call)
        files = list(dict.fromkeys(steps))
        changes = sum(first != second for first, second in pairwise(steps))
        print(f"{name:22} {len(files):3} files, {changes:4} changes of file")
        if options.files:
            print(*(f"    {file}" for file in files), sep="\n")


if __name__ == "__main__":
    main()
