"""What is asked of checked ensembles, computed without a word: arrays leave, and the selector's codes of the cells.

The functions that people call, `forecasts.py` and `verification.py`, read and warn; labelled arrays come here directly,
for a warning on a worker is heard by nobody.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.ensembles.atoms import atom_shares, atoms_below, which_atom
from amortized_kde.ensembles.estimates import Estimates, estimate_runs
from amortized_kde.ensembles.inverse import quantiles_of
from amortized_kde.ensembles.ranked import crps_of
from amortized_kde.ensembles.reading import Ensembles

_LN2 = math.log(2.0)


class Answers(NamedTuple):
    """Numbers, one row or one entry a cell, and the codes of the cells."""

    values: Array
    codes: Index


def _ask(ensembles: Ensembles, ask: Callable[[Estimates, Array], Array], at: Array) -> Answers:
    """Run by run, what ``ask(estimates, rows of at)`` gives; NaN where a cell has no answer."""
    out = np.empty(at.shape)

    def work(estimates: Estimates) -> None:
        rows = slice(estimates.start, estimates.stop)
        out[rows] = ask(estimates, at[rows])

    codes = estimate_runs(ensembles, work)
    out[ensembles.lost] = math.nan
    return Answers(out, codes)


def _flat(estimates: Estimates, at: Array) -> tuple[Array, Index, Index]:
    """Arguments (cells, m) of a run, whose they are, and where each row begins."""
    return at.reshape(-1), estimates.own, np.arange(len(at) + 1) * at.shape[1]


def _elsewhere(ensembles: Ensembles) -> tuple[Array, Array]:
    """The atoms' shares (cells, atoms), and what is left for the density, (cells, 1)."""
    shares = atom_shares(ensembles)
    return shares, 1.0 - shares.sum(axis=1, keepdims=True)


def ask_log_densities(ensembles: Ensembles, at: Array) -> Answers:
    """Natural logarithms of the density given that no atom is hit, (cells, m)."""
    return _ask(ensembles, lambda estimates, x: estimates.log_density(*_flat(estimates, x)).reshape(x.shape), at)


def ask_densities(ensembles: Ensembles, at: Array) -> Answers:
    """The density at `at` (cells, m), times the probability of no atom."""
    log, codes = ask_log_densities(ensembles, at)
    return Answers(_elsewhere(ensembles)[1] * np.exp(log), codes)


def ask_probabilities(ensembles: Ensembles, at: Array, *, above: bool) -> Answers:
    """Probability up to, or beyond, `at` (cells, m)."""

    def ask(estimates: Estimates, x: Array) -> Array:
        return estimates.probability(*_flat(estimates, x), above=above).reshape(x.shape)

    shares, left = _elsewhere(ensembles)
    found, codes = _ask(ensembles, ask, at)
    return Answers(atoms_below(ensembles, shares, at, above=above) + left * found, codes)


def ask_quantiles(ensembles: Ensembles, p: Array) -> Answers:
    """Quantiles of `p` (cells, m): an atom for all probabilities that it jumps over."""
    shares, left = _elsewhere(ensembles)

    def ask(estimates: Estimates, probability: Array) -> Array:
        rows = slice(estimates.start, estimates.stop)
        own = np.repeat(estimates.own, probability.shape[1])
        passed, at_atom = np.zeros(probability.shape), np.full(probability.shape, math.nan)
        for k, atom in enumerate(ensembles.atoms):
            here = np.full(len(probability), atom)
            below = estimates.probability(here, estimates.own, np.arange(here.size + 1))[:, None]
            before = shares[rows, :k].sum(axis=1, keepdims=True) + left[rows] * below
            after = before + shares[rows, k, None]
            passed += np.where(probability > after, shares[rows, k, None], 0.0)
            at_atom[(before <= probability) & (probability <= after)] = atom
        inside = np.clip((probability - passed) / left[rows], 0.0, 1.0)
        found = quantiles_of(estimates, inside.reshape(-1), own).reshape(probability.shape)
        return np.where(np.isnan(at_atom), found, at_atom)

    return _ask(ensembles, ask, p)


def ask_score_parts(ensembles: Ensembles, y: Array) -> tuple[Array, Array, Index]:
    """The score's two parts (cells,) in bits: of whether and which atom is hit, and of where else; and the codes."""
    log, codes = ask_log_densities(ensembles, y[:, None])
    amount, lost = -log[:, 0] / _LN2, ensembles.lost | np.isnan(y)
    occurrence = np.zeros(y.size)
    if ensembles.atoms.size:
        shares, left = _elsewhere(ensembles)
        atom = which_atom(ensembles, y)
        # The last entry is elsewhere's.
        occurrence = -np.log(np.append(shares, left, axis=1)[np.arange(y.size), atom]) / _LN2
        amount[atom >= 0] = 0.0
    if lost.any():
        occurrence[lost], amount[lost] = math.nan, math.nan
    return occurrence, amount, codes


def ask_crps(ensembles: Ensembles, y: Array) -> Answers:
    """The continuous ranked probability score (cells,), in data units."""
    shares = atom_shares(ensembles)

    def ask(estimates: Estimates, outcome: Array) -> Array:
        return crps_of(estimates, outcome, ensembles.atoms, shares[estimates.start : estimates.stop])

    return _ask(ensembles, ask, y)


def ask_pit(ensembles: Ensembles, y: Array, uniforms: Array) -> Answers:
    """The probability integral transform (cells,); at an atom that share of its jump which `uniforms` (cells,) says."""
    shares, _ = _elsewhere(ensembles)
    found, codes = ask_probabilities(ensembles, y[:, None], above=False)
    atom = which_atom(ensembles, y)
    jump = np.where(atom >= 0, np.append(shares, np.zeros((y.size, 1)), axis=1)[np.arange(y.size), atom], 0.0)
    return Answers(found[:, 0] - (1.0 - uniforms) * jump, codes)
