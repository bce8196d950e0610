"""What forecasters use today: EMOS, censored logistic regression, kernel dressing, BMA, climatology, raw ensembles.

Each is fitted on the same pairs as the model, and returns predictive distributions of other pairs.

References: EMOS, Gneiting et al. (2005), Mon. Wea. Rev. 133, 1098; censored logistic, Messner et al. (2014), Mon. Wea.
Rev. 142, 448; affine kernel dressing, Bröcker and Smith (2008), Tellus A 60, 663. BMA is in `bma.py`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, ndtr

import amortized_kde as akde
from amortized_kde._types import Array, Index
from amortized_kde.data.support import OPEN
from amortized_kde.ensembles.calibration import Calibration
from amortized_kde.ensembles.options import Options
from amortized_kde.research.training.archive.bma import gamma_averaging, normal_averaging
from amortized_kde.research.training.archive.calibrate import Choice, fit_calibration
from amortized_kde.research.training.archive.design import Design
from amortized_kde.research.training.archive.likelihood import LocationScale
from amortized_kde.research.training.archive.pairs import Pairs
from amortized_kde.research.training.archive.predictive import CensoredLogistic, NormalMixture, Predictive, Trained

Rival = Callable[[Pairs, Pairs], Predictive]
# Days on either side of a date whose observations make its climatology, and the dates for which one is made.
_CLIMATE_DAYS, _CLIMATE_DATES = 30.0, 12
# A larger climatology is thinned to this many values, as in `ensembles.log_scores`.
_CLIMATE_VALUES = 1000
# Five numbers are known well enough from this many pairs.
_DRESSED_PAIRS = 3000
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


def rivals_of(pairs: Pairs, choice: Choice) -> dict[str, Rival]:
    """Return the rivals that suit the pairs, by name; `choice` says which covariates "the same" are."""
    season = ("season",) if pairs.has_season else ()
    found: dict[str, Rival] = {"raw ensemble, as shipped": raw, "climatology": climatology}
    same = choice.groups if choice.groups not in ((), season) else None
    if pairs.atoms == (pairs.bounds.lower,) and math.isinf(pairs.bounds.upper):
        found["censored logistic"] = lambda fitted, scored: censored_logistic(fitted, scored, ())
        if season:
            found["censored logistic, season"] = lambda fitted, scored: censored_logistic(fitted, scored, season)
        if same is not None:
            found["censored logistic, same covariates"] = lambda f, s: censored_logistic(f, s, same)
        found["BMA, gamma"] = gamma_averaging
        return found
    if pairs.atoms:
        return found
    found["EMOS, maximum likelihood"] = lambda fitted, scored: emos(fitted, scored, ())
    if pairs.bounds == OPEN:
        found["EMOS, CRPS"] = lambda fitted, scored: emos_by_crps(fitted, scored)
    if season:
        found["EMOS, season"] = lambda fitted, scored: emos(fitted, scored, season)
    if same is not None or choice.shrinkage is not None:
        found["EMOS, same covariates"] = lambda f, s: emos(f, s, choice.groups, choice.shrinkage)
    found["kernel dressing"] = kernel_dressing
    found["BMA"] = normal_averaging
    return found


def raw(fitted: Pairs, scored: Pairs) -> Predictive:
    """Return the densities of the members by the shipped default; where they have none, the climatology's."""
    past = fitted.observations if np.unique(fitted.observations[fitted.at_atom < 0]).size > 1 else None
    options = Options.read(bounds=scored.limits, atoms=scored.atoms, climatology=past)
    return Trained(scored.members, replace(options, warn=False))


def emos(fitted: Pairs, scored: Pairs, groups: tuple[str, ...], shrinkage: float | None = None) -> Predictive:
    """Return normal densities of a linear mean and sqrt(c^2 + d^2 s^2), by maximum likelihood, without a penalty."""
    found = fit_calibration(fitted, Choice(kernel="normal", groups=groups, penalty=1e-6, shrinkage=shrinkage))
    return _normal(found, scored)


def _normal(calibration: Calibration, scored: Pairs) -> Predictive:
    summary = calibration.summarise(scored.members, scored.covariates)
    places = scored.places if calibration.places and scored.places is not None else None
    mu, sigma = calibration.moments(summary, None if places is None else list(places))
    return NormalMixture(mu[:, None], sigma[:, None], np.ones(1), scored.bounds)


def emos_by_crps(fitted: Pairs, scored: Pairs) -> Predictive:
    """Return normal densities of a linear mean and sqrt(c^2 + d^2 s^2), by the least CRPS."""
    design = Design(fitted)
    model, location, spread = design.rows((), "normal", 1e-6)
    y = fitted.observations

    def mean_crps(theta: Array) -> float:
        mu, log, _ = model.moments(theta)
        z = (y - mu) / np.exp(log)
        density = np.exp(-0.5 * z * z - _LOG_SQRT_2PI)
        return float(np.mean(np.exp(log) * (z * (2.0 * ndtr(z) - 1.0) + 2.0 * density - 1.0 / math.sqrt(math.pi))))

    theta = minimize(mean_crps, model.fit(), method="L-BFGS-B").x
    parts: dict[str, Any] = design.unscale(location, spread, theta)
    return _normal(replace(design.blank, **parts), scored)


def censored_logistic(fitted: Pairs, scored: Pairs, groups: tuple[str, ...]) -> Predictive:
    """Return logistic distributions of the square root, censored at the bound, by maximum likelihood."""
    design = Design(fitted, 0.5)
    model, location, spread = design.rows(groups, "logistic", 1e-6)
    theta = _fit_censored(model, design)
    parts: dict[str, Any] = design.unscale(location, spread, theta)
    found = replace(design.blank, **parts)
    mu, sigma = found.moments(found.summarise(scored.members, scored.covariates))
    return CensoredLogistic(mu, sigma, found.scale)


