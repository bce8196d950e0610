"""The posterior of the paper's random mixtures (section 3.3) given a sample: draws from it, and its mean density.

A Gibbs sampler draws in turn: the values that truncation rejected, so that the mixture can be treated as not truncated
(Rao, Lin and Dunson 2016, Data augmentation for models based on rejection sampling); the component of every value; the
concentration and the weights; locations and scales; their reference scale and dispersion.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index, Words
from amortized_kde.data.sample import Samples
from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.streams import next_uniform, start_stream, stream_words
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.research.tasks.mixtures import PAPER, Constants, Construction
from amortized_kde.research.tasks.variates import log_gamma_variate, normal_variate

# The random stream of the chains.
_PURPOSE = 200
# Sweeps between two densities of the mean.
_EVERY = 4
# Draws of reference scale and dispersion before the first sweep; a mixture does not record the true ones.
_FIRST = 30
# Steps of the random walks: of log-concentration, reference scale, dispersion; of a scale, wide and narrow.
_STEP_ALPHA, _STEP_CENTRE, _STEP_SPREAD, _STEP_WIDE, _STEP_NARROW = 0.7, 0.3, 0.2, 1.0, 0.4
# A component with at most this many values is offered a scale from its prior.
_FEW = 2
# In scales; farther away a component adds less than 1e-14 of its peak.
_REACH = 8.0
# Components with smaller weights, which are most of them, add nothing to a mean of densities.
_LIGHTEST = 1e-9
_SQRT_2, _SQRT_2PI = math.sqrt(2.0), math.sqrt(2.0 * math.pi)
# The cost of a sweep in additions, for each value and component.
_COST = 30.0


class _Chain(NamedTuple):
    """The state of a chain.

    `weights`, `locations` and `logs` (log-scales) are those of the mixture. `tasks` has the log-concentration, the
    log-reference scale and the dispersion. `values` has the sample and then the rejected values, `owners` the component
    of each, `counts` and `sums` the number and the sum of the values of each component.
    """

    weights: Array
    locations: Array
    logs: Array
    tasks: Array
    values: Array
    owners: Index
    counts: Array
    sums: Array


@compiled
def _below(z: float) -> float:
    return 0.5 * math.erfc(-z / _SQRT_2)


@compiled
def _mass(location: float, scale: float) -> float:
    """The mass of a normal density inside [-1, 1]."""
    # By symmetry on the right of the middle, where both tails are small and nothing cancels.
    return _below((1.0 - abs(location)) / scale) - _below((-1.0 - abs(location)) / scale)


@compiled
def _accepts(state: Words, log_ratio: float) -> bool:
    return math.log(next_uniform(state)) < log_ratio


@compiled
def _between(state: Words, centre: float, spread: float, low: float, high: float) -> float:
    """A normal variate inside (low, high) by rejection, from a uniform proposal if the first fifty fail."""
    for _ in range(50):
        value = centre + spread * normal_variate(state)
        if low <= value <= high:
            return value
    nearest = min(max(centre, low), high)
    while True:
        value = low + (high - low) * next_uniform(state)
        if _accepts(state, 0.5 * (((nearest - centre) / spread) ** 2 - ((value - centre) / spread) ** 2)):
            return value


@compiled
def _choose(state: Words, cumulated: Array) -> int:
    """An index drawn with the given cumulated probabilities."""
    at, k = next_uniform(state) * cumulated[-1], 0
    while k < cumulated.size - 1 and cumulated[k] < at:
        k += 1
    return k


@compiled
def _reject(chain: _Chain, n: int, state: Words) -> int:
    """Draw until n values lie inside, and keep the rejected ones; return the number of values kept and given."""
    cumulated, inside, all_values = np.cumsum(chain.weights), 0, n
    # At least half of a component is inside, so that the scratch suffices except once in 10^50.
    while inside < n and all_values < chain.values.size:
        k = _choose(state, cumulated)
        value = chain.locations[k] + math.exp(chain.logs[k]) * normal_variate(state)
        if -1.0 <= value <= 1.0:
            inside += 1
        else:
            chain.values[all_values], chain.owners[all_values] = value, k
            all_values += 1
    return all_values


@compiled
def _allocate(chain: _Chain, n: int, all_values: int, state: Words) -> None:
    """Draw the component of each of the sample's n values; then count and sum the values of each component."""
    count = chain.weights.size
    peaks, slopes, logs, cumulated = np.empty(count), np.empty(count), np.empty(count), np.empty(count)
    for k in range(count):
        peaks[k], slopes[k] = math.log(chain.weights[k] + 1e-300) - chain.logs[k], math.exp(-chain.logs[k])
    for i in range(n):
        largest = -math.inf
        for k in range(count):
            z = (chain.values[i] - chain.locations[k]) * slopes[k]
            logs[k] = peaks[k] - 0.5 * z * z
            largest = max(largest, logs[k])
        total = 0.0
        for k in range(count):
            total += math.exp(logs[k] - largest)
            cumulated[k] = total
        chain.owners[i] = _choose(state, cumulated)
    chain.counts[:] = 0.0
    chain.sums[:] = 0.0
    for i in range(all_values):
        chain.counts[chain.owners[i]] += 1.0
        chain.sums[chain.owners[i]] += chain.values[i]


