r"""The probability of atoms, values that many members share exactly, and of everything else.

With m of n members at an atom, and a atoms,

    P(atom) = (m + 1/2) / (n + (a + 1)/2),      P(elsewhere) = (n - all m + 1/2) / (n + (a + 1)/2),

which for one atom is (m + 1/2)/(n + 1). It is the mean of the Bayesian posterior under Jeffreys' prior, known in coding
as the Krichevsky-Trofimov estimate: under the logarithmic score it loses, against the best fixed probability seen
afterwards, as little as can be guaranteed, up to a constant. It is never 0, so that no outcome scores infinity only
because no member was there.
"""

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.ensembles.reading import Ensembles


def atom_shares(ensembles: Ensembles) -> Array:
    """Give the probability of each atom, (cells, atoms); NaN for cells without an answer."""
    if not ensembles.atoms.size:
        return np.zeros((len(ensembles.samples), 0))
    classes = 0.5 * (ensembles.atoms.size + 1)
    shares = (ensembles.hits + 0.5) / (ensembles.members + classes)[:, None]
    shares[ensembles.lost] = np.nan
    return np.asarray(shares)


def which_atom(ensembles: Ensembles, y: Array) -> Index:
    """The number of the atom that each outcome is at, or -1."""
    found = np.full(y.shape, -1)
    for k, atom in enumerate(ensembles.atoms):
        found[y == atom] = k
    return found


def atoms_below(ensembles: Ensembles, shares: Array, at: Array, *, above: bool = False) -> Array:
    """Probability of the atoms up to arguments (cells, m), or with `above` of those beyond them."""
    total = np.zeros(at.shape)
    for k, atom in enumerate(ensembles.atoms):
        total += shares[:, k, None] * ((atom > at) if above else (atom <= at))
    return total
