"""The core of the array functions and of the labelled ones: members, arguments and `Options` to arrays.

Every function takes members of shape (..., n), returns an array of the cells' shape (...) or (..., m), and warns of
cells without an answer, if `options` say so.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._outcome import OK, Selection
from amortized_kde._types import Array, Index
from amortized_kde.data.reading import read_bounds
from amortized_kde.data.sample import Samples
from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.ensembles.estimates import Estimates, estimate_runs
from amortized_kde.ensembles.mixing import finish
from amortized_kde.ensembles.options import (
    Ensembles,
    Members,
    Options,
    check_probabilities,
    read_arguments,
    read_ensembles,
    read_observations,
)
from amortized_kde.errors import BadRowsWarning, InvalidParameterError, warn_caller
from amortized_kde.estimate import warn_of_rows
from amortized_kde.numerics.cells import Arguments
from amortized_kde.numerics.streams import stream_words, uniforms_at

_LN2 = math.log(2.0)
# The stream from which randomised PIT values are drawn.
_PIT_PURPOSE = 8
# Distance of a PIT value at an atom from 0 and 1: that of the largest float64 below 1.
_LEAST = 2.0**-53


def densities(x: Members, at: ArrayLike, *, options: Options) -> Array:
    """Return densities at arguments."""
    ensembles = read_ensembles(x, options)
    rows, shape = read_arguments(at, "at", ensembles)
    log, codes = _log_density(ensembles, rows)
    return _warned(ensembles, codes, _atom_probability(ensembles)[1] * np.exp(log), shape)


def probabilities(x: Members, thresholds: ArrayLike, *, options: Options, above: bool) -> Array:
    """Return probabilities up to, or above, thresholds."""
    ensembles = read_ensembles(x, options)
    rows, shape = read_arguments(thresholds, "thresholds", ensembles)
    values, codes = _probability(ensembles, rows, above=above)
    return _warned(ensembles, codes, values, shape)


def quantiles(x: Members, p: ArrayLike, *, options: Options) -> Array:
    """Return quantiles; an atom is the quantile of all probabilities over which it makes the distribution jump."""
    ensembles = read_ensembles(x, options, ascending=True)
    rows, shape = read_arguments(p, "p", ensembles)
    check_probabilities(rows)
    atom_probability, elsewhere = _atom_probability(ensembles)

    def evaluate(estimates: Estimates, p: Array, cells: slice) -> Array:
        passed, at_atom = np.zeros(p.shape), np.full(p.shape, math.nan)
        for k, atom in enumerate(options.atoms):
            here = Arguments(np.full(len(p), atom), estimates.density, np.arange(len(p) + 1))
            below = estimates.probability(here)[:, None]
            before = atom_probability[cells, :k].sum(axis=1, keepdims=True) + elsewhere[cells] * below
            after = before + atom_probability[cells, k, None]
            passed += np.where(p > after, atom_probability[cells, k, None], 0.0)
            at_atom[(before <= p) & (p <= after)] = atom
        inside = np.clip((p - passed) / elsewhere[cells], 0.0, 1.0)
        found = estimates.quantiles(inside.reshape(-1), np.repeat(estimates.density, p.shape[1])).reshape(p.shape)
        return np.where(np.isnan(at_atom), found, at_atom)

    values, codes = _by_run(ensembles, evaluate, rows)
    return _warned(ensembles, codes, values, shape)


def atom_probabilities(x: Members, *, options: Options) -> Array:
    """Return the probabilities of the atoms along a new last axis."""
    ensembles = read_ensembles(x, options, ascending=False)
    return _atom_probability(ensembles)[0].reshape(*ensembles.shape, options.atoms.size)


def log_scores(x: Members, obs: ArrayLike, *, options: Options, resolution: float = 0.0) -> Array:
    """Return logarithmic scores in bits."""
    ensembles = read_ensembles(x, options)
    occurrence, amount, codes = score_parts_of(ensembles, read_observations(obs, ensembles), resolution)
    return _warned(ensembles, codes, occurrence + amount, ensembles.shape)


def score_parts(x: Members, obs: ArrayLike, *, options: Options, resolution: float = 0.0) -> tuple[Array, Array]:
    """Return the two parts of logarithmic scores in bits: of the atoms, and of the density elsewhere."""
    ensembles = read_ensembles(x, options)
    occurrence, amount, codes = score_parts_of(ensembles, read_observations(obs, ensembles), resolution)
    return _warned(ensembles, codes, occurrence, ensembles.shape), amount.reshape(ensembles.shape)


def score_parts_of(ensembles: Ensembles, y: Array, resolution: float = 0.0) -> tuple[Array, Array, Index]:
    """Return the two parts of the scores of ensembles already read, (cells,) each, and the cells' codes."""
    log, codes = _log_mean_density(ensembles, y, check_resolution(resolution))
    amount, missing = -log / _LN2, ensembles.invalid | np.isnan(y)
    occurrence = np.zeros(y.size)
    if ensembles.options.atoms.size:
        atom = _atom_at(ensembles, y)
        # Number -1, no atom, is the last column: the probability elsewhere.
        classes = np.append(*_atom_probability(ensembles), axis=1)
        occurrence = -np.log(classes[np.arange(y.size), atom]) / _LN2
        amount[atom >= 0] = 0.0
    if missing.any():
        occurrence[missing], amount[missing] = math.nan, math.nan
    return occurrence, amount, codes


