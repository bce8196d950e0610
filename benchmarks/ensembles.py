"""A million forecast ensembles: bandwidths and logarithmic scores against scoringrules and SciPy, in one run.

    python benchmarks/ensembles.py [--ensembles 1000000] [--members 51] [--cluster 200000] [--repeats 5] [--out results]

Members and observation of a cell are drawn from the same known density: normal, with two regimes, skewed, or with heavy
tails, with its own location and scale. Scores are in bits, lower is better, and compared with those of the true
densities. Times are the best of the repeats, or of two where one takes longer than 10 s, with warm compiled loops.
scoringrules.logs_ensemble runs with its numba backend, with its own rule of thumb and with the same given bandwidths;
in one call, as this package, and in blocks that fit a cache, which need much less memory. SciPy loops over the first
2000. Then dask computes the scores of --cluster ensembles on one worker process and on two, with one compiled thread
each and the data already in their memory. Everything is written to ensembles.csv.
"""

import argparse
import csv
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path

import numpy as np
import scoringrules
import xarray as xr
from distributed import Client, LocalCluster, wait
from scipy.stats import gaussian_kde

import amortized_kde as akde
import amortized_kde.integrations.xarray as labelled
from amortized_kde import ensembles
from amortized_kde.errors import AmortizedKdeWarning
from amortized_kde.numerics.threads import available_threads
from amortized_kde.research.provenance import models_behind, record_files

Array = np.ndarray
LN2 = math.log(2.0)
METHODS = {"bandwidth and score": "amortized:single", "score, adaptive": "amortized:adaptive"}
# Targets: speed relative to scoringrules, and two workers relative to one.
FASTER, TWO_WORKERS = 5.0, 1.6
BLOCK, IN_A_LOOP = 5000, 2000
# In seconds; what takes longer is timed only twice.
LONG = 10.0


@dataclass(frozen=True)
class Row:
    """One line of the table: library, task, time and scores."""

    who: str
    what: str
    ensembles: int
    threads: int
    seconds: float
    per_second: float
    mean_bits: float | None = None
    behind_truth: float | None = None
    standard_error: float | None = None
    infinite: int | None = None


def make(cells: int, members: int, seed: int) -> tuple[Array, Array, Array]:
    """Members (cells, members), observations (cells,), and the true densities' scores there in bits."""
    rng = np.random.default_rng(seed)
    x, log = np.empty((cells, members + 1)), np.empty(cells)
    kinds = rng.integers(0, 4, cells)
    for kind, draw in enumerate((_normal, _regimes, _skewed, _heavy)):
        here = kinds == kind
        x[here], log[here] = draw(int(here.sum()), members + 1, rng)
    place, scale = rng.normal(0.0, 10.0, (cells, 1)), np.exp(rng.normal(0.0, 1.0, (cells, 1)))
    x *= scale
    x += place
    return np.ascontiguousarray(x[:, 1:]), x[:, 0].copy(), (np.log(scale[:, 0]) - log) / LN2


def _log_normal_density(z: Array) -> Array:
    return -0.5 * z**2 - 0.5 * math.log(2.0 * math.pi)


