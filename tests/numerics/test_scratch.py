"""Memory that is used again: of every thread its own, and valid until the same name is taken once more."""

import threading

import numpy as np

from amortized_kde.numerics.scratch import Scratch


def test_a_name_is_one_place_that_grows():
    scratch = Scratch()
    small = scratch.take("a", 2, 3)
    assert small.shape == (2, 3)
    assert small.flags.c_contiguous
    large = scratch.take("a", 100, 3)
    assert not np.shares_memory(small, large)
    assert np.shares_memory(large, scratch.take("a", 2, 3))
    assert not np.shares_memory(large, scratch.take("b", 100, 3))


def test_every_thread_has_its_own():
    scratch, found = Scratch(), {}

    def take(name: str) -> None:
        found[name] = scratch.take("a", 4)
        found[name][:] = len(name)

    threads = [threading.Thread(target=take, args=(name,)) for name in ("x", "xx", "xxx")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: row.tolist() for name, row in found.items()} == {n: [len(n)] * 4 for n in ("x", "xx", "xxx")}