@compiled
def _log_of_counts(counts: Array, log_alpha: float) -> float:
    """The log-probability of the counts, the weights integrated out (Dirichlet-multinomial), up to a constant."""
    alpha = math.exp(log_alpha)
    each = alpha / counts.size
    total = math.lgamma(alpha) - math.lgamma(alpha + counts.sum())
    for count in counts:
        if count > 0.0:
            total += math.lgamma(each + count) - math.lgamma(each)
    return total


@compiled
def _weigh(chain: _Chain, constants: Constants, state: Words) -> None:
    """Draw the concentration given the counts alone, then the weights."""
    low, high = constants.log_alpha
    for _ in range(2):
        asked = chain.tasks[0] + _STEP_ALPHA * normal_variate(state)
        now = _log_of_counts(chain.counts, chain.tasks[0])
        if low <= asked <= high and _accepts(state, _log_of_counts(chain.counts, asked) - now):
            chain.tasks[0] = asked
    each, largest = math.exp(chain.tasks[0]) / chain.weights.size, -math.inf
    for k in range(chain.weights.size):
        chain.weights[k] = log_gamma_variate(state, each + chain.counts[k])
        largest = max(largest, chain.weights[k])
    for k in range(chain.weights.size):
        chain.weights[k] = math.exp(chain.weights[k] - largest)
    chain.weights[:] /= chain.weights.sum()


@compiled
def _walk(chain: _Chain, k: int, squares: float, constants: Constants, state: Words) -> None:
    """Random walk of a component's scale, given the squared distances of its values from its location."""
    low, high = constants.log_scale
    centre, spread = chain.tasks[1], chain.tasks[2]
    for step in (_STEP_WIDE, _STEP_NARROW / math.sqrt(1.0 + 0.5 * chain.counts[k])):
        now, asked = chain.logs[k], chain.logs[k] + step * normal_variate(state)
        gain = -chain.counts[k] * (asked - now) - 0.5 * squares * (math.exp(-2.0 * asked) - math.exp(-2.0 * now))
        gain += 0.5 * (((now - centre) / spread) ** 2 - ((asked - centre) / spread) ** 2)
        if low <= asked <= high and _accepts(state, gain):
            chain.logs[k] = asked


@compiled
def _jump(chain: _Chain, k: int, all_values: int, constants: Constants, state: Words) -> None:
    """Propose a scale from the prior for a component of few values, the location integrated out; then a location."""
    low, high = constants.log_scale
    count, mean, within = chain.counts[k], chain.sums[k] / chain.counts[k], 0.0
    for i in range(all_values):
        if chain.owners[i] == k:
            within += (chain.values[i] - mean) ** 2
    now, asked = chain.logs[k], _between(state, chain.tasks[1], chain.tasks[2], low, high)
    before, after = math.exp(now) / math.sqrt(count), math.exp(asked) / math.sqrt(count)
    gain = -(count - 1.0) * (asked - now) - 0.5 * within * (math.exp(-2.0 * asked) - math.exp(-2.0 * now))
    gain += math.log(_mass(mean, after) + 1e-300) - math.log(_mass(mean, before) + 1e-300)
    if _accepts(state, gain):
        chain.logs[k], chain.locations[k] = asked, _between(state, mean, after, -1.0, 1.0)


