"""A world of a researcher's own tasks, from the mathematics of one density at a time.

Every task gets its own random generator from its index, so these tasks are as repeatable as built-in ones.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Index, Words
from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.streams import stream_words
from amortized_kde.research.tasks.batch import SETTING


class OwnTasks(Protocol):
    """What an author writes for `own_world`: the mathematics of one density at a time.

    A setting can be any object: a number, a tuple, an array.
    """

    name: str
    bounds: tuple[float, float]

    def draw_setting(self, *, rng: np.random.Generator) -> Any:
        """Draw the parameters of one density."""
        ...

    def logpdf(self, setting: Any, x: Array) -> Array:
        """Return the natural log-density at x, of the shape of x; it must integrate to 1 over the bounds."""
        ...

    def sample(self, setting: Any, count: int, *, rng: np.random.Generator) -> Array:
        """Draw `count` independent values, all of them inside the bounds."""
        ...


def _generator(words: Words, index: int) -> np.random.Generator:
    """Return the generator of a task; Philox takes a key and a counter, so that no two tasks share numbers."""
    return np.random.Generator(np.random.Philox(key=words[:2], counter=[0, 0, 0, index]))


@dataclass(frozen=True, eq=False)
class _OwnTruths:
    tasks: OwnTasks
    settings: list[Any]

    def __len__(self) -> int:
        return len(self.settings)

    def logpdf(self, x: ArrayLike) -> Array:
        """Return log-densities (tasks, m), as in `Truths`, one task after the other."""
        at = np.asarray(x, dtype=np.float64)
        at = np.broadcast_to(at, (len(self), at.shape[-1]))
        return np.array([self._checked_logpdf(t, at[t]) for t in range(len(self))]).reshape(at.shape)

    def fill(self, out: Array, offsets: Index, *, words: Words, first: int, start: int, stop: int) -> None:
        """Write draws, as in `Truths`."""
        for t in range(start, stop):
            rng = _generator(words, first + t)
            out[offsets[t] : offsets[t + 1]] = self._checked_sample(t, int(offsets[t + 1] - offsets[t]), rng)

    def _checked_logpdf(self, t: int, x: Array) -> Array:
        values = np.asarray(self.tasks.logpdf(self.settings[t], x), dtype=np.float64)
        if values.shape != x.shape or np.isnan(values).any():
            raise InvalidParameterError(
                f"logpdf of {self.tasks.name!r} must return a number for each of its {x.size} arguments; with the "
                f"setting {self.settings[t]!r} it returned {_fault(values, x.shape)}."
            )
        return values

    def _checked_sample(self, t: int, count: int, rng: np.random.Generator) -> Array:
        values = np.asarray(self.tasks.sample(self.settings[t], count, rng=rng), dtype=np.float64)
        lower, upper = self.tasks.bounds
        if values.shape != (count,) or not ((values >= lower) & (values <= upper) & np.isfinite(values)).all():
            raise InvalidParameterError(
                f"sample of {self.tasks.name!r} must return {count} finite values in [{lower}, {upper}]; with the "
                f"setting {self.settings[t]!r} it returned {_fault(values, (count,))}."
            )
        return values


def _fault(values: Array, shape: tuple[int, ...]) -> str:
    if values.shape != shape:
        return f"the shape {values.shape}"
    return "NaN" if np.isnan(values).any() else f"values from {values.min()} to {values.max()}"


@dataclass(frozen=True)
class OwnWorld:
    """The world of an author's tasks; made by `own_world`."""

    tasks: OwnTasks

    @property
    def name(self) -> str:
        """The author's name for it."""
        return self.tasks.name

    @property
    def bounds(self) -> tuple[float, float]:
        """The author's bounds."""
        return self.tasks.bounds

    def truths(self, count: int, *, seed: int, first: int = 0, threads: int | None = None) -> _OwnTruths:
        """Return the densities of tasks first .. first + count - 1."""
        words = stream_words(seed, SETTING)
        settings = [self.tasks.draw_setting(rng=_generator(words, first + t)) for t in range(count)]
        return _OwnTruths(self.tasks, settings)


def own_world(tasks: OwnTasks) -> OwnWorld:
    """Return a world of your own tasks, to train on and to judge in like the built-in ones.

    Parameters
    ----------
    tasks : OwnTasks
        An object with a `name`, `bounds`, and three methods for one density at a time:
        ``draw_setting(rng=)``, ``logpdf(setting, x)``, ``sample(setting, count, rng=)``.
        ``examples/research/own_task.py`` is one.

    Raises
    ------
    InvalidParameterError
        If an attribute or method is missing, or the bounds are not two ascending numbers. Later, from `draw_tasks`: if
        a method returns NaN, a wrong shape, or values outside the bounds.

    Examples
    --------
    >>> class Uniform:
    ...     name, bounds = "uniform", (-1.0, 1.0)
    ...     def draw_setting(self, *, rng):
    ...         return rng.uniform(0.1, 1.0)
    ...     def logpdf(self, setting, x):
    ...         with np.errstate(divide="ignore"):
    ...             return np.log((np.abs(x) <= setting) / (2 * setting))
    ...     def sample(self, setting, count, *, rng):
    ...         return rng.uniform(-setting, setting, count)
    >>> own_world(Uniform()).truths(2, seed=1).logpdf([0.0]).shape
    (2, 1)
    """
    missing = [part for part in ("name", "bounds", "draw_setting", "logpdf", "sample") if not hasattr(tasks, part)]
    if missing:
        raise InvalidParameterError(f"{type(tasks).__name__} has no {', '.join(missing)}; own tasks need all five.")
    lower, upper = tasks.bounds
    if not lower < upper:
        raise InvalidParameterError(f"the bounds of {tasks.name!r} must ascend, not be {tasks.bounds}.")
    return OwnWorld(tasks)
