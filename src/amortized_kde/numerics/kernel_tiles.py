"""Kernels of a few points at eight anchors, in SIMD registers. Arrays are flat."""

from amortized_kde.numerics.formulas import logarithm, one_minus_exponential, transposed
from amortized_kde.numerics.registers import LANES, Memory, Real, Variable, Whole
from amortized_kde.numerics.simd import Code, instructions
from amortized_kde.numerics.uncompiled import FAINT

# Points whose kernels are computed side by side, so that none waits for the result of another.
POINTS = 4


def _distances(
    code: Code, anchors: Memory, points: Memory, at: Whole, per_h: Real, octaves: Whole
) -> list[Variable[Real]]:
    """1 - exp(-(2**octaves per_h d)^2) of the distances d of eight anchors from each of points[at:][:POINTS]."""
    x, away = anchors.lanes(0), []
    for c in range(POINTS):
        u = (points.number(at + c).repeated() - x) * per_h
        away.append(Variable(one_minus_exponential(u * u)))
    with code.loop(octaves * 2):
        for f in away:
            f.set(f.get() + f.get() * (1.0 - f.get()))
    return away


def _next_rung(f: Variable[Real]) -> None:
    """Replace 1 - e by 1 - e^4: squaring e turns f into f (2 - f), and the relative error does not grow."""
    square = f.get() + f.get() * (1.0 - f.get())
    f.set(square + square * (1.0 - square))


@instructions
def add_kernels(
    code: Code,
    anchors: Memory,
    points: Memory,
    inverse: Memory,
    sums: Memory,
    first: Whole,
    at: Whole,
    per_h: Real,
    octaves: Whole,
    stride: Whole,
    rungs: Whole,
) -> None:
    """Add kernels of points[at:][:POINTS] at eight anchors to sums[first + LANES * k:][:LANES], for k < rungs.

    The kernel of a point of rank j at distance d is inverse[stride * k + j] exp(-(2**(k + octaves) per_h d)^2). It has
    an absolute error of at most 1e-15, and is 0 below 5e-17.
    """
    away = _distances(code, anchors, points, at, per_h, octaves)
    with code.loop(rungs) as k:
        here = first + k * LANES
        total = sums.lanes(here)
        for c, f in enumerate(away):
            total = (1.0 - f.get()) * inverse.number(k * stride + at + c).repeated() + total
            _next_rung(f)
        sums.put(here, total)


@instructions
def add_kernels_among(
    code: Code,
    anchors: Memory,
    ranks: Memory,
    points: Memory,
    inverse: Memory,
    sums: Memory,
    right: Whole,
    at: Whole,
    per_h: Real,
    octaves: Whole,
    stride: Whole,
    rungs: Whole,
) -> None:
    """Add kernels like `add_kernels`, to sums[LANES * k:] those of points below an anchor, to sums[right:] those above.

    An anchor's own kernel is left out.
    """
    away, rank, are_above = _distances(code, anchors, points, at, per_h, octaves), ranks.lanes(0), []
    for c, f in enumerate(away):
        apart = (at + c).lanes() - rank
        f.set(apart.is_nonzero().choose(f.get(), 1.0))
        are_above.append(apart > 0.0)
    with code.loop(rungs) as k:
        below, above = sums.lanes(k * LANES), sums.lanes(right + k * LANES)
        for c, (f, is_above) in enumerate(zip(away, are_above, strict=True)):
            kernel = (1.0 - f.get()) * inverse.number(k * stride + at + c).repeated()
            below, above = is_above.choose(0.0, kernel) + below, is_above.choose(kernel, 0.0) + above
            _next_rung(f)
        sums.put(k * LANES, below)
        sums.put(right + k * LANES, above)


@instructions
def finish_sums(
    code: Code, sums: Memory, sides: Memory, rungs: Whole, fading: Memory, fading_at: Whole, first: Whole, last: Whole
) -> None:
    """Replace the left sums by log local densities, faded, and write the one-sidedness of rungs first .. last - 1."""
    before = Variable(code.lanes(0.0))
    with code.loop(last, first) as k:
        left, right = sums.lanes(k * LANES), sums.lanes((rungs + k) * LANES)
        sides.put((k - first) * LANES, (right - left).magnitude() / (right + left + FAINT))
    with code.loop(rungs) as k:
        log = logarithm(sums.lanes((rungs + k) * LANES) + sums.lanes(k * LANES) + FAINT)
        log = fading.number(fading_at + k).repeated() * (before.get() - log) + log
        sums.put(k * LANES, log)
        before.set(log)


@instructions
def write_columns(
    code: Code, lanes: Memory, width: Whole, out: Memory, columns: Whole, column: Whole, row: Whole, last: Whole
) -> None:
    """Write lanes[LANES * k + i], for k < width, to row min(row + i, last) of `out`, from `column` on.

    The width is at least `LANES`.
    """
    with code.loop(width, 0, LANES) as block:
        k = block.at_most(width - LANES)
        registers = transposed([lanes.lanes((k + j) * LANES) for j in range(LANES)])
        for i, numbers in enumerate(registers):
            out.put((row + i).at_most(last) * columns + column + k, numbers)
