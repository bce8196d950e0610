"""One computation at a time: visitors are threads of one process, which has only one list of warning filters."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from amortized_kde.errors import AmortizedKdeWarning

_TURN = threading.Lock()


@contextmanager
def in_turn(*, quiet: bool = False) -> Iterator[None]:
    """Wait until nobody else computes; with `quiet`, our own warnings are not shown meanwhile."""
    with _TURN, warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", AmortizedKdeWarning)
        yield