@compiled
def _place(chain: _Chain, all_values: int, constants: Constants, state: Words) -> None:
    """Draw locations and scales, from the prior for a component without values."""
    count, squares = chain.weights.size, np.zeros(chain.weights.size)
    for k in range(count):
        if chain.counts[k] > 0.0:
            spread = math.exp(chain.logs[k]) / math.sqrt(chain.counts[k])
            chain.locations[k] = _between(state, chain.sums[k] / chain.counts[k], spread, -1.0, 1.0)
        else:
            chain.locations[k] = 2.0 * next_uniform(state) - 1.0
    for i in range(all_values):
        k = chain.owners[i]
        squares[k] += (chain.values[i] - chain.locations[k]) ** 2
    low, high = constants.log_scale
    for k in range(count):
        if chain.counts[k] == 0.0:
            chain.logs[k] = _between(state, chain.tasks[1], chain.tasks[2], low, high)
        else:
            _walk(chain, k, squares[k], constants, state)
    for k in range(count):
        if 0.0 < chain.counts[k] <= _FEW:
            _jump(chain, k, all_values, constants, state)


@compiled
def _log_of_scales(logs: Array, centre: float, spread: float, constants: Constants) -> float:
    low, high = constants.log_scale
    inside, total = _below((high - centre) / spread) - _below((low - centre) / spread), 0.0
    for value in logs:
        total -= 0.5 * ((value - centre) / spread) ** 2
    return total - logs.size * (math.log(spread) + math.log(inside))


@compiled
def _refer(chain: _Chain, constants: Constants, state: Words, times: int) -> None:
    """Random walk of reference scale and dispersion, given the scales."""
    for step in range(2 * times):
        centre, spread = chain.tasks[1], chain.tasks[2]
        if step % 2 == 0:
            centre += _STEP_CENTRE * normal_variate(state)
        else:
            spread += _STEP_SPREAD * normal_variate(state)
        allowed = constants.log_reference[0] <= centre <= constants.log_reference[1]
        allowed = allowed and constants.dispersion[0] <= spread <= constants.dispersion[1]
        if not allowed:
            continue
        gain = _log_of_scales(chain.logs, centre, spread, constants)
        gain -= _log_of_scales(chain.logs, chain.tasks[1], chain.tasks[2], constants)
        if _accepts(state, gain):
            chain.tasks[1], chain.tasks[2] = centre, spread


@compiled
def _add_density(chain: _Chain, density: Array) -> None:
    """Add the truncated mixture to `density`, at the middles of as many equal parts of [-1, 1]."""
    inside, cell = 0.0, 2.0 / density.size
    for k in range(chain.weights.size):
        inside += chain.weights[k] * _mass(chain.locations[k], math.exp(chain.logs[k]))
    for k in range(chain.weights.size):
        if chain.weights[k] < _LIGHTEST:
            continue
        scale, location = math.exp(chain.logs[k]), chain.locations[k]
        peak = chain.weights[k] / (inside * scale * _SQRT_2PI)
        first = max(0, int((location - _REACH * scale + 1.0) / cell))
        last = min(density.size, int((location + _REACH * scale + 1.0) / cell) + 1)
        for g in range(first, last):
            z = ((g + 0.5) * cell - 1.0 - location) / scale
            density[g] += peak * math.exp(-0.5 * z * z)


