"""Checks of the scores: the 256-node Gauss-Hermite sum against the integral, and the worst scores with 50 digits.

The sum is exact where the log-density is smooth on the scale of the nodes' spacing (about 0.1 near the centre). Where
bandwidths are small, the log-density has sharp bends halfway between neighbouring values, and the integral follows
them: panels that begin at those bends are halved until 20-point Gauss-Legendre sums on the halves agree with those on
the whole. Severe undersmoothing costs hundreds or millions of bits; scores computed with 50 digits from the same
float64 numbers show that nothing floors or caps them.
"""

import csv
import importlib.util
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.density import KernelDensity
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.research.provenance import models_behind, record_files
from amortized_kde.research.reproduction.columns import Tasks, make_tasks, select_bandwidths
from amortized_kde.research.reproduction.protocol import CLASSICAL, SIZES, TRUTH, Bed, Chunk, Scale, chunks_of
from amortized_kde.research.reproduction.tables import read_columns, write_csv
from amortized_kde.score import LN2

_QUADRATURE_COLUMNS = ("n", "method", "tasks", "gauss_hermite_bits", "integral_bits", "worst_miss_bits")
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
# The normal density is below 1e-31 outside.
_END = 12.0
_WIDTH = 0.5
# A panel is done if halving it changes the integral by less than this part of it.
_TOLERANCE = 1e-13
_MOST_HALVINGS = 60

DIGITS = 50
# Scores are computed again at the paper's smallest size.
_SMALLEST = SIZES[0]
_PENALTY_COLUMNS = ("bed", "method", "n", "task", "score_bits", f"score_{DIGITS}_digits", "relative_difference")


def normal_integral(sample: Array, h: float) -> float:
    r"""Return the expected score :math:`-\int \phi(y) \log_2 q_h(y) dy` of a kernel estimate, in bits.

    On the whole line. Accurate to about 1e-12 relative, however small the bandwidth.

    Examples
    --------
    >>> round(normal_integral(np.array([0.0]), 1.0), 12)  # the entropy of the normal, log2(2 pi e) / 2
    2.047095585181
    """
    density = KernelDensity(sample, bandwidth=h)

    def integrand(y: Array) -> Array:
        return np.asarray(-density.logpdf(y, threads=1) * np.exp(-0.5 * y * y) / (LN2 * math.sqrt(2.0 * math.pi)))

    return _adaptive(integrand, _panel_ends(np.sort(sample), h))


def _panel_ends(ascending: Array, h: float) -> Array:
    """Return ends of panels: every half, and halfway between values more than a bandwidth apart."""
    between = 0.5 * (ascending[1:] + ascending[:-1])[np.diff(ascending) > h]
    evenly = np.arange(-_END, _END + _WIDTH, _WIDTH)
    return np.unique(np.concatenate([evenly, between[np.abs(between) < _END]]))


def _adaptive(f: Callable[[Array], Array], ends: Array) -> float:
    """Integrate from the first to the last end."""
    low, high = ends[:-1], ends[1:]
    whole = _legendre(f, low, high)
    done, scale = [], float(np.abs(whole).sum())
    for _ in range(_MOST_HALVINGS):
        middle = 0.5 * (low + high)
        left, right = _legendre(f, low, middle), _legendre(f, middle, high)
        open_ = np.abs(left + right - whole) > _TOLERANCE * scale
        done += (left + right)[~open_].tolist()
        low, high = np.concatenate([low[open_], middle[open_]]), np.concatenate([middle[open_], high[open_]])
        whole = np.concatenate([left[open_], right[open_]])
        if not open_.any():
            break
    return math.fsum([*done, *whole.tolist()])


def _legendre(f: Callable[[Array], Array], low: Array, high: Array) -> Array:
    half, centre = 0.5 * (high - low), 0.5 * (high + low)
    values = f((centre[:, None] + half[:, None] * _NODES).ravel()).reshape(-1, _NODES.size)
    return np.asarray(half * np.sum(values * _WEIGHTS, axis=1))