def _normal(cells: int, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
    z = rng.normal(size=(cells, size))
    return z, _log_normal_density(z[:, 0])


def _regimes(cells: int, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
    fraction, apart, ratio = rng.uniform(0.2, 0.8, cells), rng.uniform(1.5, 6.0, cells), rng.uniform(0.3, 1.0, cells)
    second = rng.random((cells, size)) < fraction[:, None]
    z = rng.normal(size=(cells, size))
    z = np.where(second, apart[:, None] + ratio[:, None] * z, z)
    first = np.log(1.0 - fraction) + _log_normal_density(z[:, 0])
    return z, np.logaddexp(first, np.log(fraction / ratio) + _log_normal_density((z[:, 0] - apart) / ratio))


def _skewed(cells: int, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
    sigma = rng.uniform(0.3, 1.0, cells)
    z = rng.normal(size=(cells, size))
    return np.exp(sigma[:, None] * z), _log_normal_density(z[:, 0]) - np.log(sigma) - sigma * z[:, 0]


def _heavy(cells: int, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
    z = rng.standard_t(4.0, (cells, size))
    return z, math.log(0.375) - 2.5 * np.log1p(z[:, 0] ** 2 / 4.0)


def best(work: Callable[[], object], repeats: int) -> float:
    times: list[float] = []
    while len(times) < (repeats if min(times, default=0.0) < LONG else 2):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def judged(who: str, what: str, work: Callable[[], Array], truth: Array, repeats: int, threads: int = 1) -> Row:
    """Time `work`, which returns scores in bits, and compare them with those of the true densities."""
    scores = work()
    seconds, finite = best(work, repeats), np.isfinite(scores)
    behind = (scores - truth[: scores.size])[finite]
    quality = float(scores[finite].mean()), float(behind.mean()), float(behind.std() / math.sqrt(behind.size))
    return Row(who, what, scores.size, threads, seconds, scores.size / seconds, *quality, int((~finite).sum()))


def with_scoringrules(x: Array, y: Array, h: Array | None, block: int) -> Array:
    parts = [
        scoringrules.logs_ensemble(
            y[i : i + block], x[i : i + block], bw=None if h is None else h[i : i + block], backend="numba"
        )
        for i in range(0, len(x), block)
    ]
    return np.concatenate(parts) / LN2


def with_scipy(x: Array, y: Array) -> Array:
    pairs = zip(x[:IN_A_LOOP], y[:IN_A_LOOP], strict=True)
    return np.array([-gaussian_kde(row, "silverman").logpdf(value)[0] for row, value in pairs]) / LN2


def rivals(x: Array, y: Array, h: Array, truth: Array, repeats: int) -> Iterator[Row]:
    works = {
        "score, bandwidth given": partial(with_scoringrules, x, y, h, len(x)),
        "the same in small blocks": partial(with_scoringrules, x, y, h, BLOCK),
        "score, its own rule of thumb": partial(with_scoringrules, x, y, None, len(x)),
    }
    with np.errstate(divide="ignore"):
        for what, work in works.items():
            yield judged("scoringrules", what, work, truth, repeats)
        yield judged("SciPy in a loop", "score, Silverman's rule", lambda: with_scipy(x, y), truth, repeats)


def ours(x: Array, y: Array, h: Array, truth: Array, repeats: int) -> Iterator[Row]:
    options = {"score, bandwidth given": {"bandwidth": h}} | {what: {"method": name} for what, name in METHODS.items()}
    for threads in sorted({1, available_threads()}):
        for what, given in options.items():
            if threads == 1 < available_threads() and "method" in given:
                # One dask worker below has one thread.
                continue
            work = partial(ensembles.log_scores, x, y, threads=threads, **given)
            yield judged("amortized-kde", what, work, truth, repeats, threads)


def on_workers(x: Array, y: Array, workers: int, repeats: int) -> Row:
    """Time scores by dask, with the data already in the workers' memory."""
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, Client(cluster) as client:
        # At least four blocks per worker, none so large that all wait for the last.
        step = max(min(len(x) // 16, 10_000), 1)
        data = xr.DataArray(x, dims=("cell", "member")).chunk(cell=step)
        seen = xr.DataArray(y, dims="cell").chunk(cell=step)
        data, seen = client.persist(data), client.persist(seen)
        wait([data, seen])
        work = labelled.log_scores(data, seen).mean().compute
        work()
        seconds = best(work, repeats)
    return Row("amortized-kde on dask", "score, adaptive", len(x), workers, seconds, len(x) / seconds)


def show(row: Row) -> None:
    quality = ""
    if row.mean_bits is not None:
        quality = f"{row.mean_bits:9.4f} bits, {row.behind_truth:+.4f} ± {row.standard_error:.4f} to truth"
        quality += f", {row.infinite} infinite" if row.infinite else ""
    print(f"{row.who:<22}{row.what:<30}{row.threads:>2} threads{row.per_second:>13,.0f} a second{quality}", flush=True)


def verdicts(rows: list[Row]) -> Iterator[str]:
    """Return the targets and what was measured."""
    speed = {(row.who, row.what, row.threads): row.per_second for row in rows}
    bits = {(row.who, row.what): row.behind_truth for row in rows}
    given = "score, bandwidth given"
    for threads in sorted({row.threads for row in rows if row.who == "amortized-kde"}):
        mine = speed["amortized-kde", given, threads]
        whole, blocks = (mine / speed["scoringrules", what, 1] for what in (given, "the same in small blocks"))
        yield (
            f"{given}, on {threads} threads: {whole:.1f} times as fast as scoringrules (at least {FASTER:g} on all "
            f"cores), {blocks:.1f} times if that gets small blocks"
        )
    thumb = bits["scoringrules", "score, its own rule of thumb"]
    for what in ("bandwidth and score", "score, adaptive"):
        yield f"{what}: {thumb - bits['amortized-kde', what]:.4f} bits better than scoringrules"
    two, one = (speed["amortized-kde on dask", "score, adaptive", workers] for workers in (2, 1))
    yield f"two workers: {two / one:.2f} times one (at least {TWO_WORKERS:g})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ensembles", type=int, default=1_000_000)
    parser.add_argument("--members", type=int, default=51)
    parser.add_argument("--cluster", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    x, y, truth = make(options.ensembles, options.members, 8)
    h, rows = akde.bandwidth(x, axis=-1), []
    for source in (rivals, ours):
        for row in source(x, y, h, truth, options.repeats):
            rows.append(row)
            show(row)
    for workers in (1, 2):
        rows.append(on_workers(x[: options.cluster], y[: options.cluster], workers, options.repeats))
        show(rows[-1])
    print(*verdicts(rows), sep="\n")
    options.out.mkdir(parents=True, exist_ok=True)
    with open(options.out / "ensembles.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    record_files(options.out, ["ensembles.csv"], models_behind(METHODS.values()))


if __name__ == "__main__":
    main()
