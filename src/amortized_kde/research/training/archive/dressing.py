r"""How the three numbers of a dressing are learned: least squares first, then the mean score of the densities.

    x' = a + b m + c (x - m)

The start is the regression of the observations on the ensembles' means, and the ratio of the residuals' spread to that
of the members. Then Nelder and Mead's method goes downhill in the mean score itself, for which the densities are made
anew at every try: no derivative is needed, bounds are no trouble, and three numbers are few.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array
from amortized_kde.research.training.archive.pairs import Pairs
from amortized_kde.research.training.archive.scores import Scorer

# On so many values: of twenty members each they leave less than a thousandth of a bit to the best three numbers, and a
# try takes a tenth of a second.
_VALUES = 60_000
# Tries, and when to leave off: in bits, and in units of the first steps.
_TRIES, _BITS, _STEP = 100, 1e-4, 0.03
_NARROWEST, _WIDEST = 0.02, 50.0


class _Frame(NamedTuple):
    """The start, and how far the first steps go; the level is that at the means' centre, where it is free of b."""

    centre: float
    level: float
    slope: float
    spread: float
    units: tuple[float, float, float]

    def numbers(self, steps: Array) -> Array:
        """(a, b, c) so many units away from the start."""
        moves = steps * self.units
        slope = self.slope + moves[1]
        spread = min(max(self.spread * math.exp(moves[2]), _NARROWEST), _WIDEST)
        return np.array([self.level + moves[0] - slope * self.centre, slope, spread])


def _start(pairs: Pairs) -> _Frame:
    x, y = pairs.members.astype(np.float64), pairs.observations
    means, variances = np.nanmean(x, axis=1), np.nanvar(x, axis=1, ddof=1)
    centre, level = float(means.mean()), float(y.mean())
    spread_of_means = float(means.var())
    slope = float(np.mean((means - centre) * (y - level)) / spread_of_means) if spread_of_means > 0.0 else 1.0
    rest = float(np.std(y - level - slope * (means - centre)))
    ratio = min(max(rest / math.sqrt(float(variances.mean())), _NARROWEST), _WIDEST)
    unit = rest if rest > 0.0 else math.sqrt(float(variances.mean()))
    units = (0.2 * unit, 0.2 * unit / math.sqrt(spread_of_means) if spread_of_means > 0.0 else 0.1, 0.2)
    return _Frame(centre, level, slope, ratio, units)


def fit_dressing(pairs: Pairs, scorer: Scorer, *, seed: int) -> Array:
    """Find (a, b, c) with the lowest mean score on pairs, or on some of them, drawn by the seed, if they are many."""
    from scipy.optimize import minimize

    most = max(_VALUES // pairs.members.shape[1], 100)
    if len(pairs) > most:
        pairs = pairs.where(np.sort(np.random.default_rng([seed, 1]).choice(len(pairs), most, replace=False)))
    frame = _start(pairs)

    def mean_score(steps: Array) -> float:
        return float(np.mean(scorer(pairs.dressed(frame.numbers(steps)))))

    corners = np.concatenate([np.zeros((1, 3)), np.eye(3)])
    options = {"initial_simplex": corners, "maxfev": _TRIES, "fatol": _BITS, "xatol": _STEP}
    found = minimize(mean_score, np.zeros(3), method="Nelder-Mead", options=options)
    return frame.numbers(found.x)