def write_quadrature(bed: Bed, scale: Scale, folder: Path, *, threads: int | None = None) -> None:
    """Write ``quadrature.csv``: for the first tasks of each size, the sum, the integral and the worst difference."""
    write_csv(folder / "quadrature.csv", _QUADRATURE_COLUMNS, _quadrature_lines(bed, scale.checked, threads))
    record_files(folder, ["quadrature.csv"], models_behind(bed.methods))


def _quadrature_lines(bed: Bed, count: int, threads: int | None) -> Iterator[Sequence[Any]]:
    world = bed.make_world()
    for n in SIZES:
        tasks = make_tasks(Chunk(bed.name, n, 0, count), world)
        samples = tasks.judge.values.reshape(count, n)
        for method in bed.methods:
            if method != TRUTH:
                h = select_bandwidths(method, tasks).bandwidths
                sums = tasks.judge.scores(h, threads=threads)[0]
                integrals = _integrals(samples, h, threads)
                worst = float(np.abs(sums - integrals).max())
                yield (n, method, count, float(sums.mean()), float(integrals.mean()), worst)


def _integrals(samples: Array, h: Array, threads: int | None) -> Array:
    out = np.empty(h.size)

    def work(start: int, stop: int) -> None:
        for t in range(start, stop):
            out[t] = normal_integral(samples[t], float(h[t]))

    run_in_pieces(work, h.size, operations=1e6 * h.size, threads=threads)
    return out


def score_with_digits(tasks: Tasks, task: int, h: float, *, digits: int = DIGITS) -> Any:
    """Return the score of one task at one bandwidth, in bits, as an mpmath number."""
    import mpmath

    judge = tasks.judge
    with mpmath.workdps(digits):
        width, root2 = mpmath.mpf(float(h)), mpmath.sqrt(2)
        lower, upper = map(mpmath.mpf, judge.bounds)
        values = [mpmath.mpf(float(x)) for x in judge.values[judge.offsets[task] : judge.offsets[task + 1]]]
        inside = mpmath.fsum(
            (mpmath.erf((upper - x) / (width * root2)) - mpmath.erf((lower - x) / (width * root2))) / 2 for x in values
        )
        log_norm = mpmath.log(inside * width * mpmath.sqrt(2 * mpmath.pi))
        total = mpmath.mpf(0)
        for y, weight in zip(judge.points[task], judge.weights, strict=True):
            kernels = mpmath.fsum(mpmath.exp(-(((mpmath.mpf(float(y)) - x) / width) ** 2) / 2) for x in values)
            total += mpmath.mpf(float(weight)) * (log_norm - mpmath.log(kernels))
        return total / mpmath.log(2)


def write_penalties(bed: Bed, scale: Scale, folder: Path) -> bool:
    """Write the lines of a bed into ``penalties.csv``; return False, and write nothing, without mpmath."""
    if importlib.util.find_spec("mpmath") is None:
        return False
    path = folder / "penalties.csv"
    old = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    others = [line for line in csv.reader(old[1:]) if line[0] != bed.name]
    write_csv(path, _PENALTY_COLUMNS, [*others, *_penalty_lines(bed, scale, folder)])
    record_files(folder, [path.name], models_behind(CLASSICAL))
    return True


def _penalty_lines(bed: Bed, scale: Scale, folder: Path) -> Iterator[Sequence[Any]]:
    import mpmath

    world = bed.make_world()
    parts = [read_columns(folder, bed, chunk) for chunk in chunks_of(bed, scale) if chunk.n == _SMALLEST]
    for method in CLASSICAL:
        scores = np.concatenate([part[method].scores for part in parts])
        for i in np.argsort(scores)[::-1][: scale.worst].tolist():
            tasks = make_tasks(Chunk(bed.name, _SMALLEST, i, 1), world)
            exact = score_with_digits(tasks, 0, float(select_bandwidths(method, tasks).bandwidths[0]))
            difference = float(abs(exact - mpmath.mpf(float(scores[i]))) / abs(exact))
            text = mpmath.nstr(exact, DIGITS - 1, strip_zeros=False)
            yield (bed.name, method, _SMALLEST, i, float(scores[i]), text, difference)
