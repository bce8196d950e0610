"""The probability of atoms, given the members and covariates: multinomial logistic regression with a ridge."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from amortized_kde._types import Array, Index
from amortized_kde.ensembles.regressors import COVARIATE, ONE
from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.training.archive.design import Design
from amortized_kde.research.training.archive.likelihood import minimise

# Groups of terms in the order in which they are tried.
_GROUPS: dict[str, tuple[str, ...]] = {
    "summaries": ("log spread", "skew"),
    "season": ("sin1", "cos1"),
    "mean by season": ("mean*sin1", "mean*cos1"),
    "square": ("mean^2",),
}
_PENALTIES = (1.0, 10.0, 30.0)
_WORTH = 5e-4
_LN2 = float(np.log(2.0))


class Occurrence(NamedTuple):
    """Terms of the logits, and the penalty of their standardised coefficients."""

    terms: tuple[str, ...] = ("mean", "atom share")
    penalty: float = 1.0


def check_atoms(design: Design) -> None:
    """Raise `InvalidParameterError` if the observations are never, or always, at an atom."""
    at_atom, atoms = design.pairs.at_atom, design.pairs.atoms
    for k, atom in enumerate(atoms):
        if not np.any(at_atom == k):
            raise InvalidParameterError(
                f"none of the {len(design.pairs)} observations that are fitted is {atom:g}, so that its probability "
                "cannot be learned; leave it out of --atoms."
            )
    if np.all(at_atom >= 0):
        raise InvalidParameterError(
            f"all {len(design.pairs)} observations that are fitted are at an atom ({', '.join(f'{a:g}' for a in atoms)}"
            "), so that there is no density to learn; train on a longer archive."
        )


def _design_matrix(design: Design, terms: Sequence[str]) -> Array:
    return np.column_stack([np.ones(len(design.pairs)), design.columns(terms)[0]])


def _scores(columns: Array, classes: Index, theta: Array) -> Array:
    logits = np.column_stack([columns @ theta, np.zeros(len(columns))])
    return np.asarray(logsumexp(logits, axis=1) - logits[np.arange(classes.size), classes])


def _fit(columns: Array, classes: Index, count: int, penalty: float) -> Array:
    """Return coefficients (terms, atoms); class -1, no atom, is the last and has the logit 0."""
    hit = np.stack([classes == k for k in range(count)], axis=1)
    weights = np.full((columns.shape[1], count), penalty)
    weights[0] = 1e-6

    def objective(flat: Array) -> tuple[float, Array]:
        theta = flat.reshape(weights.shape)
        logits = np.column_stack([columns @ theta, np.zeros(len(columns))])
        total = logsumexp(logits, axis=1)
        slope = columns.T @ (np.exp(logits[:, :count] - total[:, None]) - hit) + weights * theta
        value = np.sum(total - logits[np.arange(classes.size), classes]) + 0.5 * np.sum(weights * theta * theta)
        return float(value), slope.reshape(-1)

    # Second derivatives at equal probabilities.
    chance = 1.0 / (count + 1)
    between = chance * (np.eye(count) - chance)
    curvature = np.kron(columns.T @ columns, between) + np.diag(weights.reshape(-1))
    return minimise(objective, np.zeros(weights.size), np.asarray(curvature, np.float64)).reshape(weights.shape)


def fit_occurrence(design: Design, chosen: Occurrence) -> tuple[dict[str, float], ...]:
    """Return the coefficients of the logit of each atom."""
    check_atoms(design)
    columns, centre, scale = design.columns(chosen.terms)
    count = len(design.pairs.atoms)
    theta = _fit(np.column_stack([np.ones(len(columns)), columns]), design.pairs.at_atom, count, chosen.penalty)
    raw = theta[1:] / scale[:, None]
    first = theta[0] - centre @ raw
    return tuple(
        {ONE: float(first[k])} | dict(zip(chosen.terms, map(float, raw[:, k]), strict=True)) for k in range(count)
    )


def choose_occurrence(
    design: Design, folds: Index, *, season: bool = True, say: Callable[[str], None] | None = None
) -> Occurrence:
    """Choose the terms and the penalty by cross-validation."""
    check_atoms(design)
    best = Occurrence()
    score = _cross_validated(design, best, folds)

    def consider(what: str, candidate: Occurrence) -> None:
        nonlocal best, score
        found = _cross_validated(design, candidate, folds)
        kept = found < score - _WORTH
        if say is not None:
            say(f"P(atom), {what}: {found:.4f} bits against {score:.4f}, {'kept' if kept else 'left out'}")
        if kept:
            best, score = candidate, found

    named = tuple(COVARIATE + name for name in design.pairs.covariates if name != "day_of_year")
    for name, terms in (_GROUPS | {"covariates": named}).items():
        dated = season and design.pairs.has_season and (name == "season" or "sin1" in best.terms)
        if terms and ("season" not in name or dated):
            consider(name, best._replace(terms=best.terms + terms))
    for penalty in _PENALTIES[1:]:
        consider(f"penalty {penalty:g}", best._replace(penalty=penalty))
    return best


def _cross_validated(design: Design, chosen: Occurrence, folds: Index) -> float:
    """Return the mean score in bits, each fold by a fit without it."""
    columns, classes, count = _design_matrix(design, chosen.terms), design.pairs.at_atom, len(design.pairs.atoms)
    out = np.empty(classes.size)
    for fold in np.unique(folds):
        rest = folds == fold
        theta = _fit(columns[~rest], classes[~rest], count, chosen.penalty)
        out[rest] = _scores(columns[rest], classes[rest], theta)
    return float(out.mean() / _LN2)
