"""The fifteen normal mixtures of Marron and Wand (1992), truncated to [-4, 4], which estimators know as bounds.

Exact Mean Integrated Squared Error, Annals of Statistics 20, Table 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from amortized_kde._types import Array
from amortized_kde.research.tasks import Densities, draw_tasks, stack
from contests.known_densities import KnownDensity

# Weight, mean and standard deviation of a component.
Component = tuple[Fraction, Fraction, Fraction]

BOUNDS = (-4.0, 4.0)
# Panels have this width, and end at these multiples of the standard deviation from every component's mean too.
_WIDTH = 0.1
_REACH = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0])


def _f(numerator: int, denominator: int = 1) -> Fraction:
    return Fraction(numerator, denominator)


_N01: tuple[Fraction, Fraction] = (_f(0), _f(1))

# Table 1, line by line.
MIXTURES: dict[str, Sequence[Component]] = {
    "gaussian": [(_f(1), *_N01)],
    "skewed unimodal": [
        (_f(1, 5), *_N01),
        (_f(1, 5), _f(1, 2), _f(2, 3)),
        (_f(3, 5), _f(13, 12), _f(5, 9)),
    ],
    "strongly skewed": [(_f(1, 8), 3 * (_f(2, 3) ** k - 1), _f(2, 3) ** k) for k in range(8)],
    "kurtotic unimodal": [(_f(2, 3), *_N01), (_f(1, 3), _f(0), _f(1, 10))],
    "outlier": [(_f(1, 10), *_N01), (_f(9, 10), _f(0), _f(1, 10))],
    "bimodal": [(_f(1, 2), _f(-1), _f(2, 3)), (_f(1, 2), _f(1), _f(2, 3))],
    "separated bimodal": [(_f(1, 2), _f(-3, 2), _f(1, 2)), (_f(1, 2), _f(3, 2), _f(1, 2))],
    "skewed bimodal": [(_f(3, 4), *_N01), (_f(1, 4), _f(3, 2), _f(1, 3))],
    "trimodal": [
        (_f(9, 20), _f(-6, 5), _f(3, 5)),
        (_f(9, 20), _f(6, 5), _f(3, 5)),
        (_f(1, 10), _f(0), _f(1, 4)),
    ],
    "claw": [(_f(1, 2), *_N01), *((_f(1, 10), _f(k, 2) - 1, _f(1, 10)) for k in range(5))],
    "double claw": [
        *((_f(49, 100), _f(k), _f(2, 3)) for k in (-1, 1)),
        *((_f(1, 350), _f(k - 3, 2), _f(1, 100)) for k in range(7)),
    ],
    "asymmetric claw": [
        (_f(1, 2), *_N01),
        *((_f(2) ** (1 - k) / 31, k + _f(1, 2), _f(2) ** -k / 10) for k in range(-2, 3)),
    ],
    "asymmetric double claw": [
        *((_f(46, 100), _f(k), _f(2, 3)) for k in (-1, 1)),
        *((_f(1, 300), _f(-k, 2), _f(1, 100)) for k in (1, 2, 3)),
        *((_f(7, 300), _f(k, 2), _f(7, 100)) for k in (1, 2, 3)),
    ],
    "smooth comb": [(_f(2) ** (5 - k) / 63, (65 - 96 * _f(1, 2) ** k) / 21, _f(32, 63) / 2**k) for k in range(6)],
    "discrete comb": [
        *((_f(2, 7), _f(12 * k - 15, 7), _f(2, 7)) for k in range(3)),
        *((_f(1, 21), _f(2 * k, 7), _f(1, 21)) for k in (8, 9, 10)),
    ],
}
_MOST_COMPONENTS = max(len(mixture) for mixture in MIXTURES.values())


@dataclass(frozen=True)
class MarronWandWorld:
    """Tasks from some of the fifteen densities in turn: task i has density i modulo their number.

    Examples
    --------
    >>> MarronWandWorld(("gaussian", "claw")).truths(2, seed=1).pdf([0.0]).round(4).tolist()
    [[0.399], [0.5984]]
    """

    densities: tuple[str, ...] = tuple(MIXTURES)
    name: str = "Marron-Wand"
    bounds: tuple[float, float] = BOUNDS

    def truths(self, count: int, *, seed: int, first: int = 0, threads: int | None = None) -> Densities:
        """Return the densities of tasks first .. first + count - 1; the seed matters for samples only."""
        rows = np.array([_shape(MIXTURES[name]) for name in self.densities])
        shapes = rows[np.arange(first, first + count) % len(self.densities)]
        return stack("mixture", shapes, origins=np.zeros(count), slopes=np.ones(count), bounds=self.bounds)


def _shape(mixture: Sequence[Component]) -> Array:
    """Weights, means and standard deviations, padded with components of weight zero to the longest mixture."""
    filled = [*mixture, *[(0, 0, 1)] * (_MOST_COMPONENTS - len(mixture))]
    return np.array(filled, np.float64).T.ravel()


def marron_wand() -> tuple[KnownDensity, ...]:
    """Return the fifteen densities in the order of Table 1.

    Examples
    --------
    >>> len(marron_wand()), marron_wand()[9].name
    (15, 'claw')
    """
    return tuple(_known(name, k) for k, name in enumerate(MIXTURES))


def _known(name: str, number: int) -> KnownDensity:
    world = MarronWandWorld((name,))
    truth = world.truths(1, seed=0)

    def draw(replicates: int, n: int, seed: int) -> Array:
        # Under one seed every density has different tasks.
        tasks = draw_tasks(world, replicates, seed=seed, first=number * 1_000_000, sizes=n, draws=0)
        return tasks.values.reshape(replicates, n)

    return KnownDensity(name, BOUNDS, lambda x: truth.logpdf(x)[0], draw, _panel_ends(MIXTURES[name]))


def _panel_ends(mixture: Sequence[Component]) -> Array:
    evenly = np.linspace(*BOUNDS, round((BOUNDS[1] - BOUNDS[0]) / _WIDTH) + 1)
    around = [float(mean) + sign * float(sd) * _REACH for _, mean, sd in mixture for sign in (-1.0, 1.0)]
    ends = np.unique(np.round(np.concatenate([evenly, *around]), 12))
    return ends[(ends >= BOUNDS[0]) & (ends <= BOUNDS[1])]
