"""Paired comparisons on several cells of replicates: scores enter, means, standard errors and verdicts leave.

A cell is a density, a column of data, a size; every cell counts the same. A method is no worse than another if the mean
of its scores minus the other's, on the same samples, is at most two standard errors above zero.
"""

import math
from collections.abc import Sequence

import numpy as np

from amortized_kde._types import Array
from amortized_kde.score import Mean

_ERRORS = 2.0


def mean_of_cells(cells: Sequence[Array] | Array) -> Mean:
    r"""Give the mean of the cells' means, and its standard error from the spread inside the cells.

    .. math:: \frac1K \sum_k \bar v_k, \qquad \frac1K \Big(\sum_k s_k^2 / R_k\Big)^{1/2}.

    Examples
    --------
    >>> mean_of_cells([np.array([1.0, 3.0]), np.array([4.0, 4.0])])
    Mean(value=3.0, standard_error=0.5, count=4)
    """
    means = [float(np.mean(cell)) for cell in cells]
    variances = [float(np.var(cell, ddof=1)) / cell.size if cell.size > 1 else math.nan for cell in cells]
    return Mean(
        math.fsum(means) / len(cells), math.sqrt(math.fsum(variances)) / len(cells), sum(cell.size for cell in cells)
    )


def verdict(difference: Mean) -> str:
    """Say in one word what a mean difference of scores, method minus rival, tells of the method.

    Examples
    --------
    >>> [verdict(Mean(value, 0.1, 50)) for value in (-0.3, -0.1, 0.1, 0.3)]
    ['better', 'no worse', 'no worse', 'worse']
    """
    within = _ERRORS * difference.standard_error
    if difference.value < -within:
        return "better"
    return "no worse" if difference.value <= within else "worse"
