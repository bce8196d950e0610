"""How good forecasts were: ensembles and observations enter, one number a cell leaves."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from amortized_kde._types import Array
from amortized_kde.ensembles.answers import ask_crps, ask_pit, ask_score_parts
from amortized_kde.ensembles.reading import Ensembles, read_ensembles, read_observations
from amortized_kde.ensembles.warn import warn_of_cells
from amortized_kde.errors import InvalidParameterError
from amortized_kde.estimate import DEFAULT_METHOD
from amortized_kde.numerics.streams import stream_words, uniforms_at

Limits = Sequence[float | None]

# Randomised transforms draw from streams of their own.
_PURPOSE = 8


class ScoreParts(NamedTuple):
    """The two parts of a logarithmic score in bits, which add up to it.

    `occurrence` is what it cost to say with which probability an atom is hit, and which; `amount`, where none was hit,
    what it cost to say where else the outcome lies.
    """

    occurrence: Array
    amount: Array


def log_scores(
    x: ArrayLike | Sequence[ArrayLike],
    obs: ArrayLike,
    *,
    bounds: Limits | None = None,
    method: str | ArrayLike = DEFAULT_METHOD,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    threads: int | None = None,
) -> Array:
    r"""Logarithmic scores of many ensembles, :math:`-\log_2 q(y)` in bits; lower is better.

    Each is what ``log_score(fit(members), observation)`` gives, to 1e-12.

    Parameters
    ----------
    x : array_like of shape (..., n)
        Members along the last axis; NaN is a missing member.
    obs : array_like of shape (...)
        What came true, one number an ensemble, or fewer that broadcast. NaN gives NaN; an observation outside the
        bounds scores infinity.
    bounds : (float or None, float or None), optional
        Hard limits of the variable: ``(0, None)`` for rain, ``(0, 1)`` for relative humidity.
    method : str or array_like of shape (...)
        One of `selectors()`, or bandwidths of your own in data units, one for all or one each.
    atoms : sequence of float
        Values with a probability of their own, such as ``(0,)`` for no rain. With m of n members exactly there the
        probability of an only atom is (m + 1/2)/(n + 1) (`ensembles.atoms`), and elsewhere the density of the other
        members counts with what is left. A score at an atom is that of a probability, elsewhere that of a density in
        the variable's units: the two mix in one mean, and compare only between forecasts with the same atoms.
    climatology : array_like, optional
        Values from the past, for ensembles whose members give no density, for example because all are at an atom:
        theirs is then the density of these values away from the atoms (of a thousand of them, if there are more).
    threads : int, optional
        At most so many threads; by default all cores. The number changes no bit of the answer.

    Returns
    -------
    ndarray of shape (...)
        NaN for an ensemble without members, or with one that is infinite or beyond the bounds.

    Raises
    ------
    InvalidSampleError, InvalidBoundsError, InvalidParameterError
        For input that cannot be used; the sentence says why.

    Warns
    -----
    BadRowsWarning
        If some ensembles have no answer.

    Examples
    --------
    >>> log_scores([[1.0, 2.0, 4.0], [3.0, 5.0, np.nan]], [2.5, 4.0], method=[1.0, 1.0]).round(4)
    array([2.2955, 2.0471])
    """
    parts = _score_parts(
        read_ensembles(x, bounds=bounds, method=method, atoms=atoms, climatology=climatology, threads=threads),
        obs,
    )
    return np.asarray(parts.occurrence + parts.amount)


def log_score_parts(
    x: ArrayLike | Sequence[ArrayLike],
    obs: ArrayLike,
    *,
    bounds: Limits | None = None,
    method: str | ArrayLike = DEFAULT_METHOD,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    threads: int | None = None,
) -> ScoreParts:
    """Logarithmic scores in two parts that add up: of hitting an atom or not, and of the amount if not.

    Parameters are those of `log_scores`. At an atom the amount's part is 0.

    Examples
    --------
    >>> rain = [[0.0, 0.0, 0.0, 2.0], [0.0, 1.0, 3.0, 4.0]]
    >>> parts = log_score_parts(rain, [0.0, 2.0], bounds=(0, None), method=1.0, atoms=(0,))
    >>> parts.occurrence.round(4)  # (3 + 1/2)/(4 + 1), and 1 - (1 + 1/2)/(4 + 1)
    array([0.5146, 0.5146])
    >>> parts.amount.round(4)
    array([0.    , 2.4004])
    """
    return _score_parts(
        read_ensembles(x, bounds=bounds, method=method, atoms=atoms, climatology=climatology, threads=threads),
        obs,
    )


def _score_parts(ensembles: Ensembles, obs: ArrayLike) -> ScoreParts:
    occurrence, amount, codes = ask_score_parts(ensembles, read_observations(obs, ensembles))
    warn_of_cells(ensembles, codes)
    return ScoreParts(occurrence.reshape(ensembles.shape), amount.reshape(ensembles.shape))


def crps(
    x: ArrayLike | Sequence[ArrayLike],
    obs: ArrayLike,
    *,
    bounds: Limits | None = None,
    method: str | ArrayLike = DEFAULT_METHOD,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    threads: int | None = None,
) -> Array:
    r"""Continuous ranked probability scores of the smoothed ensembles, in data units; lower is better.

    .. math:: \int (F(t) - 1\{y \le t\})^2 \, dt

    with F the distribution function of the density and the atoms. Of densities with one bandwidth, without bounds and
    atoms, in closed form; otherwise by quadrature, to 1e-6 of the score or better. An observation outside the bounds
    has a finite score.

    Parameters are those of `log_scores`.

    Examples
    --------
    >>> crps([[1.0, 2.0, 4.0]], [2.5], method=1.0).round(6)
    array([0.425428])
    """
    ensembles = read_ensembles(x, bounds=bounds, method=method, atoms=atoms, climatology=climatology, threads=threads)
    values, codes = ask_crps(ensembles, read_observations(obs, ensembles))
    warn_of_cells(ensembles, codes)
    return values.reshape(ensembles.shape)


def pit(
    x: ArrayLike | Sequence[ArrayLike],
    obs: ArrayLike,
    *,
    bounds: Limits | None = None,
    method: str | ArrayLike = DEFAULT_METHOD,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Array:
    """Probability integral transforms: F(y), uniform between 0 and 1 if the forecasts are calibrated.

    At an atom F jumps; the transform is then drawn uniformly from the jump, without which a dry climate would look like
    a bad forecast. The draw hangs on `seed` and on the number of the cell alone.

    Parameters are those of `log_scores`, and `seed`, a whole number of at least 0.

    Examples
    --------
    >>> pit([[1.0, 3.0], [2.0, 8.0]], [2.0, 2.0], method=1.0).round(4)
    array([0.5 , 0.25])
    """
    ensembles = read_ensembles(x, bounds=bounds, method=method, atoms=atoms, climatology=climatology, threads=threads)
    y = read_observations(obs, ensembles)
    values, codes = ask_pit(ensembles, y, cell_uniforms(seed, np.arange(y.size)))
    warn_of_cells(ensembles, codes)
    return values.reshape(ensembles.shape)


def cell_uniforms(seed: int, cells: NDArray[np.int64]) -> Array:
    """Give the random numbers in (0, 1) of the cells with these numbers under a seed.

    Raises
    ------
    InvalidParameterError
        If the seed is not a whole number of at least 0.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidParameterError(f"seed must be a whole number of at least 0, not {seed!r}.")
    return np.asarray(uniforms_at(stream_words(int(seed), _PURPOSE), cells))