def crps(x: Members, obs: ArrayLike, *, options: Options, window: Bounds = OPEN) -> Array:
    """Return continuous ranked probability scores in data units, of thresholds in a window."""
    ensembles = read_ensembles(x, options)
    values, codes = crps_of(ensembles, read_observations(obs, ensembles), window)
    return _warned(ensembles, codes, values, ensembles.shape)


def crps_of(ensembles: Ensembles, y: Array, window: Bounds = OPEN) -> tuple[Array, Index]:
    """Return the scores of ensembles already read, (cells,), and the cells' codes."""
    atom_probability, _ = _atom_probability(ensembles)

    def evaluate(estimates: Any, y: Array, cells: slice) -> Array:
        return np.asarray(estimates.crps(y, ensembles.options.atoms, atom_probability[cells], window))

    return _by_run(ensembles, evaluate, y)


def brier_scores(x: Members, thresholds: ArrayLike, obs: ArrayLike, *, options: Options) -> Array:
    """Return Brier scores of exceeding thresholds."""
    ensembles = read_ensembles(x, options)
    rows, shape = read_arguments(thresholds, "thresholds", ensembles)
    y = read_observations(obs, ensembles)[:, None]
    found, codes = _probability(ensembles, rows, above=True)
    missing = np.isnan(y) | np.isnan(rows)
    return _warned(ensembles, codes, np.where(missing, math.nan, (found - (y > rows)) ** 2), shape)


def pit(x: Members, obs: ArrayLike, cells: Index | None = None, *, options: Options, seed: int) -> Array:
    """Return probability integral transforms, drawn from the jump at an atom.

    The draw depends on `seed` and the cell's number in `cells`, by default its position.
    """
    ensembles = read_ensembles(x, options)
    y = read_observations(obs, ensembles)
    numbers = np.arange(y.size) if cells is None else np.array(np.broadcast_to(cells, ensembles.shape)).reshape(-1)
    uniforms = uniforms_at(stream_words(check_seed(seed), _PIT_PURPOSE), numbers)
    found, codes = _probability(ensembles, y[:, None], above=False)
    atom = _atom_at(ensembles, y)
    # Number -1, no atom, is the last column.
    jumps = np.append(_atom_probability(ensembles)[0], np.zeros((y.size, 1)), axis=1)
    jump = np.where(atom >= 0, jumps[np.arange(y.size), atom], 0.0)
    drawn = found[:, 0] - (1.0 - uniforms) * jump
    # The ends of the jump may be 0 and 1, whose normal quantiles are infinite.
    inside = np.clip(drawn, _LEAST, 1.0 - _LEAST)
    return _warned(ensembles, codes, np.where(atom >= 0, inside, drawn), ensembles.shape)


def conditional_log_density(ensembles: Ensembles, at: Array) -> Array:
    """Return natural log-densities at `at` (cells, m), given that no atom is hit."""
    return _log_density(ensembles, at)[0]


def conditional_probability(ensembles: Ensembles, at: Array) -> Array:
    """Return probabilities up to `at` (cells, m), given that no atom is hit."""

    def evaluate(estimates: Any, x: Array, _: slice) -> Array:
        return np.asarray(estimates.probability(_arguments(estimates, x))).reshape(x.shape)

    return _by_run(ensembles, evaluate, at)[0]


def check_resolution(resolution: float) -> float:
    """Return the unit of rounded observations; raise `InvalidParameterError` unless it is at least 0 and finite."""
    if isinstance(resolution, bool) or not isinstance(resolution, (int, float, np.number)):
        raise InvalidParameterError(f"resolution must be a number, not {resolution!r}.")
    if not 0.0 <= resolution < math.inf:
        raise InvalidParameterError(f"resolution must be a positive number, or 0 for exact values, not {resolution}.")
    return float(resolution)