def _fit_censored(model: LocationScale, design: Design) -> Array:
    """Return the coefficients of the censored likelihood; sigma is the scale of the logistic distribution."""
    away, count = design.away, model.location.shape[1]

    def objective(theta: Array) -> tuple[float, Array]:
        mu, log, part = model.moments(theta)
        sigma = np.exp(log)
        z = np.where(away, model.outcomes - mu, -mu) / sigma
        value = np.where(away, -log_expit(z) - log_expit(-z) + log, -log_expit(z))
        by_z = np.where(away, 2.0 * expit(z) - 1.0, expit(z) - 1.0)
        by_mu, by_log = -by_z / sigma, -by_z * z + away
        ends = [np.sum(by_log * part), np.sum(by_log * (1.0 - part))]
        return float(value.mean()), np.concatenate([by_mu @ model.location, ends, by_log @ model.log_spread]) / z.size

    start = np.zeros(count + 2 + model.log_spread.shape[1])
    start[0], start[1] = model.outcomes.mean(), model.outcomes.std()
    start[count : count + 2] = math.log(model.outcomes.std()) - 1.0, -1.5
    return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x)


def kernel_dressing(fitted: Pairs, scored: Pairs) -> Predictive:
    """Return affine kernel dressing: kernels at a x + r1 + r2 m with the variance h^2 (v1 + v2 a^2 s^2).

    The five numbers are those with the greatest likelihood.
    """

    def mixture(pairs: Pairs, theta: Array) -> NormalMixture:
        x = pairs.members
        mean, variance = np.nanmean(x, axis=1), np.nanvar(x, axis=1)
        a = np.exp(theta[2])
        places = a * (x - mean[:, None]) + (theta[0] + theta[1] * mean)[:, None]
        sd = np.sqrt(np.exp(2.0 * theta[3]) + np.exp(2.0 * theta[4]) * a * a * variance)
        present = ~np.isnan(x)
        weights = present / present.sum(axis=1, keepdims=True)
        sds = np.repeat(sd[:, None], x.shape[1], axis=1)
        return NormalMixture(np.where(present, places, 0.0), sds, weights, pairs.bounds)

    if len(fitted) > _DRESSED_PAIRS:
        fitted = fitted.where(np.sort(np.random.default_rng(0).permutation(len(fitted))[:_DRESSED_PAIRS]))
    mean = np.nanmean(fitted.members, axis=1)
    slope, level = np.polyfit(mean, fitted.observations, 1)
    rest = float(np.std(fitted.observations - level - slope * mean))
    start = np.array([level, slope, -1.0, math.log(rest), -1.0])
    rows = fitted.observations[:, None]

    def objective(theta: Array) -> float:
        return -float(np.mean(mixture(fitted, theta).log_density(rows)))

    found = minimize(objective, start, method="Nelder-Mead", options={"maxiter": 400, "fatol": 1e-5, "xatol": 1e-3})
    return mixture(scored, found.x)


@dataclass(frozen=True, eq=False)
class _ByDate:
    """One density for each date of the year, or for all; `which` (pairs,) says whose it is."""

    densities: list[Any]
    which: Index
    atom_probability: Array

    def log_density(self, at: Array) -> Array:
        return self._each(at, lambda density, x: density.logpdf(x))

    def cdf(self, at: Array) -> Array:
        # Interpolated: a quadrature of every pair asks for a hundred values.
        tables = {id(density): _table(density) for density in self.densities}
        return self._each(at, lambda density, x: np.interp(x, *tables[id(density)]))

    def _each(self, at: Array, function: Callable[[Any, Array], Array]) -> Array:
        out = np.empty(at.shape)
        for number, density in enumerate(self.densities):
            here = self.which == number
            if here.any():
                out[here] = function(density, at[here])
        return out


def _table(density: Any) -> tuple[Array, Array]:
    """Return arguments over nearly all of the probability, and the distribution function there."""
    low, high = density.ppf(np.array([1e-7, 1.0 - 1e-7]))
    at = np.linspace(float(low), float(high), 4001)
    return at, np.asarray(density.cdf(at))


def climatology(fitted: Pairs, scored: Pairs) -> Predictive:
    """Return the density of past observations: within 30 days of the date, if a year of them is known."""
    dates = _CLIMATE_DATES if fitted.has_season and "day_of_year" in scored.covariates else 1
    densities, chances = [], []
    for date in range(dates):
        here = np.ones(len(fitted), bool)
        if dates > 1:
            apart = np.abs(fitted.covariates["day_of_year"] - 365.25 * (date + 0.5) / dates)
            here = np.minimum(apart, 365.25 - apart) <= _CLIMATE_DAYS
        atom = fitted.at_atom[here]
        values = np.random.default_rng(0).permutation(fitted.observations[here][atom < 0])[:_CLIMATE_VALUES]
        densities.append(akde.fit(values, bounds=fitted.limits))
        chances.append([(np.sum(atom == k) + 0.5) / (atom.size + 1.0) for k in range(len(fitted.atoms))])
    which = np.zeros(len(scored), np.int64)
    if dates > 1:
        which = np.minimum((scored.covariates["day_of_year"] * dates / 366.0).astype(np.int64), dates - 1)
    return _ByDate(densities, which, np.array(chances).reshape(dates, -1)[which])
