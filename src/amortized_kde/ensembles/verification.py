"""Scores of forecasts: ensembles against observations, one number per ensemble."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.data.reading import read_bounds
from amortized_kde.ensembles import answers
from amortized_kde.ensembles.options import Members, Options


class ScoreParts(NamedTuple):
    """The two parts of logarithmic scores in bits, which add up to the scores.

    Attributes
    ----------
    occurrence : ndarray of shape (...)
        Score of the probability with which the atom that was hit, or none, was forecast.
    amount : ndarray of shape (...)
        Score of the density at the observation; 0 where an atom was hit.
    """

    occurrence: Array
    amount: Array


def log_scores(
    x: Members,
    obs: ArrayLike,
    *,
    bounds: Sequence[float | None] | None = None,
    method: str | None = None,
    bandwidth: ArrayLike | None = None,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    covariates: Mapping[str, ArrayLike] | None = None,
    resolution: float = 0.0,
    threads: int | None = None,
) -> Array:
    r"""Return logarithmic scores of many ensembles, :math:`-\log_2 q(y)` in bits; lower is better.

    Each equals ``log_score(fit(members), observation)`` to 1e-12.

    Parameters
    ----------
    x : array_like of shape (..., n)
        Members along the last axis; NaN is a missing member.
    obs : array_like of shape (...)
        Observations, one per ensemble, or fewer that broadcast. A missing one (NaN) scores NaN, one outside the bounds
        infinity.
    bounds : (float or None, float or None), optional
        Hard limits of the variable: ``(0, None)`` for rain, ``(0, 1)`` for relative humidity.
    method : str, optional
        One of `selectors()`; by default ``"amortized"``.
    bandwidth : array_like of shape (...), optional
        Bandwidths instead of a method, in data units, one for all ensembles or one each.
    atoms : sequence of float
        Values with a probability of their own, such as ``(0,)`` for no rain; see `atom_probabilities`. The density is
        that of the other members, times the remaining probability. The score at an atom is that of a probability,
        elsewhere that of a density in the variable's units: compare only forecasts with the same atoms.
    climatology : array_like, optional
        Past values. Ensembles whose members give no density, for example because all are at an atom, get the density of
        these values away from the atoms (of a thousand of them, if there are more).
    covariates : mapping of str to array_like of shape (...), optional
        What a model that was trained on an archive needs besides the members: ``day_of_year``, ``place``, and others
        that were named in training. Such a model corrects the members first (`calibrated`), and has bounds and atoms of
        its own.
    resolution : float
        Unit to which the observations were rounded. Their score is then that of the mean density over the rounded
        cell, :math:`-\log_2 [P(y - r/2 < Y < y + r/2) / r]`. By default, observations are exact.
    threads : int, optional
        At most this many threads; by default all cores. The answer does not depend on it.

    Returns
    -------
    ndarray of shape (...)
        NaN for an ensemble without members, or with one that is infinite or outside the bounds.

    Raises
    ------
    InvalidSampleError, InvalidBoundsError
        If `x`, `obs`, `bandwidth` or `climatology` are not numbers of matching shapes, or `bounds` not an interval.
    InvalidParameterError
        If both `method` and `bandwidth` are given, or another option cannot be used.

    Warns
    -----
    BadRowsWarning
        If some ensembles have no answer.

    Examples
    --------
    >>> log_scores([[1.0, 2.0, 4.0], [3.0, 5.0]], [2.5, 4.0], bandwidth=[1.0, 1.0]).round(4)
    array([2.2955, 2.0471])
    """
    options = Options.read(bounds, method, bandwidth, atoms, climatology, threads, covariates)
    return answers.log_scores(x, obs, options=options, resolution=resolution)


def log_score_parts(
    x: Members,
    obs: ArrayLike,
    *,
    bounds: Sequence[float | None] | None = None,
    method: str | None = None,
    bandwidth: ArrayLike | None = None,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    covariates: Mapping[str, ArrayLike] | None = None,
    resolution: float = 0.0,
    threads: int | None = None,
) -> ScoreParts:
    """Return logarithmic scores in two parts that add up: of hitting an atom or none, and of the amount if none.

    Parameters as in `log_scores`.

    Examples
    --------
    >>> rain = [[0.0, 0.0, 0.0, 2.0], [0.0, 1.0, 3.0, 4.0]]
    >>> parts = log_score_parts(rain, [0.0, 2.0], bounds=(0, None), bandwidth=1.0, atoms=(0,))
    >>> parts.occurrence.round(4)  # (3 + 1/2)/(4 + 1), and 1 - (1 + 1/2)/(4 + 1)
    array([0.5146, 0.5146])
    >>> parts.amount.round(4)
    array([0.    , 2.4004])
    """
    options = Options.read(bounds, method, bandwidth, atoms, climatology, threads, covariates)
    return ScoreParts(*answers.score_parts(x, obs, options=options, resolution=resolution))


def crps(
    x: Members,
    obs: ArrayLike,
    *,
    bounds: Sequence[float | None] | None = None,
    method: str | None = None,
    bandwidth: ArrayLike | None = None,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    covariates: Mapping[str, ArrayLike] | None = None,
    threads: int | None = None,
) -> Array:
    r"""Return continuous ranked probability scores of the smoothed ensembles, in data units; lower is better.

    .. math:: \int (F(t) - 1\{y \le t\})^2 \, dt

    with F the distribution function of the density and the atoms. It is computed in closed form for one bandwidth
    without bounds and atoms, otherwise by quadrature with a relative error of at most 1e-6. An observation outside the
    bounds has a finite score. Parameters, shapes and NaN as in `log_scores`.

    Examples
    --------
    >>> crps([[1.0, 2.0, 4.0]], [2.5], bandwidth=1.0).round(6)
    array([0.425428])
    """
    return answers.crps(
        x, obs, options=Options.read(bounds, method, bandwidth, atoms, climatology, threads, covariates)
    )


def threshold_weighted_crps(
    x: Members,
    obs: ArrayLike,
    between: Sequence[float | None],
    *,
    bounds: Sequence[float | None] | None = None,
    method: str | None = None,
    bandwidth: ArrayLike | None = None,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    covariates: Mapping[str, ArrayLike] | None = None,
    threads: int | None = None,
) -> Array:
    r"""Return threshold-weighted CRPS: only thresholds in an interval count, such as those of strong wind.

    .. math:: \int_a^b (F(t) - 1\{y \le t\})^2 \, dt

    The parts of adjoining intervals add up to the CRPS. Other parameters, shapes, NaN and accuracy as in `crps`.

    Parameters
    ----------
    between : (float or None, float or None)
        The interval (a, b) in data units, None for an open side: ``(17.2, None)`` for gales in m/s.

    Examples
    --------
    >>> threshold_weighted_crps([[1.0, 2.0, 4.0]], [2.5], (3, None), bandwidth=1.0).round(6)
    array([0.081459])
    """
    window = read_bounds(between)
    options = Options.read(bounds, method, bandwidth, atoms, climatology, threads, covariates)
    return answers.crps(x, obs, options=options, window=window)


def brier_scores(
    x: Members,
    obs: ArrayLike,
    thresholds: ArrayLike,
    *,
    bounds: Sequence[float | None] | None = None,
    method: str | None = None,
    bandwidth: ArrayLike | None = None,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    covariates: Mapping[str, ArrayLike] | None = None,
    threads: int | None = None,
) -> Array:
    r"""Return Brier scores of exceeding thresholds, :math:`(P(X > t) - 1\{y > t\})^2`; lower is better.

    Their integral over all thresholds is the CRPS. Other parameters and NaN as in `log_scores`.

    Parameters
    ----------
    thresholds : float, array_like of shape (m,) or (..., m)
        In data units, the same for all ensembles or different ones for each.

    Returns
    -------
    ndarray of shape (..., m), or (...) for a single threshold

    Examples
    --------
    >>> brier_scores([[1.0, 3.0], [2.0, 8.0]], [2.5, 1.0], [2.0, 9.0], bandwidth=1.0).round(4)
    array([[0.25  , 0.    ],
           [0.5625, 0.0063]])
    """
    options = Options.read(bounds, method, bandwidth, atoms, climatology, threads, covariates)
    return answers.brier_scores(x, thresholds, obs, options=options)


def pit(
    x: Members,
    obs: ArrayLike,
    *,
    bounds: Sequence[float | None] | None = None,
    method: str | None = None,
    bandwidth: ArrayLike | None = None,
    atoms: Sequence[float] = (),
    climatology: ArrayLike | None = None,
    seed: int = 0,
    covariates: Mapping[str, ArrayLike] | None = None,
    threads: int | None = None,
) -> Array:
    """Return probability integral transforms F(y), uniform on [0, 1] if the forecasts are calibrated.

    At an atom F jumps, and the transform is drawn uniformly from the inside of the jump, so that it is never exactly 0
    or 1; without the draw, forecasts of a dry climate would look uncalibrated. The draw depends only on `seed`, an
    integer of at least 0, and the position of the cell. An observation outside the bounds gets 0 or 1, and so does one
    exactly at a bound that is not an atom.

    Other parameters, shapes and NaN as in `log_scores`.

    Examples
    --------
    >>> pit([[1.0, 3.0], [2.0, 8.0]], [2.0, 2.0], bandwidth=1.0).round(4)
    array([0.5 , 0.25])
    """
    options = Options.read(bounds, method, bandwidth, atoms, climatology, threads, covariates)
    return answers.pit(x, obs, options=options, seed=seed)
