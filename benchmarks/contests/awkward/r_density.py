"""R's own `density`: a sample and points enter, log-densities leave. One process a sample."""

import math
import re
import shutil
import subprocess
from functools import cache
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.errors import MissingExtraError

# On R's own grid; where the points reach beyond it, on a longer one with the same steps.
_SCRIPT = """
y <- scan(file("stdin"), quiet = TRUE)
x <- %s
d <- density(x, bw = "SJ")
step <- d$x[2] - d$x[1]
ends <- c(min(d$x[1], y), max(d$x[512], y))
nodes <- round(diff(ends) / step) + 1
if (nodes > 512 && nodes < 1e6) d <- density(x, bw = "SJ", from = ends[1], to = ends[2], n = nodes)
at <- suppressWarnings(approx(d$x, d$y, xout = y, yleft = 0, yright = 0)$y)
cat(sprintf("%%.17g", log(at)), sep = "\\n")
"""


class RError(Exception):
    """What R stopped with."""


@cache
def r_version() -> str | None:
    """The version of R, None if it is not here."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        return None
    asked = 'cat(paste(R.version$major, R.version$minor, sep = "."))'
    return subprocess.run([rscript, "-e", asked], capture_output=True, text=True).stdout or None


def ask_r(sample: Any, _: Any, points: Array) -> Array:
    """Give log-densities of R's estimate with Sheather and Jones's bandwidth.

    Raises
    ------
    RError
        With R's message, if R stops.
    MissingExtraError
        If there is no R.
    """
    rscript = shutil.which("Rscript")
    if rscript is None:
        raise MissingExtraError("density needs R; install it, or leave it out.")
    numbers = " ".join(repr(float(value)) for value in points)
    done = subprocess.run([rscript, "-e", _SCRIPT % write_r(sample)], input=numbers, capture_output=True, text=True)
    if done.returncode != 0:
        raise RError(re.sub(r"\s*(Calls:.*)?Execution halted\s*$", "", done.stderr, flags=re.DOTALL).strip())
    return np.array([_read(word) for word in done.stdout.split()])


def _read(word: str) -> float:
    return math.nan if word == "NA" else float(word)


def write_r(sample: Any) -> str:
    """Write an array as R's source.

    Examples
    --------
    >>> write_r(np.array([1.5, np.nan, np.inf]))
    'c(1.5, NaN, Inf)'
    >>> write_r(np.array([np.float64(1.0), None], dtype=object))
    'c(1.0, NA)'
    >>> write_r(np.zeros((1, 2)))
    'matrix(c(0.0, 0.0), nrow = 1, byrow = TRUE)'
    """
    array = np.asarray(sample)
    entries = ", ".join(_write_entry(entry) for entry in array.ravel().tolist())
    if array.ndim == 2:
        return f"matrix(c({entries}), nrow = {array.shape[0]}, byrow = TRUE)"
    return f"c({entries})" if array.size else "numeric(0)"


def _write_entry(entry: Any) -> str:
    if entry is None:
        return "NA"
    if isinstance(entry, str):
        return f'"{entry}"'
    # An array of objects may hold NumPy's numbers, whose repr is not a number in R.
    value, special = float(entry), {math.inf: "Inf", -math.inf: "-Inf"}
    return "NaN" if math.isnan(value) else special.get(value, repr(value))
