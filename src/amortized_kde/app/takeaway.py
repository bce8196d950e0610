"""What can be taken away: code and commands that compute the same, and the numbers that they read.

Code reads ``numbers.csv``, ``columns.csv`` or ``members.csv``, which the page offers; few numbers stand in the code.
"""

import csv
import io
import shlex
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.app.curves import Limits
from amortized_kde.estimate import DEFAULT_METHOD

NUMBERS_FILE, MEMBERS_FILE, COLUMNS_FILE = "numbers.csv", "members.csv", "columns.csv"
# Numbers that still read well in a line of code.
_FEW = 12


def numbers_csv(values: Array, weights: Array | None = None) -> str:
    """Return the sample as CSV, with the header x, weights if there are any, and all digits.

    Examples
    --------
    >>> numbers_csv(np.array([0.1, 2.0]))
    'x\\n0.1\\n2.0\\n'
    """
    return rows_csv({"x": values} if weights is None else {"x": values, "weight": weights})


def python_lines(values: Array, *, bounds: Limits, method: str, factor: float, weights: Array | None = None) -> str:
    """Return Python code for the density shown.

    Examples
    --------
    >>> print(python_lines(np.array([1.0, 2.5]), bounds=(0.0, None), method="scott", factor=1.0))
    import amortized_kde as akde
    <BLANKLINE>
    x = [1.0, 2.5]
    d = akde.fit(x, bounds=(0.0, None), method="scott")
    grid = d.grid(512)
    density = d.pdf(grid)
    probability_below = d.cdf(grid)
    """
    few = values.size <= _FEW
    data = [f"x = {values.tolist()!r}"] if few else [f'x = np.loadtxt("{NUMBERS_FILE}", skiprows=1)']
    if weights is not None:
        read = f'x, w = np.loadtxt("{NUMBERS_FILE}", delimiter=",", skiprows=1, unpack=True)'
        data = [*data, f"w = {weights.tolist()!r}"] if few else [read]
    options = ["weights=w"] if weights is not None else []
    options += [f"bounds={bounds!r}"] if bounds != (None, None) else []
    options += [f'method="{method}"'] if method != DEFAULT_METHOD else []
    smoothed = f".smoothed({factor!r})" if factor != 1.0 else ""
    lines = [
        *([] if few else ["import numpy as np"]),
        "import amortized_kde as akde",
        "",
        *data,
        f"d = akde.fit({', '.join(['x', *options])}){smoothed}",
        "grid = d.grid(512)",
        "density = d.pdf(grid)",
        "probability_below = d.cdf(grid)",
    ]
    return "\n".join(lines)


def command_line(*, bounds: Limits, method: str, factor: float, weights: Array | None = None) -> str:
    """Return the command that computes the density shown from the file of numbers.

    Examples
    --------
    >>> command_line(bounds=(0.0, None), method="scott", factor=0.5)
    'amortized-kde fit numbers.csv --bounds 0.0 none --method scott --smooth 0.5 --out density.csv --plot density.png'
    """
    words = ["amortized-kde", "fit", NUMBERS_FILE]
    words += ["--column", "x", "--weights", "weight"] if weights is not None else []
    if bounds != (None, None):
        words += ["--bounds", *("none" if end is None else repr(end) for end in bounds)]
    words += ["--method", method] if method != DEFAULT_METHOD else []
    words += ["--smooth", repr(factor)] if factor != 1.0 else []
    return shlex.join([*words, "--out", "density.csv", "--plot", "density.png"])


def ensemble_lines(row: int, *, bounds: Limits, method: str, observed: bool) -> str:
    """Return Python code for the bandwidths and scores of all ensembles, and for the density of one, from row 1.

    Examples
    --------
    >>> print(ensemble_lines(3, bounds=(None, None), method="amortized", observed=False))
    import numpy as np
    import amortized_kde as akde
    <BLANKLINE>
    members = np.genfromtxt("members.csv", delimiter=",", skip_header=1)
    h = akde.bandwidth(members, axis=-1)
    d = akde.KernelDensity(members[2][~np.isnan(members[2])], h[2])
    grid = d.grid(512)
    density = d.pdf(grid)
    probability_below = d.cdf(grid)
    """
    k = row - 1
    limits = [f"bounds={bounds!r}"] if bounds != (None, None) else []
    chosen = [*limits, *([f'method="{method}"'] if method != DEFAULT_METHOD else [])]
    table = f'np.genfromtxt("{MEMBERS_FILE}", delimiter=",", skip_header=1)'
    lines = ["import numpy as np", "import amortized_kde as akde", ""]
    if observed:
        lines += [f"table = {table}", "members, observed = table[:, :-1], table[:, -1]"]
    else:
        lines += [f"members = {table}"]
    lines.append(f"h = akde.bandwidth({', '.join(['members', 'axis=-1', *chosen])})")
    if observed:
        given = ", ".join(["members", "observed", "bandwidth=h", *limits])
        lines += [f"scores = akde.ensembles.log_scores({given})", f"pit = akde.ensembles.pit({given})"]
    lines += [
        f"d = akde.KernelDensity({', '.join([f'members[{k}][~np.isnan(members[{k}])]', f'h[{k}]', *limits])})",
        "grid = d.grid(512)",
        "density = d.pdf(grid)",
        "probability_below = d.cdf(grid)",
    ]
    return "\n".join(lines)


def pair_lines(names: tuple[str, str], *, bounds: tuple[Limits, Limits], method: str) -> str:
    """Return Python code for the density of two columns.

    Examples
    --------
    >>> print(pair_lines(("a", "b"), bounds=((0.0, None), (None, None)), method="amortized"))
    import numpy as np
    import amortized_kde as akde
    <BLANKLINE>
    x, y = np.loadtxt("columns.csv", delimiter=",", skiprows=1, unpack=True)
    d = akde.fit({'a': x, 'b': y}, bounds=[(0.0, None), (None, None)])
    d.plot()
    x_alone, y_alone = d.marginal(0), d.marginal(1)
    """
    options = [f"bounds={list(bounds)!r}"] if any(end is not None for pair in bounds for end in pair) else []
    options += [f'method="{method}"'] if method != DEFAULT_METHOD else []
    lines = [
        "import numpy as np",
        "import amortized_kde as akde",
        "",
        f'x, y = np.loadtxt("{COLUMNS_FILE}", delimiter=",", skiprows=1, unpack=True)',
        f"d = akde.fit({', '.join([f'{{{names[0]!r}: x, {names[1]!r}: y}}', *options])})",
        "d.plot()",
        "x_alone, y_alone = d.marginal(0), d.marginal(1)",
    ]
    return "\n".join(lines)


def rows_csv(columns: dict[str, Any]) -> str:
    """Return columns as CSV, with all digits and empty cells for NaN."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    cells = ([None if x != x else x for x in np.asarray(column).tolist()] for column in columns.values())
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue()
