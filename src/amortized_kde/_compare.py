"""Which selector does best on one sample: scores of observations that the fit did not see.

A sample and names of selectors enter, one row of results a selector leaves. In each fold a selector sees only the
training part, and the observations left out are scored under the density it chose; a leave-one-out score on the whole
sample would favour ``lcv``, which maximises just that.
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from amortized_kde._types import Array, Index
from amortized_kde.data.reading import read_bounds, read_sample
from amortized_kde.data.sample import Sample
from amortized_kde.data.support import check_inside
from amortized_kde.density import KernelDensity
from amortized_kde.errors import AmortizedKdeError, AmortizedKdeWarning, InvalidParameterError
from amortized_kde.estimate import fit
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.score import LN2, Mean, paired_difference
from amortized_kde.selection import find_selector

Limits = Sequence[float | None] | None

FOLDS = 10
# A mode counts if it rises by 2 % of the highest one above its surroundings: the paper's diagnostic (note to Table 2).
PROMINENCE = 0.02


@dataclass(frozen=True)
class HeldOutScore:
    """What one selector did on one sample; None where it had no answer, and then `failure` says why.

    `bandwidth`, `modes` (how many) and `density` belong to the fit on the whole sample. `score` is the mean over all
    observations, in bits, each scored in the fold that left it out; `difference` is that mean minus the best row's,
    paired by observation. `note` tells of documented fallbacks.
    """

    method: str
    bandwidth: float | None
    score: Mean | None
    difference: Mean | None
    modes: int | None
    failure: str | None
    note: str | None
    density: KernelDensity | None = field(default=None, repr=False, compare=False)


def held_out_scores(
    x: ArrayLike,
    methods: Sequence[str],
    *,
    bounds: Sequence[float | None] | None = None,
    weights: ArrayLike | None = None,
    folds: int = FOLDS,
    rng: np.random.Generator | int = 0,
    threads: int | None = None,
) -> list[HeldOutScore]:
    r"""Compare selectors on one sample by the score of held-out observations, best first.

    .. math:: \frac1n \sum_{k} \sum_{i \in k} -\log_2 q_{-k}(x_i),

    with q_-k the density that the selector makes of all observations outside fold k. With weights it is the weighted
    mean over the observations.

    Parameters
    ----------
    x : array_like of shape (n,)
        The sample, in data units.
    methods : sequence of str
        Names from `selectors()`.
    bounds : (float or None, float or None), optional
        Hard limits of every density.
    weights : array_like of shape (n,), optional
        Importance weights; observations of weight zero are left out.
    folds : int
        Number of random folds, of sizes that differ by one at most; with fewer than so many observations each is a
        fold of its own.
    rng : numpy.random.Generator or int
        What deals the observations out; the same seed gives the same folds, in whatever order `x` is.
    threads : int, optional
        At most so many threads; by default all cores.

    Returns
    -------
    list of HeldOutScore
        Lowest score first; methods without one last. A method that fails never spoils the others.

    Raises
    ------
    InvalidSampleError, InvalidBoundsError, InvalidParameterError
        For input that cannot be used; the sentence says why.

    Examples
    --------
    >>> rows = held_out_scores([1, 2, 2.5, 3, 4, 7, 8, 8.5, 9, 12], ["silverman", "scott"])
    >>> [(row.method, round(row.score.value, 3), row.modes) for row in rows]
    [('scott', 4.117, 1), ('silverman', 4.124, 2)]
    """
    if isinstance(folds, bool) or not isinstance(folds, (int, np.integer)) or folds < 2:
        raise InvalidParameterError(f"folds must be a whole number of at least 2, not {folds!r}.")
    names = tuple(dict.fromkeys(methods))
    if not names:
        raise InvalidParameterError("there is nothing to compare; name at least one method.")
    for name in names:
        find_selector(name)
    sample = read_sample(x, weights=weights)
    # Equal weights take the path of none.
    sample = Sample(sample.values, sample.as_batch().weights)
    check_inside(sample.values, read_bounds(bounds))
    fold = np.random.default_rng(rng).permutation(sample.values.size) % min(folds, sample.values.size)
    return _rank([_judge(name, sample, fold, bounds, threads) for name in names], sample.weights)


def _judge(method: str, sample: Sample, fold: Index, bounds: Limits, threads: int | None) -> tuple[HeldOutScore, Array]:
    """One row, not yet compared, and the score of each observation (empty if there is none)."""
    # A single observation leaves nothing to fit on.
    training = [_part(sample, fold != k) for k in range(int(fold.max()) + 1)] if sample.values.size > 1 else []
    (whole, *parts), note = _fit_all([sample, *training], method, bounds, threads)
    scores = _scores(sample.values, fold, parts, threads)
    density = whole if isinstance(whole, KernelDensity) else None
    row = HeldOutScore(
        method=method,
        bandwidth=None if density is None else density.bandwidth,
        score=paired_difference(scores, np.zeros(scores.size), weights=sample.weights) if scores.size else None,
        difference=None,
        modes=None if density is None else density.modes(prominence=PROMINENCE).size,
        failure=_failure(whole, parts),
        note=note,
        density=density,
    )
    return row, scores


def _part(sample: Sample, kept: NDArray[np.bool_]) -> Sample:
    return Sample(sample.values[kept], None if sample.weights is None else sample.weights[kept])


def _fit_all(
    samples: list[Sample], method: str, bounds: Limits, threads: int | None
) -> tuple[list[KernelDensity | str], str | None]:
    """A density or a sentence of failure for each, and what warnings there were and how often."""
    found: list[KernelDensity | str] = [""] * len(samples)

    def work(start: int, stop: int) -> None:
        for k in range(start, stop):
            try:
                part = samples[k]
                found[k] = fit(part.values, weights=part.weights, bounds=bounds, method=method, threads=1)
            except AmortizedKdeError as error:
                found[k] = str(error)

    # Recorded around all threads, not in each: the list of filters belongs to the process.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AmortizedKdeWarning)
        operations = sum(float(part.values.size) ** 2 for part in samples)
        run_in_pieces(work, len(samples), operations=operations, threads=threads)
    told = Counter(str(warning.message) for warning in caught if issubclass(warning.category, AmortizedKdeWarning))
    return found, " ".join(f"{text} ({count} of {len(samples)} fits)" for text, count in told.items()) or None


def _scores(values: Array, fold: Index, parts: list[KernelDensity | str], threads: int | None) -> Array:
    """Each observation's score under the density of its fold; empty if a fold has none."""
    scores = np.empty(values.size if parts else 0)
    for k, density in enumerate(parts):
        if isinstance(density, str):
            return np.empty(0)
        scores[fold == k] = -density.logpdf(values[fold == k], threads=threads) / LN2
    return scores


def _failure(whole: KernelDensity | str, parts: list[KernelDensity | str]) -> str | None:
    if isinstance(whole, str):
        return whole
    failed = [part for part in parts if isinstance(part, str)]
    return f"in {len(failed)} of {len(parts)} folds: {failed[0]}" if failed else None


def _rank(results: list[tuple[HeldOutScore, Array]], weights: Array | None) -> list[HeldOutScore]:
    """Best first, with the paired difference of every score to the best."""
    means = [(row.score.value, row, scores) for row, scores in results if row.score is not None]
    scored = [(row, scores) for _, row, scores in sorted(means, key=lambda entry: entry[0])]
    ranked = [
        replace(row, difference=paired_difference(scores, scored[0][1], weights=weights)) for row, scores in scored
    ]
    return ranked + [row for row, scores in results if not scores.size]
