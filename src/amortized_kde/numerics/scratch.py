"""Memory that loops over many runs of rows use again: names and shapes enter, arrays leave.

New memory costs a page fault every 4096 bytes, which the features of many small samples would pay again and again, most
of all where a process is told to give memory back at once, as dask tells its workers.
"""

import math
import threading

import numpy as np
from numpy.typing import NDArray


class Scratch(threading.local):
    """Arrays of float64 by name, of every thread its own.

    Examples
    --------
    >>> scratch = Scratch()
    >>> first = scratch.take("points", 3, 2)
    >>> np.shares_memory(first, scratch.take("points", 2, 2)), np.shares_memory(first, scratch.take("x", 6))
    (True, False)
    """

    def __init__(self) -> None:
        self._kept: dict[str, NDArray[np.float64]] = {}

    def take(self, name: str, *shape: int) -> NDArray[np.float64]:
        """Give an array with anything in it, which is valid until this thread takes one of the same name again."""
        size = math.prod(shape)
        kept = self._kept.get(name)
        if kept is None or kept.size < size:
            # Somewhat more, for the next run may be a little larger.
            kept = self._kept[name] = np.empty(size + size // 8)
        return kept[:size].reshape(shape)
