import threading

import numpy as np
import pytest

from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.threads import Scratch, available_threads, run_in_pieces


@pytest.mark.parametrize("count", [0, 1, 2, 7, 16, 17, 1000])
@pytest.mark.parametrize("threads", [None, 1, 2, 5])
@pytest.mark.parametrize("operations", [0.0, 1e9])
def test_pieces_cover_the_range_once(count, threads, operations):
    done = []
    run_in_pieces(lambda i, j: done.extend(range(i, j)), count, operations=operations, threads=threads)
    assert sorted(done) == list(range(count))


def test_large_work_is_shared_and_small_work_is_not():
    def workers(operations, threads, parties):
        # Every piece waits until so many threads have come, so none of them can do all the work.
        together, names = threading.Barrier(parties, timeout=20), set()

        def work(i, j):
            if threading.get_ident() not in names:
                names.add(threading.get_ident())
                together.wait()

        run_in_pieces(work, 1000, operations=operations, threads=threads)
        return names

    assert len(workers(1e9, 2, 2)) == 2
    assert workers(1e9, 1, 1) == workers(1e4, 2, 1) == {threading.get_ident()}


def test_an_error_in_a_piece_reaches_the_caller():
    def work(i, j):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_in_pieces(work, 100, operations=1e9, threads=2)


@pytest.mark.parametrize("threads", [1, 2])
def test_after_an_interruption_no_piece_is_begun(threads):
    begun = []

    def work(i, j):
        begun.append(i)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in_pieces(work, 10_000, operations=1e12, threads=threads)
    assert len(begun) <= threads


@pytest.mark.parametrize("threads", [1, 3])
def test_no_piece_takes_much_longer_than_a_second(threads):
    sizes = []
    run_in_pieces(lambda i, j: sizes.append(j - i), 100_000, operations=1e12, threads=threads)
    assert max(sizes) <= 100


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two", True, [2]])
def test_bad_limits(threads):
    with pytest.raises(InvalidParameterError, match="threads must be a whole number of at least 1"):
        available_threads(threads)


def test_numba_num_threads_lowers_the_number(monkeypatch):
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    cores = available_threads()
    assert cores >= 1
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    assert available_threads() == 1
    # A limit that is given counts more, and more threads than cores are never taken by default.
    assert available_threads(3) == available_threads(np.int64(3)) == 3
    for setting in ("1000", "", "many", "0"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", setting)
        assert available_threads() == cores


def test_scratch_of_one_name_grows_in_place():
    scratch = Scratch()
    small = scratch.take("a", 2, 3)
    assert small.shape == (2, 3)
    assert small.flags.c_contiguous
    large = scratch.take("a", 100, 3)
    assert not np.shares_memory(small, large)
    assert np.shares_memory(large, scratch.take("a", 2, 3))
    assert not np.shares_memory(large, scratch.take("b", 100, 3))


def test_every_thread_has_its_own_scratch():
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