def check_seed(seed: int) -> int:
    """Return the seed; raise `InvalidParameterError` unless it is an integer of at least 0."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidParameterError(f"seed must be a whole number of at least 0, not {seed!r}.")
    return int(seed)


def _by_run(ensembles: Ensembles, evaluate: Callable[[Any, Array, slice], Array], at: Array) -> tuple[Array, Index]:
    """Return ``evaluate(estimates, at[cells], cells)`` of all runs of cells, NaN for invalid ones; and the codes."""
    out = np.empty(at.shape)

    def work(estimates: Estimates, cells: slice) -> None:
        out[cells] = evaluate(finish(estimates, ensembles, cells), at[cells], cells)

    codes = estimate_runs(ensembles, work)
    if ensembles.corrected is not None:
        # A calibrated cell has its kernel, whatever its members are.
        codes[:] = OK
    out[ensembles.invalid] = math.nan
    return out, codes


def _arguments(estimates: Estimates, at: Array) -> Arguments:
    """Return arguments (cells, m) of a run as rows."""
    return Arguments(at.reshape(-1), estimates.density, np.arange(len(at) + 1) * at.shape[1])


def _log_density(ensembles: Ensembles, at: Array) -> tuple[Array, Index]:
    """Return natural log-densities at `at` (cells, m), given that no atom is hit; and the codes."""

    def evaluate(estimates: Estimates, x: Array, _: slice) -> Array:
        return estimates.log_density(_arguments(estimates, x)).reshape(x.shape)

    return _by_run(ensembles, evaluate, at)


def _log_mean_density(ensembles: Ensembles, y: Array, resolution: float) -> tuple[Array, Index]:
    """Return logarithms (cells,) of the mean density over the cells of rounded outcomes; and the codes."""
    if resolution == 0.0:
        log, codes = _log_density(ensembles, y[:, None])
        return log[:, 0], codes
    calibration = ensembles.options.calibration
    limits = ensembles.options.bounds if calibration is None else read_bounds(calibration.bounds)
    ends = np.clip(y[:, None] + 0.5 * resolution * np.array([-1.0, 1.0]), *limits)

    def evaluate(estimates: Estimates, at: Array, _: slice) -> Array:
        middle = estimates.log_density(_arguments(estimates, at[:, :1]))
        below, above = (
            estimates.probability(_arguments(estimates, at[:, 1:]), above=side).reshape(-1, 2) for side in (False, True)
        )
        # The difference of the smaller probabilities, which keeps its digits in either tail.
        mass = np.where(below[:, 0] < 0.5, below[:, 1] - below[:, 0], above[:, 0] - above[:, 1])
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.log(mass / (at[:, 2] - at[:, 1]))
        return np.where(np.isfinite(log), log, middle)[:, None] * np.ones(3)

    log, codes = _by_run(ensembles, evaluate, np.column_stack([y, ends]))
    return log[:, 0], codes


def _probability(ensembles: Ensembles, at: Array, *, above: bool) -> tuple[Array, Index]:
    """Return probabilities up to, or above, `at` (cells, m); and the codes."""

    def evaluate(estimates: Estimates, x: Array, _: slice) -> Array:
        return estimates.probability(_arguments(estimates, x), above=above).reshape(x.shape)

    atom_probability, elsewhere = _atom_probability(ensembles)
    found, codes = _by_run(ensembles, evaluate, at)
    total = np.zeros(at.shape)
    for k, atom in enumerate(ensembles.options.atoms):
        total += atom_probability[:, k, None] * ((atom > at) if above else (atom <= at))
    return total + elsewhere * found, codes


def _atom_probability(ensembles: Ensembles) -> tuple[Array, Array]:
    """Return the probabilities of the atoms, (cells, atoms), and of no atom, (cells, 1); NaN for invalid cells.

    See the notes of `forecasts.atom_probabilities` for the estimate.
    """
    if not ensembles.options.atoms.size:
        return np.zeros((len(ensembles.samples), 0)), np.ones((len(ensembles.samples), 1))
    if ensembles.corrected is not None and ensembles.corrected.atom_probability.shape[1]:
        learned = np.where(ensembles.invalid[:, None], np.nan, ensembles.corrected.atom_probability)
        return learned, 1.0 - learned.sum(axis=1, keepdims=True)
    prior = 0.5 * (ensembles.options.atoms.size + 1)
    probability = np.asarray((ensembles.hits + 0.5) / (ensembles.members + prior)[:, None])
    probability[ensembles.invalid] = np.nan
    return probability, 1.0 - probability.sum(axis=1, keepdims=True)


def _atom_at(ensembles: Ensembles, y: Array) -> Index:
    """Return the number of the atom at each outcome, -1 where there is none."""
    found = np.full(y.shape, -1)
    for k, atom in enumerate(ensembles.options.atoms):
        found[y == atom] = k
    return found


def _warned(ensembles: Ensembles, codes: Index, values: Array, shape: tuple[int, ...]) -> Array:
    """Return values in this shape; warn of cells without one, of fallbacks, and of ensembles unlike the training."""
    options, values = ensembles.options, values.reshape(shape)
    if not options.warn or (not codes.any() and not ensembles.invalid.any()):
        return values
    codes = np.where(ensembles.invalid | ((codes < OK) & (options.climatology.size > 0)), OK, codes)
    failed = int(np.sum(codes < OK))
    if options.atoms.size or ensembles.bandwidths is not None:
        reason = "have no answer (NaN): their bandwidth is not a positive number."
        if options.atoms.size:
            reason = (
                "have too few members away from the atoms to estimate a density; results that need one are NaN. Pass "
                "past values as climatology= to use them instead."
            )
        if failed:
            warn_caller(f"{failed} of {codes.size} ensembles {reason}", BadRowsWarning)
        codes = np.maximum(codes, OK)
    # Members at atoms count as members here.
    offsets = np.concatenate([[0], np.cumsum(ensembles.members)])
    counted = Samples(np.empty(0), offsets, ensembles.shape, ensembles.samples.unusable)
    selection = Selection(np.empty(0), codes)
    warn_of_rows(counted, ensembles.outside, selection, ensembles.selector.name)
    return values
