"""Work in a process of its own: the same results, and an end to what takes too long, too much, or is not wanted."""

import os
import sys
import threading
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from amortized_kde.app import work
from amortized_kde.app.comparing import fit_method
from amortized_kde.app.work import Worker
from amortized_kde.data.reading import read_sample
from amortized_kde.errors import InvalidBoundsError, InvalidSampleError

VALUES = np.sort(np.random.default_rng(1).normal(size=1000))


class Gone(BaseException):
    """What Streamlit raises when a visitor left."""


@pytest.fixture(scope="module")
def worker():
    made = Worker()
    yield made
    made.end()


def patient(seconds):
    pass


def running(process):
    return Path(f"/proc/{process.pid}").exists() if sys.platform.startswith("linux") else process.poll() is None


def test_results_are_those_of_this_process(worker):
    found = worker.run(partial(fit_method, read_sample(VALUES), "amortized", (None, None)), wait=patient)
    own = fit_method(read_sample(VALUES), "amortized", (None, None))
    # One process may have compiled loops, where the other computes in NumPy.
    np.testing.assert_allclose(found.density.pdf(VALUES), own.density.pdf(VALUES), rtol=1e-12)
    np.testing.assert_allclose(found.modes.places, own.modes.places, rtol=1e-9)


def test_errors_are_those_of_this_process_and_unforeseen_ones_have_no_text(worker):
    with pytest.raises(InvalidBoundsError, match="of 1000 values lie outside the bounds"):
        worker.run(partial(fit_method, read_sample(VALUES), "scott", (0.0, None)), wait=patient)
    with pytest.raises(RuntimeError, match=r"^ValueError$"):
        worker.run(partial(int, "secret"), wait=patient)
    assert worker.run(partial(abs, -1), wait=patient) == 1


def test_what_prints_does_not_disturb(worker):
    assert worker.run(partial(print, "hello"), wait=patient) is None
    assert worker.run(partial(abs, -2), wait=patient) == 2


def test_warnings_are_not_logged(capfd):
    own = Worker()
    own.run(partial(warnings.warn, "secret 4711"), wait=patient)
    own.end()
    assert "4711" not in "".join(capfd.readouterr())


def test_work_is_ended_when_the_visitor_is_gone(worker):
    worker.run(partial(abs, 1), wait=patient)
    process = worker._process

    def leave(seconds):
        raise Gone

    with pytest.raises(Gone):
        worker.run(partial(time.sleep, 600), wait=leave)
    assert not running(process)
    assert worker.run(partial(abs, -3), wait=patient) == 3


def test_time_is_limited(worker):
    with pytest.raises(InvalidSampleError, match="this takes more than 1 s, which is the limit of this page"):
        worker.run(partial(time.sleep, 600), wait=patient, seconds=1.0)
    assert worker.run(partial(abs, -4), wait=patient) == 4


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits the memory of a process")
def test_memory_is_limited(worker):
    with pytest.raises(InvalidSampleError, match="this needs more than 2 GB of memory"):
        worker.run(partial(bytearray, 4 * 2**30), wait=patient)
    assert worker.run(partial(len, bytes(2**20)), wait=patient) == 2**20


def test_a_process_that_dies_is_replaced(worker):
    with pytest.raises(InvalidSampleError, match="more than 2 GB of memory"):
        worker.run(partial(os._exit, 1), wait=patient)
    assert worker.run(partial(abs, -5), wait=patient) == 5


def test_small_work_passes_large_work_and_large_work_waits_its_turn(worker):
    worker.run(partial(abs, 1), wait=patient)
    go_on, waited, ended = threading.Event(), threading.Event(), []

    def wait_for_others(seconds):
        if go_on.is_set():
            raise Gone

    def large():
        with pytest.raises(Gone):
            worker.run(partial(time.sleep, 600), wait=wait_for_others)
        ended.append("large")

    def other():
        worker.run(partial(abs, 1), wait=lambda seconds: waited.set())
        ended.append("other")

    first = threading.Thread(target=large)
    first.start()
    while not worker._turn.locked():
        time.sleep(0.01)
    second = threading.Thread(target=other)
    second.start()
    assert waited.wait(timeout=30)
    # The page computes small samples itself, while the worker is busy.
    assert fit_method(read_sample(VALUES), "amortized", (None, None)).density is not None
    assert ended == []
    go_on.set()
    first.join(timeout=30)
    second.join(timeout=30)
    assert sorted(ended) == ["large", "other"]


def test_the_worker_ends_with_the_page(worker):
    worker.run(partial(abs, 1), wait=patient)
    process = worker._process
    process.stdin.close()
    process.wait(timeout=30)
    worker.end()
    assert worker.run(partial(abs, -6), wait=patient) == 6


def test_limits_are_larger_than_what_a_million_values_need(worker):
    values = np.sort(np.random.default_rng(1).normal(size=1_000_000))
    fitted = worker.run(
        partial(fit_method, read_sample(values), "amortized", (None, None)), wait=patient, seconds=600.0
    )
    assert fitted.failure is None
    assert values.size > work.SMALL_SAMPLE
