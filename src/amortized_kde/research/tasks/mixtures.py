"""Random Gaussian mixtures on [-1, 1] with any number of components (paper, section 3.3)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Words
from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.streams import next_uniform, start_stream
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.research.tasks.densities import Densities, stack
from amortized_kde.research.tasks.variates import log_gamma_variate, normal_variate

_BOUNDS = (-1.0, 1.0)
# A component costs about as much as this many additions.
_COST = 100.0
# Normal locations outside [-1, 1] are rejected: with this spread one in twelve lies inside.
_WIDEST = 10.0


class Constants(NamedTuple):
    """A construction, for the compiled loop."""

    log_alpha: tuple[float, float]
    log_reference: tuple[float, float]
    dispersion: tuple[float, float]
    log_scale: tuple[float, float]
    location_sd: float


@dataclass(frozen=True)
class Construction:
    """The constants of a random mixture, by default the paper's (eqs. 15 to 17); an interval is (low, high).

    Attributes
    ----------
    concentration : (float, float)
        The total Dirichlet concentration α is log-uniform there; both infinite: equal weights.
    reference : (float, float)
        A task's reference scale σ0 is log-uniform there.
    dispersion : (float, float)
        The spread τ of a task's log-scales is uniform there.
    scales : (float, float)
        Scales are restricted to it.
    location_sd : float
        Locations are normal around 0 with this spread, at most 10, restricted to [-1, 1]; infinite: uniform.

    Raises
    ------
    InvalidParameterError
        If an interval does not ascend or is out of range, or the reference scales do not lie within the scales.
    """

    concentration: tuple[float, float] = (0.5, 4.0)
    reference: tuple[float, float] = (0.025, 0.22)
    dispersion: tuple[float, float] = (0.10, 1.00)
    scales: tuple[float, float] = (0.015, 0.45)
    location_sd: float = math.inf

    def __post_init__(self) -> None:
        (a, b), (least, most) = self.concentration, self.dispersion
        (low, high), (smallest, largest), sd = self.reference, self.scales, self.location_sd
        wrong = {
            "the concentration must ascend above 0, with both ends finite or both infinite": not (
                0.0 < a <= b and math.isinf(a) == math.isinf(b)
            ),
            "the dispersion must ascend from 0 or above": not 0.0 <= least <= most < math.inf,
            "the reference scale must lie within the scales": not 0.0 < smallest <= low <= high <= largest < math.inf,
            f"location_sd must be in (0, {_WIDEST:g}] or infinite": not (0.0 < sd <= _WIDEST or sd == math.inf),
        }
        for sentence, broken in wrong.items():
            if broken:
                raise InvalidParameterError(f"{self}: {sentence}.")

    @property
    def constants(self) -> Constants:
        """The construction, for the compiled loop."""
        logs = [(math.log(low), math.log(high)) for low, high in (self.concentration, self.reference, self.scales)]
        return Constants(logs[0], logs[1], self.dispersion, logs[2], self.location_sd)


PAPER = Construction()


@compiled
def _uniform(state: Words, low: float, high: float) -> float:
    return low + (high - low) * next_uniform(state)


@compiled
def _fill_weights(weights: Array, concentration: float, state: Words) -> None:
    """Write Dirichlet weights through logarithms, so that the largest never underflows."""
    largest = -math.inf
    for k in range(weights.size):
        weights[k] = log_gamma_variate(state, concentration)
        largest = max(largest, weights[k])
    total = 0.0
    for k in range(weights.size):
        weights[k] = math.exp(weights[k] - largest)
        total += weights[k]
    for k in range(weights.size):
        weights[k] /= total


@compiled
def _restricted_normal(state: Words, centre: float, spread: float, low: float, high: float) -> float:
    """Draw a truncated normal number by rejection; for the paper's scales at least 0.69 of the law lies inside."""
    while True:
        value = centre + spread * normal_variate(state)
        if low <= value <= high:
            return value


@compiled
def _location(state: Words, spread: float) -> float:
    if spread == math.inf:
        return _uniform(state, -1.0, 1.0)
    return _restricted_normal(state, 0.0, spread, -1.0, 1.0)


@compiled
def fill_mixture(shape: Array, constants: Constants, state: Words) -> None:
    """Write the weights, locations and scales of one random mixture to a row of 3K numbers."""
    count = shape.size // 3
    if constants.log_alpha[1] == math.inf:
        shape[:count] = 1.0 / count
    else:
        alpha = math.exp(_uniform(state, constants.log_alpha[0], constants.log_alpha[1]))
        _fill_weights(shape[:count], alpha / count, state)
    centre = _uniform(state, constants.log_reference[0], constants.log_reference[1])
    dispersion = _uniform(state, constants.dispersion[0], constants.dispersion[1])
    low, high = constants.log_scale
    for k in range(count):
        shape[count + k] = _location(state, constants.location_sd)
        shape[2 * count + k] = math.exp(_restricted_normal(state, centre, dispersion, low, high))


@entry
def _fill_mixtures(shapes: Array, constants: Constants, words: Words, first: int, start: int, stop: int) -> None:
    state = np.empty(4, np.uint64)
    for t in range(start, stop):
        start_stream(state, words, first + t)
        fill_mixture(shapes[t], constants, state)


def draw_mixtures(
    components: int,
    count: int,
    *,
    words: Words,
    first: int = 0,
    construction: Construction = PAPER,
    threads: int | None = None,
) -> Densities:
    r"""Draw the mixtures of tasks first .. first + count - 1 (paper, eqs. 14 to 17).

    .. math:: \alpha \sim LU[0.5, 4],\; w \sim \mathrm{Dirichlet}(\alpha/K),\; \mu_k \sim U[-1, 1],\;
        \log\sigma_k \sim N(\log\sigma_0, \tau^2) \text{ within } [0.015, 0.45],

    with σ0 ~ LU[0.025, 0.22] and τ ~ U[0.1, 1] for each task; truncated to [-1, 1].

    Parameters
    ----------
    components : int
        K >= 1.
    count : int
        Number of mixtures.
    words : array of shape (4,), uint64
        The streams, from `stream_words`.
    first : int
        Index of the first task: a task's mixture depends on its index and the words only.
    construction : Construction
        The constants; default: the paper's.
    threads : int, optional
        At most this many threads; default: all cores. The result does not depend on it.

    Raises
    ------
    InvalidParameterError
        If K is below 1.

    Examples
    --------
    >>> from amortized_kde.numerics.streams import stream_words
    >>> draw_mixtures(8, 3, words=stream_words(0, 0)).shapes.shape
    (3, 24)
    """
    if components < 1:
        raise InvalidParameterError(f"a mixture needs at least one component, not {components}.")
    shapes, constants = np.empty((count, 3 * components)), construction.constants
    run_in_pieces(
        lambda start, stop: _fill_mixtures(shapes, constants, words, first, start, stop),
        count,
        operations=_COST * shapes.size,
        threads=threads,
    )
    # Locations and scales are independent of the weights, so sorting these changes no law, and a draw finds
    # its component after two steps on average.
    shapes[:, :components] = -np.sort(-shapes[:, :components], axis=1)
    return stack("mixture", shapes, origins=np.zeros(count), slopes=np.ones(count), bounds=_BOUNDS)
