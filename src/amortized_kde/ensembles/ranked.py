"""The continuous ranked probability score of many cells: estimates, atoms and outcomes enter, scores leave."""

from collections.abc import Callable

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.support import OPEN
from amortized_kde.ensembles.estimates import Estimates
from amortized_kde.numerics.crps import crps_pair_cells, crps_panel_cells
from amortized_kde.numerics.threads import run_in_pieces

# Steps of the distribution function may go unresolved over a panel by so much of the sample's scale.
_SLACK = 2e-6


def crps_of(estimates: Estimates, y: Array, atoms: Array, shares: Array) -> Array:
    """Give the CRPS of each cell of a run at its outcome, in data units.

    Parameters
    ----------
    estimates : Estimates
        Of the run.
    y : array of shape (cells,)
        Outcomes; NaN gives NaN.
    atoms, shares : arrays of shape (a,) and (cells, a)
        Atoms, and their probability; the density has what is left.
    """
    kernels, out = estimates.kernels, np.empty(y.size)
    closed = not kernels.each and estimates.bounds == OPEN and not atoms.size
    loop = _pairs(estimates, y, out) if closed else _panels(estimates, y, atoms, shares, out)
    count = (kernels.stops - kernels.starts).astype(np.float64)
    operations = float(np.sum(count * count)) if closed else 1e3 * float(np.sum(count))
    run_in_pieces(loop, y.size, operations=operations, threads=estimates.threads)
    return out


def _pairs(estimates: Estimates, y: Array, out: Array) -> Callable[[int, int], None]:
    kernels = estimates.kernels
    return lambda i, j: crps_pair_cells(kernels.places, kernels.rates, kernels.starts, kernels.stops, y, out, i, j)


def _panels(estimates: Estimates, y: Array, atoms: Array, shares: Array, out: Array) -> Callable[[int, int], None]:
    broad = np.stack([estimates.epsilons, estimates.locations, estimates.scales], axis=1)
    cuts = np.concatenate([y[:, None], np.broadcast_to(atoms, (y.size, atoms.size))], axis=1)
    slack, limits = _SLACK * estimates.scales, (estimates.bounds.lower, estimates.bounds.upper)
    shares = np.ascontiguousarray(shares)
    return lambda i, j: crps_panel_cells(
        *estimates.kernels, estimates.own, limits, broad, slack, cuts, shares, out, i, j
    )
