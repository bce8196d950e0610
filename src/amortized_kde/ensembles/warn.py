"""Warnings about cells: what has no answer and why, each reason with its count."""

import warnings

import numpy as np

from amortized_kde._types import Index
from amortized_kde.data.sample import Samples
from amortized_kde.ensembles.reading import Ensembles
from amortized_kde.errors import BadRowsWarning
from amortized_kde.estimate import warn_of_rows
from amortized_kde.selection import OK, Selection


def warn_of_cells(ensembles: Ensembles, codes: Index) -> None:
    """Warn of cells without an answer, of fallbacks and of ensembles unlike the training tasks; the caller's caller
    is named."""
    if not codes.any() and not ensembles.lost.any():
        return
    codes = np.where(ensembles.lost | ((codes < OK) & (ensembles.past.size > 0)), OK, codes)
    if ensembles.atoms.size:
        codes = _warn_of_atoms(codes)
    if ensembles.given is not None and np.any(codes < OK):
        bad = int(np.sum(codes < OK))
        warnings.warn(
            f"{bad} of {codes.size} ensembles have no answer (NaN): their bandwidth is not a positive number.",
            BadRowsWarning,
            stacklevel=3,
        )
        codes = np.maximum(codes, OK)
    # Members at atoms count as members here.
    offsets = np.concatenate([[0], np.cumsum(ensembles.members)])
    counted = Samples(np.empty(0), offsets, ensembles.shape, ensembles.samples.unusable)
    selection = Selection(np.empty(0), codes)
    warn_of_rows(counted, ensembles.outside, selection, ensembles.selector.name, stacklevel=4)


def _warn_of_atoms(codes: Index) -> Index:
    bare = int(np.sum(codes < OK))
    if bare:
        warnings.warn(
            f"{bare} of {codes.size} ensembles have too few members away from the atoms for a density there; what "
            "needs one is NaN, unless climatology= gives values from which to make it.",
            BadRowsWarning,
            stacklevel=4,
        )
    return np.maximum(codes, OK)
