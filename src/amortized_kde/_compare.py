"""Methods side by side on one sample, judged by the score of observations that the fit did not see.

A leave-one-out score on the whole sample would favour ``lcv``, which maximises just that; here a method chooses its
smoothing in every fold anew.
"""

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Flags, Index
from amortized_kde.data.multivariate import check_in_box, has_columns, read_box, read_multivariate
from amortized_kde.data.reading import read_bounds, read_sample
from amortized_kde.data.sample import Sample
from amortized_kde.data.support import check_inside
from amortized_kde.density import KernelDensity, multivariate_plot, plotting
from amortized_kde.density.html import table_html
from amortized_kde.density.multivariate import MultivariateDensity
from amortized_kde.errors import (
    AmortizedKdeError,
    AmortizedKdeWarning,
    DegenerateSampleError,
    InvalidParameterError,
    MissingExtraError,
)
from amortized_kde.estimate import fit, selectors
from amortized_kde.numerics.floats import quiet
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.score import LN2, Mean, paired_difference
from amortized_kde.selection import find_selector
from amortized_kde.selection.multivariate import find_method

Density = KernelDensity | MultivariateDensity

FOLDS = 10

_HEADER = ("method", "bandwidth", "score", "s.e.", "to best ± s.e.", "modes")


@dataclass(frozen=True)
class ComparisonRow:
    """The result of one method; None where it has none, and then `failure` says why.

    Attributes
    ----------
    method : str
    bandwidth : float
        Of the fit on the whole sample, in data units; None for several variables.
    score : Mean
        Mean held-out score in bits, with its standard error.
    difference : Mean
        `score` minus that of the best method, paired by observation.
    modes : int
        Number of modes of the fit on the whole sample, as `KernelDensity.modes` reports them.
    failure : str
        Why there is no density or no score.
    note : str
        Warnings of the fits, with their counts.
    density : KernelDensity or MultivariateDensity
        The fit on the whole sample.
    """

    method: str
    bandwidth: float | None
    score: Mean | None
    difference: Mean | None
    modes: int | None
    failure: str | None
    note: str | None
    density: Any = field(default=None, repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the row as plain data, without the density."""
        return {
            "method": self.method,
            "bandwidth": self.bandwidth,
            "score": self.score and self.score.value,
            "standard_error": self.score and self.score.standard_error,
            "to_best": self.difference and self.difference.value,
            "to_best_standard_error": self.difference and self.difference.standard_error,
            "modes": self.modes,
            "failure": self.failure,
            "note": self.note,
        }

    def _cells(self, *, best: bool) -> tuple[str, ...]:
        score, difference = self.score, self.difference
        to_best = "-" if difference is None else f"{difference.value:+.4f} ± {difference.standard_error:.4f}"
        return (
            self.method,
            "-" if self.bandwidth is None else f"{self.bandwidth:.6g}",
            "-" if score is None else f"{score.value:.4f}",
            "-" if score is None else f"{score.standard_error:.4f}",
            "best" if best else to_best,
            "-" if self.modes is None else str(self.modes),
        )


@dataclass(frozen=True, repr=False)
class Comparison:
    """Methods compared on one sample, as `compare` returns it; iterating gives the rows.

    Attributes
    ----------
    rows : tuple of ComparisonRow
        Lowest score first; methods without a score last.
    folds : int
        Number of folds, at most the number of points.
    points : ndarray of shape (n,) or (n, d)
        The sample, ascending, without values of weight zero.
    names : tuple of str
        Names of the variables, if there are several.
    """

    rows: tuple[ComparisonRow, ...]
    folds: int
    points: Array = field(compare=False)
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ComparisonRow]:
        return iter(self.rows)

    @property
    def protocol(self) -> str:
        """How observations were held out: "10-fold held-out", or "leave-one-out"."""
        return f"{self.folds}-fold held-out" if self.folds < len(self.points) else "leave-one-out"

    @property
    def title(self) -> str:
        """What the scores are."""
        return f"{self.protocol} logarithmic score in bits; lower is better"

    @property
    def remarks(self) -> list[str]:
        """Failures and notes, one sentence each, beginning with the method."""
        texts = [(row.method, text) for row in self.rows for text in (row.failure, row.note) if text is not None]
        return [f"{method}: {text.removeprefix(f'{method}: ')}" for method, text in texts]

    def _table(self) -> list[tuple[str, ...]]:
        """The header and the rows, without the bandwidth if there are several variables."""
        rows = [row._cells(best=i == 0 and row.score is not None) for i, row in enumerate(self.rows)]
        return [(cells[0], *cells[2:]) if self.names else cells for cells in (_HEADER, *rows)]

    def __repr__(self) -> str:
        table = self._table()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = (
            "  ".join([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])]).rstrip() for cells in table
        )
        remarks = ["", *self.remarks] if self.remarks else []
        return "\n".join([self.title, "", *lines, *remarks])

    def _repr_html_(self) -> str:
        header, *rows = self._table()
        return table_html(self.title, header, rows, self.remarks)

    def to_frame(self) -> Any:
        """Return the rows as a pandas DataFrame.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        try:
            from pandas import DataFrame
        except ImportError:
            raise MissingExtraError("to_frame needs pandas; install it with: pip install pandas") from None
        return DataFrame([row.as_dict() for row in self.rows])

    def curves(self, count: int = 512) -> dict[str, tuple[Array, Array]]:
        """Return the curve of each method that has a density: a label, and arguments and density of shape (count,).

        Raises
        ------
        DegenerateSampleError
            If no method has a density.
        InvalidParameterError
            If the sample has several variables.
        """
        if self.points.ndim > 1:
            raise InvalidParameterError("densities of several variables have no curves; plot draws their contours.")
        curves = {}
        for row in self.rows:
            if row.density is not None:
                score = "" if row.score is None else f"\n{row.score.value:.4f} bits"
                grid = row.density.grid(count)
                curves[f"{row.method}, bandwidth {row.bandwidth:.4g}{score}"] = (grid, row.density.pdf(grid))
        if not curves:
            raise DegenerateSampleError(f"no method could fit this sample; the first error: {self.rows[0].failure}")
        return curves

    def plot(self, ax: Any = None, *, count: int = 512) -> Any:
        """Draw the density of every method that has one; of several variables, one panel for each with contours.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes for all curves together; default: a new pyplot figure with one panel per method.
        count : int
            Number of arguments of each curve.

        Returns
        -------
        matplotlib.axes.Axes
            `ax`, or the axes of the first panel.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        DegenerateSampleError
            If no method has a density.
        """
        if self.points.ndim > 1:
            densities = {row.method: row.density for row in self.rows if row.density is not None}
            return multivariate_plot.draw_panels(densities, self.names)
        curves = self.curves(count)
        bounds = next(row.density.bounds for row in self.rows if row.density is not None)
        if ax is None:
            make_figure = plotting.new_pyplot_figure
            return plotting.draw_comparison(
                curves, points=self.points, bounds=bounds, name="x", make_figure=make_figure
            )
        for label, (grid, density) in curves.items():
            ax.plot(grid, density, label=label.replace("\n", ", "))
        plotting.draw_ground(ax, self.points, bounds)
        ax.legend(frameon=False, fontsize=9)
        return ax


@quiet
def compare(
    x: Any,
    *,
    methods: Sequence[str] | None = None,
    bounds: Any = None,
    weights: ArrayLike | None = None,
    folds: int = FOLDS,
    rng: np.random.Generator | int = 0,
    threads: int | None = None,
) -> Comparison:
    r"""Compare methods on one sample by the score of held-out observations.

    .. math:: \frac1n \sum_{k} \sum_{i \in k} -\log_2 q_{-k}(x_i),

    where :math:`q_{-k}` is the density that a method estimates from all observations outside fold k; with weights, the
    weighted mean over the observations.

    Parameters
    ----------
    x : array_like of shape (n,) or (n, d), table, or sequence of d columns
        The sample, in data units, as in `fit`.
    methods : sequence of str, optional
        Names from `selectors()`; default: all of them, of which some take time of order n^2. For d variables from
        ``selectors(multivariate=True)``.
    bounds : (float or None, float or None), optional
        Hard limits of every density; for d variables as in `fit`.
    weights : array_like of shape (n,), optional
        Importance weights; observations of weight zero are dropped.
    folds : int
        Number of random folds, of sizes that differ by at most one; with n <= `folds`, one observation each.
    rng : numpy.random.Generator or int
        Generator or seed that assigns observations to folds. The order of `x` does not matter.
    threads : int, optional
        At most this many threads; default: all cores.

    Returns
    -------
    Comparison
        A table with one row per method, lowest score first. A method that fails has its row last, which says why.

    Raises
    ------
    InvalidSampleError, InvalidBoundsError, InvalidParameterError
        If the input cannot be used.

    Examples
    --------
    >>> compare([1, 2, 2.5, 3, 4, 7, 8, 8.5, 9, 12], methods=["silverman", "scott"])
    leave-one-out logarithmic score in bits; lower is better
    <BLANKLINE>
    method     bandwidth   score    s.e.    to best ± s.e.  modes
    scott        2.45839  4.1170  0.1910              best      1
    silverman    2.08732  4.1240  0.2471  +0.0070 ± 0.0587      2
    """
    if isinstance(folds, bool) or not isinstance(folds, (int, np.integer)) or folds < 2:
        raise InvalidParameterError(f"folds must be a whole number of at least 2, not {folds!r}.")
    several = has_columns(x)
    given = (methods,) if isinstance(methods, str) else selectors(multivariate=several) if methods is None else methods
    # Two names of one method are one row.
    names = tuple(dict.fromkeys((find_method(n) if several else find_selector(n, "density")).name for n in given))
    if not names:
        raise InvalidParameterError("methods is empty; name at least one.")
    sample, bounds, columns = (_read_columns if several else _read_one)(x, weights, bounds)
    n = len(sample.values)
    fold = np.random.default_rng(rng).permutation(n) % min(folds, n)
    rows = _rank([_judge(name, sample, fold, bounds, threads) for name in names], sample.weights)
    return Comparison(rows, min(int(folds), n), sample.values, columns)


def _read_one(x: Any, weights: ArrayLike | None, bounds: Any) -> tuple[Sample, Any, tuple[str, ...]]:
    sample = read_sample(x, weights=weights)
    check_inside(sample.values, read_bounds(bounds))
    # Equal weights give the same bits as none.
    return Sample(sample.values, sample.as_batch().weights), bounds, ()


def _read_columns(x: Any, weights: ArrayLike | None, bounds: Any) -> tuple[Sample, Any, tuple[str, ...]]:
    sample = read_multivariate(x, weights=weights)
    box = read_box(bounds, sample.names)
    check_in_box(sample.values, box, sample.names)
    return Sample(sample.values, sample.weights), list(box), sample.names


def _judge(method: str, sample: Sample, fold: Index, bounds: Any, threads: int | None) -> tuple[ComparisonRow, Array]:
    """Return a row without its difference, and the score of each observation (empty if there is none)."""
    # A single observation leaves nothing to fit.
    training = [_part(sample, fold != k) for k in range(int(fold.max()) + 1)] if len(sample.values) > 1 else []
    (whole, *parts), note = _fit_all([sample, *training], method, bounds, threads)
    scores = _scores(sample.values, fold, parts, threads)
    density = None if isinstance(whole, str) else whole
    row = ComparisonRow(
        method=method,
        bandwidth=density.bandwidth if isinstance(density, KernelDensity) else None,
        score=paired_difference(scores, np.zeros(scores.size), weights=sample.weights) if scores.size else None,
        difference=None,
        modes=None if density is None else len(density.modes()),
        failure=_failure(whole, parts),
        note=note,
        density=density,
    )
    return row, scores


def _part(sample: Sample, kept: Flags) -> Sample:
    return Sample(sample.values[kept], None if sample.weights is None else sample.weights[kept])


def _fit_all(
    samples: list[Sample], method: str, bounds: Any, threads: int | None
) -> tuple[list[Density | str], str | None]:
    """Return a density or an error message for each sample, and the warnings with their counts."""
    results: list[Density | str] = [""] * len(samples)

    def work(start: int, stop: int) -> None:
        for k in range(start, stop):
            try:
                part = samples[k]
                results[k] = fit(part.values, weights=part.weights, bounds=bounds, method=method, threads=1)
            except AmortizedKdeError as error:
                results[k] = str(error)

    # Recorded around all threads, not in each: the list of filters belongs to the process.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AmortizedKdeWarning)
        operations = sum(float(len(part.values)) ** 2 for part in samples)
        run_in_pieces(work, len(samples), operations=operations, threads=threads)
    counts = Counter(str(warning.message) for warning in caught if issubclass(warning.category, AmortizedKdeWarning))
    return results, " ".join(f"{text} ({count} of {len(samples)} fits)" for text, count in counts.items()) or None


def _scores(values: Array, fold: Index, parts: list[Density | str], threads: int | None) -> Array:
    """Return each observation's score under the density of its fold; empty if a fold has none."""
    scores = np.empty(len(values) if parts else 0)
    for k, density in enumerate(parts):
        if isinstance(density, str):
            return np.empty(0)
        scores[fold == k] = -density.logpdf(values[fold == k], threads=threads) / LN2
    return scores


def _failure(whole: Density | str, parts: list[Density | str]) -> str | None:
    if isinstance(whole, str):
        return whole
    failed = [part for part in parts if isinstance(part, str)]
    return f"in {len(failed)} of {len(parts)} folds: {failed[0]}" if failed else None


def _rank(results: list[tuple[ComparisonRow, Array]], weights: Array | None) -> tuple[ComparisonRow, ...]:
    """Sort by score and fill in the paired difference to the best."""
    means = [(row.score.value, row, scores) for row, scores in results if row.score is not None]
    scored = [(row, scores) for _, row, scores in sorted(means, key=lambda entry: entry[0])]
    ranked = [
        replace(row, difference=paired_difference(scores, scored[0][1], weights=weights)) for row, scores in scored
    ]
    return (*ranked, *(row for row, scores in results if not scores.size))
