"""Call the library with hostile arguments and files, seeded, and check what comes back.

Half of the calls fit or build a density: random samples (magnitudes from 5e-324 to 1e300, ties, rounding, outliers, up
to 10,000 values), bounds, weights, methods, and arguments of wrong types. The others select bandwidths, read damaged
tables, load damaged densities, and use damaged model folders. `contests/hostile.py` has the calls and the laws: mass,
monotone distribution function, cdf + sf = 1, inverse, no NaN from finite input, only the package's exceptions; here are
the limits of time and memory. Calls run in subprocesses, which may die; a run continues where it was stopped.

    python benchmarks/hostile.py [--calls 1000000] [--seed 1] [--chunks build/hostile] [--out results]
"""

import argparse
import csv
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import amortized_kde as akde
from amortized_kde.errors import AmortizedKdeWarning
from amortized_kde.research.provenance import models_behind, record_files
from contests.hostile import KINDS, call

# Start-up takes about a second.
CHUNK = 10_000
# Seconds of processor time that one call may take. A slow one is repeated, because the first may have compiled.
SLOW = 5.0
# Seconds after which a call is ended.
HANGS = 150
# Bytes of address space for a process, compiler included, and of memory that a call may add.
ADDRESS_SPACE = 8 * 2**30
MEMORY = 2**29


def timed_call(seed, number, folder):
    """Return the kind of a call, what was wrong with it or None, its processor time, and the memory that it added."""
    start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kind, wrong = call(np.random.default_rng([seed, number]), folder)
    added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return kind, wrong, time.process_time() - start, added * 1024


def judged_call(seed, number, folder):
    """Return the kind of a call, and what was wrong with it or None."""
    kind, wrong, seconds, added = timed_call(seed, number, folder)
    if wrong is None and seconds > SLOW:
        kind, wrong, seconds, _ = timed_call(seed, number, folder)
    return kind, wrong or ("slow" if seconds > SLOW else "memory" if added > MEMORY else None)


def run_chunk(seed, start, stop):
    """Print a line before each call, one for each that went wrong, and the counts of all kinds at the end."""
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    warnings.simplefilter("error", RuntimeWarning)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    for n in (5, 400):
        akde.fit(np.arange(float(n))).ppf(0.5)
    kinds = Counter()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for number in range(start, stop):
            print(json.dumps({"begun": number}), flush=True)
            signal.alarm(HANGS)
            kind, wrong = judged_call(seed, number, Path(folder))
            kinds[kind] += 1
            if wrong is not None:
                print(json.dumps({"call": number, "kind": kind, "wrong": wrong}), flush=True)
    print(json.dumps({"done": kinds}), flush=True)


def in_subprocess(seed, start, stop):
    """Return the wrong calls of a chunk and the counts of kinds; a call that ends the process is wrong itself."""
    wrong, kinds = [], Counter()
    while start < stop:
        command = [sys.executable, __file__, "--seed", str(seed), "--chunk", str(start), str(stop)]
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        lines = [json.loads(line) for line in ended.stdout.splitlines() if line.endswith("}")]
        wrong += [line for line in lines if "wrong" in line]
        done = [line["done"] for line in lines if "done" in line]
        if done:
            kinds.update(done[0])
            break
        last = max((line["begun"] for line in lines if "begun" in line), default=start)
        reason = "hangs" if ended.returncode == -signal.SIGALRM else f"the process ended with {ended.returncode}"
        wrong.append({"call": last, "kind": "unknown", "wrong": reason})
        kinds["unknown"] += last + 1 - start
        start = last + 1
    return {"wrong": wrong, "kinds": kinds}


def run(calls, seed, folder):
    """Run all chunks that have no result yet, and return the wrong calls and the counts of kinds."""
    folder.mkdir(parents=True, exist_ok=True)
    found, kinds = [], Counter()
    for start in range(0, calls, CHUNK):
        stop = min(start + CHUNK, calls)
        path = folder / f"{seed}-{start}-{stop}.json"
        if not path.exists():
            text = json.dumps(in_subprocess(seed, start, stop))
            path.with_suffix(".part").write_text(text)
            path.with_suffix(".part").replace(path)
        chunk = json.loads(path.read_text())
        found += chunk["wrong"]
        kinds.update(chunk["kinds"])
        print(f"{stop} calls, {len(found)} wrong", flush=True)
    return found, kinds


def write_table(found, kinds, out):
    """Write hostile.csv and hostile.md: for each kind the calls, and what was wrong with how many."""
    rows = [(kind, kinds[kind], *_worst(found, kind)) for kind in [*KINDS, "unknown"] if kinds[kind]]
    rows.append(("all", sum(kinds.values()), len(found), ""))
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "hostile.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([("kind", "calls", "wrong", "most_often"), *rows])
    lines = ["| calls | number | wrong | most often |", "|---|---:|---:|---|"]
    lines += [f"| {kind} | {calls:,} | {wrong:,} | {often} |" for kind, calls, wrong, often in rows]
    (out / "hostile.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    record_files(out, ["hostile.csv", "hostile.md"], models_behind(["amortized", *akde.selectors()]))


def _worst(found, kind):
    counts = Counter(entry["wrong"] for entry in found if entry["kind"] == kind)
    return counts.total(), counts.most_common(1)[0][0] if counts else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chunks", type=Path, default=Path("build/hostile"), help="where finished chunks are kept")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for hostile.csv and hostile.md")
    parser.add_argument("--chunk", type=int, nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.chunk:
        run_chunk(args.seed, *args.chunk)
        return
    found, kinds = run(args.calls, args.seed, args.chunks)
    for wrong, count in Counter(entry["wrong"] for entry in found).most_common():
        first = next(entry for entry in found if entry["wrong"] == wrong)
        print(f"{count:8d}  {wrong}  (first: call {first['call']}, {first['kind']})")
    write_table(found, kinds, args.out)


if __name__ == "__main__":
    main()
