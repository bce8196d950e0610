"""What is computed on one block of an array, on whatever thread or machine it lies: NumPy arrays enter and leave.

Functions and options are plain enough to be sent to workers. A model's weights are not among them: each worker process
reads them from its own installed package, or from the folder that ``method="amortized:FOLDER"`` names, when the first
block needs them, and keeps them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.data.reading import read_bounds, read_samples
from amortized_kde.ensembles import answers
from amortized_kde.ensembles.atoms import atom_shares
from amortized_kde.ensembles.reading import (
    Ensembles,
    read_arguments,
    read_ensembles,
    read_observations,
    read_probabilities,
)
from amortized_kde.ensembles.verification import cell_uniforms
from amortized_kde.ensembles.warn import warn_of_cells
from amortized_kde.estimate import warn_of_rows
from amortized_kde.selection import find_selector


@dataclass(frozen=True)
class Options:
    """How densities are made; `method` is None if every block brings bandwidths as its last array.

    Only blocks in memory are `aloud`: nobody would hear a warning on a worker.
    """

    bounds: Sequence[float | None] | None = None
    method: str | float | None = None
    atoms: Sequence[float] = ()
    climatology: Array | None = None
    threads: int | None = None
    aloud: bool = True

    def read(self, members: Array, rest: Sequence[Array], *, ascending: bool = False) -> Ensembles:
        """Read the ensembles of a block."""
        return read_ensembles(
            members,
            bounds=self.bounds,
            method=rest[-1] if self.method is None else self.method,
            atoms=self.atoms,
            climatology=self.climatology,
            threads=self.threads,
            ascending=ascending,
        )

    def tell(self, ensembles: Ensembles, codes: Index) -> None:
        """Warn of cells, if anybody hears."""
        if self.aloud:
            warn_of_cells(ensembles, codes)


def bandwidth_block(members: Array, *, options: Options) -> Array:
    """One bandwidth a cell."""
    selector, bounds = find_selector(str(options.method)), read_bounds(options.bounds)
    samples = read_samples(members, axis=-1, ascending=selector.ascending)
    outside = samples.outside(bounds)
    selection = selector.select(samples, bounds, threads=options.threads)
    selection.bandwidths[outside] = np.nan
    if options.aloud:
        warn_of_rows(samples, outside, selection, selector.name)
    return selection.bandwidths.reshape(samples.shape)


def score_parts_block(members: Array, obs: Array, *rest: Array, options: Options) -> tuple[Array, Array]:
    """The two parts of the logarithmic score, in bits."""
    ensembles = options.read(members, rest)
    occurrence, amount, codes = answers.ask_score_parts(ensembles, read_observations(obs, ensembles))
    options.tell(ensembles, codes)
    return occurrence.reshape(ensembles.shape), amount.reshape(ensembles.shape)


def score_block(members: Array, obs: Array, *rest: Array, options: Options) -> Array:
    """The logarithmic score, in bits."""
    occurrence, amount = score_parts_block(members, obs, *rest, options=options)
    return np.asarray(occurrence + amount)


def crps_block(members: Array, obs: Array, *rest: Array, options: Options) -> Array:
    """The continuous ranked probability score."""
    ensembles = options.read(members, rest)
    values, codes = answers.ask_crps(ensembles, read_observations(obs, ensembles))
    options.tell(ensembles, codes)
    return values.reshape(ensembles.shape)


def pit_block(members: Array, obs: Array, cells: Index, *rest: Array, options: Options, seed: int) -> Array:
    """The probability integral transform; `cells` are the numbers of the cells in the whole array."""
    ensembles = options.read(members, rest)
    numbers = np.array(np.broadcast_to(cells, ensembles.shape)).reshape(-1)
    values, codes = answers.ask_pit(ensembles, read_observations(obs, ensembles), cell_uniforms(seed, numbers))
    options.tell(ensembles, codes)
    return values.reshape(ensembles.shape)


def density_block(members: Array, at: Array, *rest: Array, options: Options) -> Array:
    """Densities at arguments along the last axis."""
    ensembles = options.read(members, rest)
    rows, shape = read_arguments(at, "at", ensembles)
    values, codes = answers.ask_densities(ensembles, rows)
    options.tell(ensembles, codes)
    return values.reshape(shape)


def probability_block(members: Array, at: Array, *rest: Array, options: Options, above: bool) -> Array:
    """Probabilities up to, or above, thresholds along the last axis."""
    ensembles = options.read(members, rest)
    rows, shape = read_arguments(at, "thresholds", ensembles)
    values, codes = answers.ask_probabilities(ensembles, rows, above=above)
    options.tell(ensembles, codes)
    return values.reshape(shape)


def quantile_block(members: Array, p: Array, *rest: Array, options: Options) -> Array:
    """Quantiles of probabilities along the last axis."""
    ensembles = options.read(members, rest, ascending=True)
    rows, shape = read_probabilities(p, ensembles)
    values, codes = answers.ask_quantiles(ensembles, rows)
    options.tell(ensembles, codes)
    return values.reshape(shape)


def atom_probability_block(members: Array, *, options: Options) -> Array:
    """Probabilities of the atoms, ascending, along a new last axis."""
    ensembles = options.read(members, ())
    return atom_shares(ensembles).reshape(*ensembles.shape, ensembles.atoms.size)
