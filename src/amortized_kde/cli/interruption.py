"""Ctrl-C: one line and exit status 130, wherever the signal arrives."""

import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

STATUS = 130
# Seconds until an interruption that was dropped is repeated.
_PAUSE = 0.1


def interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with an end for interruptions: a line with what they say about going on."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            with _repeating_what_is_dropped():
                command(*arguments, **options)
        except BaseException as error:
            found = find_interruption(error)
            if found is None:
                raise
            print(f"interrupted; {found}" if found.args else "interrupted.", file=sys.stderr)
            raise typer.Exit(STATUS) from None

    return run


def find_interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """Return the interruption behind an error, if there is one: an interrupted import can end as an ImportError."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


@contextmanager
def _repeating_what_is_dropped() -> Iterator[None]:
    """Repeat an interruption that arrived in a callback, such as that of a weak reference, where Python drops it."""
    usual = sys.unraisablehook

    def notice(dropped: Any) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            threading.Timer(_PAUSE, os.kill, (os.getpid(), signal.SIGINT)).start()
        else:
            usual(dropped)

    sys.unraisablehook = notice
    try:
        yield
    finally:
        sys.unraisablehook = usual
