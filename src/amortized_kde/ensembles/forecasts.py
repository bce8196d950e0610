"""What forecasts say: ensembles enter, arrays of densities, probabilities and quantiles leave."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.ensembles.answers import ask_densities, ask_probabilities, ask_quantiles
from amortized_kde.ensembles.atoms import atom_shares
from amortized_kde.ensembles.reading import read_arguments, read_ensembles, read_probabilities
from amortized_kde.ensembles.warn import warn_of_cells
from amortized_kde.estimate import DEFAULT_METHOD

Limits = Sequence[float | None]


def densities(
    x: ArrayLike | Sequence[ArrayLike],
    at: ArrayLike,
    *,
    bounds: Limits | None = None,
    method: str | ArrayLike = DEFAULT_METHOD,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    threads: int | None = None,
) -> Array:
    """Densities of many ensembles, each at its own arguments or all at the same.

    Parameters
    ----------
    x : array_like of shape (..., n)
        Members along the last axis; NaN is a missing member.
    at : float, array_like of shape (m,) or (..., m)
        Where to evaluate, in data units.
    bounds, method, atoms, climatology, threads
        As in `log_scores`. With atoms the density away from them, which integrates to 1 minus their probability.

    Returns
    -------
    ndarray of shape (..., m), or (...) for a single argument

    Examples
    --------
    >>> densities([[1.0, 2.0, 4.0], [3.0, 5.0, np.nan]], [2.0, 3.0], method=1.0).round(4)
    array([[0.2316, 0.1793],
           [0.1232, 0.2265]])
    """
    ensembles = read_ensembles(x, bounds=bounds, method=method, atoms=atoms, climatology=climatology, threads=threads)
    rows, shape = read_arguments(at, "at", ensembles)
    values, codes = ask_densities(ensembles, rows)
    warn_of_cells(ensembles, codes)
    return values.reshape(shape)


def probabilities(
    x: ArrayLike | Sequence[ArrayLike],
    thresholds: ArrayLike,
    *,
    above: bool = False,
    bounds: Limits | None = None,
    method: str | ArrayLike = DEFAULT_METHOD,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    threads: int | None = None,
) -> Array:
    """Probabilities of values up to thresholds, or with `above` of values that exceed them.

    Both are accurate relative to themselves, however small. An atom counts as up to itself.

    Parameters
    ----------
    x : array_like of shape (..., n)
        Members along the last axis; NaN is a missing member.
    thresholds : float, array_like of shape (m,) or (..., m)
        In data units, the same for all or some for each.
    above : bool
        Give the probability of exceeding instead.
    bounds, method, atoms, climatology, threads
        As in `log_scores`.

    Returns
    -------
    ndarray of shape (..., m), or (...) for a single threshold

    Examples
    --------
    >>> probabilities([[1.0, 3.0], [2.0, 8.0]], [2.0, 9.0], method=1.0).round(4)
    array([[0.5   , 1.    ], [0.25  , 0.9207]])
    >>> probabilities([[0.0, 0.0, 0.0, 2.0]], 0.0, above=True, bounds=(0, None), method=1.0, atoms=(0,))
    array([0.3])
    """
    ensembles = read_ensembles(x, bounds=bounds, method=method, atoms=atoms, climatology=climatology, threads=threads)
    rows, shape = read_arguments(thresholds, "thresholds", ensembles)
    values, codes = ask_probabilities(ensembles, rows, above=above)
    warn_of_cells(ensembles, codes)
    return values.reshape(shape)


def quantiles(
    x: ArrayLike | Sequence[ArrayLike],
    p: ArrayLike,
    *,
    bounds: Limits | None = None,
    method: str | ArrayLike = DEFAULT_METHOD,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    threads: int | None = None,
) -> Array:
    """Quantiles of many ensembles' densities.

    Parameters
    ----------
    x : array_like of shape (..., n)
        Members along the last axis; NaN is a missing member.
    p : float, array_like of shape (m,) or (..., m)
        Probabilities in [0, 1].
    bounds, method, atoms, climatology, threads
        As in `log_scores`. An atom is the quantile of all probabilities over which it makes the distribution function
        jump.

    Returns
    -------
    ndarray of shape (..., m), or (...) for a single probability, in data units

    Raises
    ------
    InvalidParameterError
        If a probability is outside [0, 1] or NaN; and as `log_scores`.

    Examples
    --------
    >>> quantiles([[1.0, 3.0], [2.0, 8.0]], [0.25, 0.5], method=1.0).round(4)
    array([[0.9495, 2.    ],
           [2.    , 5.    ]])
    """
    ensembles = read_ensembles(
        x, bounds=bounds, method=method, atoms=atoms, climatology=climatology, threads=threads, ascending=True
    )
    rows, shape = read_probabilities(p, ensembles)
    values, codes = ask_quantiles(ensembles, rows)
    warn_of_cells(ensembles, codes)
    return values.reshape(shape)


def atom_probabilities(
    x: ArrayLike | Sequence[ArrayLike], atoms: Sequence[float], *, bounds: Limits | None = None
) -> Array:
    """Probabilities of atoms, values that many members share exactly, such as no rain.

    With m of n members at an only atom it is (m + 1/2)/(n + 1); the module `ensembles.atoms` says why, and has the
    formula for several.

    Parameters
    ----------
    x : array_like of shape (..., n)
        Members along the last axis; NaN is a missing member.
    atoms : sequence of float
        In data units.
    bounds : (float or None, float or None), optional
        Hard limits; an ensemble with a member beyond them has no answer.

    Returns
    -------
    ndarray of shape (..., atoms)
        Ascending atoms; NaN for ensembles without an answer.

    Examples
    --------
    >>> atom_probabilities([[0.0, 0.0, 0.0, 2.0], [1.0, 2.0, np.nan, np.nan]], (0,))
    array([[0.7       ], [0.16666667]])
    """
    ensembles = read_ensembles(x, bounds=bounds, method=1.0, atoms=atoms, climatology=None, threads=None)
    return atom_shares(ensembles).reshape(*ensembles.shape, ensembles.atoms.size)