@entry
def _run_chains(
    values: Array,
    offsets: Index,
    shapes: Array,
    constants: Constants,
    words: Words,
    sweeps: int,
    densities: Array,
    start: int,
    stop: int,
) -> None:
    """Run a chain from each row of `shapes`, which becomes its last state; add its densities to `densities`."""
    state, count = np.empty(4, np.uint64), shapes.shape[1] // 3
    for t in range(start, stop):
        start_stream(state, words, t)
        points = values[offsets[t] : offsets[t + 1]]
        n = points.size
        size = 8 * n + 400
        chain = _Chain(
            shapes[t, :count].copy(),
            shapes[t, count : 2 * count].copy(),
            np.log(shapes[t, 2 * count :]),
            np.array([0.5 * (constants.log_alpha[0] + constants.log_alpha[1]), 0.0, 0.5]),
            np.empty(size),
            np.empty(size, np.int64),
            np.empty(count),
            np.empty(count),
        )
        chain.values[:n] = points
        low, high = constants.log_reference
        chain.tasks[1] = min(max(chain.logs.mean(), low), high)
        chain.tasks[2] = 0.5 * (constants.dispersion[0] + constants.dispersion[1])
        _refer(chain, constants, state, _FIRST)
        for sweep in range(sweeps):
            all_values = _reject(chain, n, state)
            _allocate(chain, n, all_values, state)
            _weigh(chain, constants, state)
            _place(chain, all_values, constants, state)
            _refer(chain, constants, state, 3)
            if densities.shape[1] > 0 and sweep % _EVERY == 0:
                _add_density(chain, densities[t])
        shapes[t, :count], shapes[t, count : 2 * count] = chain.weights, chain.locations
        shapes[t, 2 * count :] = np.exp(chain.logs)


def _run(
    samples: Samples, truths: Array, sweeps: int, cells: int, seed: int, construction: Construction, threads: int | None
) -> tuple[Array, Array]:
    constants = construction.constants
    if math.isinf(constants.log_alpha[1]) or not math.isinf(constants.location_sd):
        raise InvalidParameterError(
            "the construction must have Dirichlet weights and uniform locations, as the paper's; got another."
        )
    if truths.shape[0] != len(samples) or truths.shape[1] % 3:
        raise InvalidParameterError(
            f"truths must have as many rows of weights, locations, scales as there are samples, {len(samples)}."
        )
    shapes, densities = truths.copy(), np.zeros((len(samples), cells))
    words = stream_words(seed, _PURPOSE)
    run_in_pieces(
        lambda start, stop: _run_chains(
            samples.values, samples.offsets, shapes, constants, words, sweeps, densities, start, stop
        ),
        len(samples),
        operations=_COST * sweeps * samples.values.size * (truths.shape[1] // 3),
        threads=threads,
    )
    return shapes, densities


def posterior_mixtures(
    samples: Samples,
    truths: Array,
    *,
    sweeps: int,
    seed: int,
    construction: Construction = PAPER,
    threads: int | None = None,
) -> Array:
    """Return a draw from the posterior of each sample.

    Parameters
    ----------
    samples : Samples
        Samples of mixtures on [-1, 1].
    truths : array of shape (samples, 3K)
        The weights, locations and scales of the true mixtures. A true mixture is itself a draw from the posterior of
        its sample, so that chains that start there need no burn-in.
    sweeps : int
        Length of the chains; two mixtures one sweep apart are much alike.
    seed : int
        Seed of the chains.
    construction : Construction
        The distribution of the mixtures.
    threads : int, optional
        At most this many threads; default: all cores. The result does not depend on it.

    Returns
    -------
    array of shape (samples, 3K)

    Raises
    ------
    InvalidParameterError
        If the construction has other weights or locations than the paper's kind, or `truths` does not fit the samples.
    """
    return _run(samples, truths, sweeps, 0, seed, construction, threads)[0]


def mean_densities(
    samples: Samples,
    truths: Array,
    *,
    sweeps: int,
    cells: int,
    seed: int,
    construction: Construction = PAPER,
    threads: int | None = None,
) -> Array:
    """Return the posterior mean density of each sample.

    No estimate from the sample alone has a lower expected score. A chain of finite length still depends on the true
    mixture where it started, which brings the mean nearer to the truth than it should be, never farther.

    Parameters
    ----------
    samples, truths, sweeps, seed, construction, threads
        As in `posterior_mixtures`; every fourth sweep counts.
    cells : int
        Number of equal cells of [-1, 1]; the mean is evaluated at their middles.

    Returns
    -------
    array of shape (samples, cells)
    """
    densities = _run(samples, truths, sweeps, cells, seed, construction, threads)[1]
    return densities / -(-sweeps // _EVERY)
