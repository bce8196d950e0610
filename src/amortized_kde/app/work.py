"""Large work in a process of its own, which can be ended, and has a limit of time and of memory.

Small samples are computed in the process of the page, so that they do not wait for large ones.
"""

import atexit
import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from amortized_kde.errors import AmortizedKdeError, InvalidSampleError

Result = TypeVar("Result")

# Samples of more values, and files of more bytes, are large.
SMALL_SAMPLE, SMALL_FILE = 20_000, 2_000_000
# Limits of one piece of work. A million values take some ten seconds and half a gigabyte.
MOST_SECONDS = 120.0
_MOST_BYTES = 2 * 2**30
# Seconds between looking whether the visitor is still there.
_POLL = 0.25
# The server and small samples come first.
_NICE = 3


class Worker:
    """A process that does one piece of work at a time; it is started when first needed, and again if it was ended."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.end)

    def run(
        self, work: Callable[[], Result], *, wait: Callable[[float], None], seconds: float = MOST_SECONDS
    ) -> Result:
        """Return what `work` returns, or raise what it raises.

        Parameters
        ----------
        work : callable
            A function of a module, or a `functools.partial` of one; sent by pickle, as its result is.
        wait : callable
            Called a few times a second with the seconds since the beginning. If it raises, the work is ended.
        seconds : float
            Time limit, without the time in which others had their turn.

        Raises
        ------
        InvalidSampleError
            If the work needs more time or memory than allowed.
        """
        began = time.monotonic()
        while not self._turn.acquire(timeout=_POLL):
            wait(time.monotonic() - began)
        try:
            return self._run(work, lambda: wait(time.monotonic() - began), time.monotonic() + seconds, seconds)
        except AmortizedKdeError:
            raise
        except BaseException:
            # The visitor left or wants something else, or the worker is in an unknown state.
            self.end()
            raise
        finally:
            self._turn.release()

    def _run(self, work: Callable[[], Result], wait: Callable[[], None], end: float, seconds: float) -> Result:
        replies: queue.Queue[Any] = queue.Queue(1)
        process = self.start()
        threading.Thread(target=_exchange, args=(process, work, replies), daemon=True).start()
        while True:
            try:
                reply = replies.get(timeout=_POLL)
                break
            except queue.Empty:
                wait()
            if time.monotonic() > end:
                self.end()
                raise InvalidSampleError(
                    f"this takes more than {seconds:.0f} s, which is the limit of this page; use fewer values, or the "
                    "library."
                )
        if reply is None:
            self.end()
            raise InvalidSampleError(_TOO_LARGE)
        if isinstance(reply[1], Exception):
            raise reply[1]
        result: Result = reply[0]
        return result

    def start(self) -> "subprocess.Popen[bytes]":
        """Start the process, if there is none; return it."""
        if self._process is None:
            self._process = _start()
        return self._process

    def end(self) -> None:
        """End the process, whatever it does."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with contextlib.suppress(OSError):
                    pipe.close()


# The page's one worker: visitors with large samples take turns.
WORKER = Worker()

_TOO_LARGE = (
    f"this needs more than {_MOST_BYTES // 2**30} GB of memory, which is the limit of this page; use fewer values, or "
    "the library."
)


def _start() -> "subprocess.Popen[bytes]":
    # The same sources as here, wherever they were imported from.
    sources = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (sources, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-m", "amortized_kde.app.work"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )


def _exchange(process: "subprocess.Popen[bytes]", work: Any, replies: "queue.Queue[Any]") -> None:
    """Send a piece of work and receive the reply, None if the process ends without one."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        pickle.dump(work, process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
        process.stdin.flush()
        replies.put(pickle.load(process.stdout))
    except (EOFError, OSError, ValueError, pickle.UnpicklingError):
        replies.put(None)


def _serve() -> None:
    """Do what comes in, one after the other, until the page ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Warnings of other libraries quote cells and names, which no log may show.
    warnings.simplefilter("ignore")
    # Whatever prints must not disturb the replies.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import amortized_kde.app.comparing  # noqa: F401

    _set_limits()
    while True:
        try:
            work = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        reply = _outcome(work)
        pickle.dump(reply, replies, protocol=pickle.HIGHEST_PROTOCOL)
        replies.flush()


def _outcome(work: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return work(), None
    except AmortizedKdeError as error:
        return None, error
    except MemoryError:
        return None, InvalidSampleError(_TOO_LARGE)
    except Exception as error:
        # Without its text, which can contain the visitor's numbers.
        return None, RuntimeError(type(error).__name__)


def _set_limits() -> None:
    """Limit the memory beyond what Python and the libraries have, where the system can; and stand back for others."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    os.nice(_NICE)
    now = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + _MOST_BYTES, now + _MOST_BYTES))


if __name__ == "__main__":
    _serve()
