"""Call the library with hostile arguments, seeded, and check what comes back.

Each call takes a random sample (magnitudes from 5e-324 to 1e300, ties, rounding, outliers), bounds, weights and method,
and checks the density: total mass, monotone distribution function, cdf + sf = 1, inverse, no NaN from finite input, the
time, and that every exception is one of the package's. Calls run in subprocesses, which may die; a run continues where
it was stopped.

    python benchmarks/hostile.py --calls 1000000 --seed 1 --out build/hostile
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import amortized_kde as akde
from amortized_kde.errors import AmortizedKdeError, AmortizedKdeWarning

CHUNK = 500
# Seconds of processor time that one call may take; compiled functions are called once before.
SLOW = 5.0
# A chunk that takes longer hangs.
LONGEST_CHUNK = 3600.0
MASS = 1e-9
SUM = 1e-9


def sample(rng):
    """Return a sample of up to 10,000 values."""
    n = int(10.0 ** rng.uniform(0.0, 4.0 if rng.random() < 0.1 else 2.5))
    kind = rng.integers(7)
    x = [
        lambda: rng.normal(size=n),
        lambda: rng.standard_cauchy(n),
        lambda: rng.gamma(0.1, size=n),
        lambda: rng.integers(0, 3, n).astype(float),
        lambda: rng.normal(size=n).round(1),
        lambda: np.append(rng.normal(size=n), 10.0 ** rng.uniform(0, 100)),
        lambda: np.exp(rng.normal(scale=50.0, size=n)),
    ][kind]()
    scale, offset = rng.choice([1.0, 1.0, 1e-6, 1e6, 1e-100, 1e100, 1e-300, 1e-310, 5e-324]), 0.0
    if rng.random() < 0.2:
        offset = 10.0 ** rng.uniform(-10, 16)
    with np.errstate(all="ignore"):
        return np.clip(np.nan_to_num(x * scale + offset * scale), -1e300, 1e300)


def spoiled(x, rng):
    """Return the sample as something that is not one."""
    bad = [
        np.append(x, np.nan), np.append(x, np.inf), x.reshape(1, -1), x.astype(str), [*x, [1.0]], [], None, "text",
        b"bytes", {"a": 1}, x.astype(complex), 3.0, [10**400], object(), x > 0, np.ma.masked_all(3),
    ]  # fmt: skip
    return bad[rng.integers(len(bad))]


def bounds(x, rng):
    """Return bounds, in one case of fourteen invalid ones."""
    low, high = float(np.min(x)), float(np.max(x))
    wide = (high - low) * 10.0 ** rng.uniform(-3, 6)
    good = [None, (None, None), (low, None), (None, high), (low - wide, high + wide), (low, high), (-1e300, 1e300)]
    bad = [(high, low), (1,), "ab", {0, 1}, (np.nan, 1), (None, 10**400), b"ab", (low, low)]
    return good[rng.integers(len(good))] if rng.random() < 0.93 else bad[rng.integers(len(bad))]


def call(seed, number):
    """Return what was wrong with one call, or None; a slow one is repeated, because the first may have compiled."""
    wrong, seconds = timed_call(seed, number)
    if wrong is None and seconds > SLOW:
        wrong, seconds = timed_call(seed, number)
    return "slow" if wrong is None and seconds > SLOW else wrong


def timed_call(seed, number):
    """Return what was wrong with one call, or None, and its processor time."""
    start = time.process_time()
    rng = np.random.default_rng([seed, number])
    x = sample(rng)
    given = x if rng.random() < 0.9 else spoiled(x, rng)
    limits = bounds(x, rng)
    weights = 10.0 ** rng.uniform(-300, 0, x.size) if rng.random() < 0.15 else None
    names = ["amortized", *akde.selectors()] if x.size <= 300 else ["amortized", "amortized:single", "silverman"]
    method = names[rng.integers(len(names))] if rng.random() < 0.97 else "no such method"
    try:
        if rng.random() < 0.3:
            h = [0.5, 1e-300, 5e-324, 1e-12, 1e300, 1e306, 0.0, -1.0, float("nan"), "a"][rng.integers(10)]
            d = akde.KernelDensity(given, h, bounds=limits, weights=weights)
        else:
            d = akde.fit(given, bounds=limits, weights=weights, method=method, nan=["raise", "omit"][rng.integers(2)])
        wrong = check(d, rng)
    except AmortizedKdeError as error:
        wrong = None if 10 < len(str(error)) < 1000 else "an exception without a sentence"
    except Exception as error:
        wrong = f"{type(error).__name__}: {str(error)[:80]}"
    return wrong, time.process_time() - start


def check(d, rng):
    """Return which law a density breaks, or None."""
    low, high = d.support()
    inner = np.sort(np.append(d.grid(20), d.points[:: max(1, d.points.size // 20)]))
    far = np.array([-1e300, -1e155, 1e155, 1e300])
    y = np.unique(np.concatenate([inner, far[(far > low) & (far < high)], [low, high]]))
    cdf, sf, log = d.cdf(y), d.sf(y), d.logpdf(y)
    if np.isnan(cdf).any() or np.isnan(sf).any() or np.isnan(log).any():
        return "NaN from finite input"
    if abs(cdf[-1] - 1.0) > MASS or abs(cdf[0]) > MASS:
        return "mass"
    if np.abs(cdf + sf - 1.0).max() > SUM:
        return "cdf + sf"
    if np.diff(cdf).min() < -SUM:
        return "cdf is not monotone"
    if not np.isfinite(log[np.isfinite(y)]).all():
        return "log-density is not finite inside the bounds"
    p = np.sort(rng.random(5))
    q = d.ppf(p)
    if not np.isfinite(q).all() or np.diff(q).min() < 0.0:
        return "quantiles are not monotone"
    below, above = d.cdf(np.nextafter(q, -np.inf)), d.cdf(np.nextafter(q, np.inf))
    if np.any(p < below - SUM) or np.any(p > above + SUM):
        return "inverse"
    draws = d.sample(5, rng=1)
    if not (np.isfinite(draws).all() and (draws >= low).all() and (draws <= high).all()):
        return "draws"
    return None if np.isfinite([d.mean(), d.std()]).all() else "moments"


def run_chunk(seed, start, stop):
    """Print a line for each call that went wrong, and one at the end."""
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    warnings.simplefilter("error", RuntimeWarning)
    for n in (5, 400):
        akde.fit(np.arange(float(n))).ppf(0.5)
    for number in range(start, stop):
        print(json.dumps({"begun": number}), flush=True)
        wrong = call(seed, number)
        if wrong is not None:
            print(json.dumps({"call": number, "wrong": wrong}), flush=True)
    print(json.dumps({"done": stop - start}), flush=True)


def in_subprocess(seed, start, stop):
    """Return the wrong calls of a chunk; one that ends the process is wrong itself, and the rest is run anew."""
    wrong = []
    while start < stop:
        command = [sys.executable, __file__, "--seed", str(seed), "--chunk", str(start), str(stop)]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_CHUNK)
            text, reason = ended.stdout, f"the process ended with {ended.returncode}"
        except subprocess.TimeoutExpired as error:
            text, reason = (error.stdout or b"").decode(), "hangs"
        lines = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
        wrong += [line for line in lines if "wrong" in line]
        if any("done" in line for line in lines):
            break
        last = max((line["begun"] for line in lines if "begun" in line), default=start)
        wrong.append({"call": last, "wrong": reason})
        start = last + 1
    return wrong


def run(calls, seed, out):
    """Run all chunks that have no result yet, and return the wrong calls."""
    out.mkdir(parents=True, exist_ok=True)
    found = []
    for start in range(0, calls, CHUNK):
        stop = min(start + CHUNK, calls)
        path = out / f"{seed}-{start}-{stop}.json"
        if not path.exists():
            text = json.dumps(in_subprocess(seed, start, stop))
            path.with_suffix(".part").write_text(text)
            path.with_suffix(".part").replace(path)
        found += json.loads(path.read_text())
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/hostile"))
    parser.add_argument("--chunk", type=int, nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.chunk:
        run_chunk(args.seed, *args.chunk)
        return
    found = run(args.calls, args.seed, args.out)
    print(f"{args.calls} calls, {len(found)} wrong")
    for wrong, count in Counter(entry["wrong"] for entry in found).most_common():
        first = next(entry["call"] for entry in found if entry["wrong"] == wrong)
        print(f"{count:8d}  {wrong}  (first: call {first})")


if __name__ == "__main__":
    main()
