"""The random densities of the broad world: parts of compounds and their natural bounds, by the kind of each task."""

from typing import Any, NamedTuple

import numpy as np

from amortized_kde._types import Array, Index, Words
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.streams import next_uniform, start_stream
from amortized_kde.research.tasks.broad.bounded import PoolRows, family, mixture, uniform_like
from amortized_kde.research.tasks.broad.kinds import KINDS
from amortized_kde.research.tasks.broad.scales import multiscale, outliers
from amortized_kde.research.tasks.broad.tailed import exponentials, one_sided, singular, student
from amortized_kde.research.tasks.compounds import Parts
from amortized_kde.research.tasks.mixtures import Constants

_MIXTURE, _FAMILY, _UNIFORM = (KINDS.index(name) for name in ("mixture", "family", "uniform"))
_STUDENT, _EXPONENTIALS = (KINDS.index(name) for name in ("student", "exponentials"))
_SINGULAR, _MULTISCALE = (KINDS.index(name) for name in ("singular", "multiscale"))
_ONE_SIDED = tuple(KINDS.index(name) for name in ("lognormal", "gamma", "pareto"))


class Settings(NamedTuple):
    """What the loop writes for each task: parts, natural bounds (infinite where open) and uniform numbers to spare."""

    parts: Parts
    low: Array
    high: Array
    chances: Array


@compiled
def _draw(
    state: Words, parts: Parts, t: int, kind: int, known_bounds: int, constants: Constants, pool: PoolRows
) -> Any:
    # A chain, not a table: compiled code that is kept on disk cannot hold a table of functions.
    if kind == _MIXTURE:
        return mixture(state, parts, t, constants)
    if kind == _FAMILY:
        return family(state, parts, t, pool)
    if kind == _UNIFORM:
        return uniform_like(state, parts, t)
    if kind in _ONE_SIDED:
        return one_sided(state, parts, t, kind)
    if kind == _STUDENT:
        return student(state, parts, t)
    if kind == _EXPONENTIALS:
        return exponentials(state, parts, t)
    if kind == _SINGULAR:
        return singular(state, parts, t, known_bounds)
    if kind == _MULTISCALE:
        return multiscale(state, parts, t)
    return outliers(state, parts, t, known_bounds)


@entry
def fill_settings(
    out: Settings,
    kinds: Index,
    known_bounds: Index,
    constants: Constants,
    pool: PoolRows,
    words: Words,
    first: int,
    start: int,
    stop: int,
) -> None:
    """Write the settings of tasks start .. stop - 1, each from stream first + t."""
    state = np.empty(4, np.uint64)
    for t in range(start, stop):
        start_stream(state, words, first + t)
        for j in range(out.chances.shape[1]):
            out.chances[t, j] = next_uniform(state)
        low, high = _draw(state, out.parts, t, kinds[t], known_bounds[t], constants, pool)
        out.low[t], out.high[t] = low, high
