"""Where people use it: threads, forks, workers, limits, fresh processes."""

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde.ensembles import log_densities
from amortized_kde.errors import InvalidParameterError

METHODS = [name for name in akde.selectors() if not name.startswith("amortized")]
X = np.random.default_rng(1).gamma(2.0, 1.0, (40, 60))
Y = np.linspace(0.0, 10.0, 4000)


def work(seed):
    """A little of everything, large enough that threads of our own are used inside."""
    x = X + 0.01 * seed
    d = akde.fit(x[seed % 40], bounds=(0, None), method="silverman")
    return np.concatenate(
        [
            *(akde.bandwidth(x, method=method, axis=-1) for method in METHODS),
            d.logpdf(Y), d.cdf(Y), d.ppf(np.linspace(0.01, 0.99, 2000)), d.sample(10, rng=seed),
            log_densities(x, np.full(40, 0.3), Y[:200]).ravel(),
        ]
    )  # fmt: skip


def little_work():
    """What a first use compiles."""
    d = akde.fit(X[3], bounds=(0, None), method="sheather-jones")
    h = akde.bandwidth(X, method="sheather-jones", axis=-1)
    return np.concatenate([h, d.logpdf(Y), d.cdf(Y)])


@pytest.fixture(scope="module")
def serial():
    return [work(seed) for seed in range(8)]


def test_eight_threads_at_once(serial):
    together = threading.Barrier(8)

    def start(seed):
        together.wait()
        return work(seed)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(start, range(8)))
    assert all(np.array_equal(a, b) for a, b in zip(results, serial, strict=True))


def test_one_density_shared_by_eight_threads():
    d = akde.KernelDensity(X[0], bandwidth=0.3, bounds=(0, None))
    expected = akde.KernelDensity(X[0], bandwidth=0.3, bounds=(0, None)).cdf(Y)
    with ThreadPoolExecutor(8) as pool:
        assert all(np.array_equal(found, expected) for found in pool.map(lambda _: d.cdf(Y), range(16)))


FIRST = """
import sys, threading
import numpy as np
sys.path.insert(0, sys.argv[1])
import test_concurrency as tests
together, results = threading.Barrier(8), {}
def start(seed):
    together.wait()
    results[seed] = tests.work(seed)
threads = [threading.Thread(target=start, args=(seed,)) for seed in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
np.save(sys.argv[2], np.array([results[seed] for seed in range(8)]))
"""


def test_eight_threads_at_the_very_first_use(serial, tmp_path):
    path = tmp_path / "results.npy"
    subprocess.run([sys.executable, "-c", FIRST, os.path.dirname(__file__), str(path)], check=True, timeout=100)
    # There small samples may be computed in NumPy, which differs in the last bits.
    np.testing.assert_allclose(np.load(path), serial, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_fork_after_first_use(serial):
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        results = pool.map_async(work, range(4)).get(timeout=100)
    assert all(np.array_equal(a, b) for a, b in zip(results, serial, strict=False))


def test_joblib_workers():
    # Worker processes import what they need by name, so they are given library functions only.
    found = joblib.Parallel(n_jobs=2, backend="loky")(
        joblib.delayed(akde.bandwidth)(X, method=method, axis=-1) for method in METHODS
    )
    expected = [akde.bandwidth(X, method=method, axis=-1) for method in METHODS]
    assert np.array_equal(found, expected)
    densities = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(akde.fit)(x) for x in X[:4])
    for d, x in zip(densities, X, strict=False):
        # One of them may have been computed in NumPy.
        np.testing.assert_allclose(d.logpdf(Y), akde.fit(x).logpdf(Y), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("threads", [2, 7])
def test_the_number_of_threads_changes_no_bit(threads):
    d = akde.KernelDensity(X.ravel(), bandwidth=0.2, bounds=(0, None))
    for method in METHODS:
        one = akde.bandwidth(X, method=method, axis=-1, threads=1)
        assert np.array_equal(akde.bandwidth(X, method=method, axis=-1, threads=threads), one)
    for act in (d.logpdf, d.cdf, d.logsf):
        assert np.array_equal(act(Y[::10], threads=threads), act(Y[::10], threads=1))
    p = np.linspace(0.0, 1.0, 100)
    assert np.array_equal(d.ppf(p, threads=threads), d.ppf(p, threads=1))
    h = np.full(40, 0.3)
    assert np.array_equal(log_densities(X, h, Y, threads=threads), log_densities(X, h, Y, threads=1))


@pytest.mark.parametrize("threads", [0, -1, "two", 1.5, True])
def test_bad_limits(threads):
    d = akde.KernelDensity(X[0], bandwidth=0.3)
    acts = [
        lambda: akde.bandwidth(X[0], threads=threads),
        lambda: akde.bandwidth(X, axis=-1, threads=threads),
        lambda: akde.fit(X[0], threads=threads),
        lambda: d.logpdf(1.0, threads=threads),
        lambda: d.ppf(0.5, threads=threads),
        lambda: log_densities(X, np.ones(40), [1.0], threads=threads),
    ]
    for act in acts:
        with pytest.raises(InvalidParameterError, match="threads must be a whole number of at least 1"):
            act()


def test_numba_num_threads_is_a_limit(monkeypatch):
    used = []
    monkeypatch.setattr(
        "amortized_kde.numerics.threads.ThreadPoolExecutor",
        lambda max_workers: used.append(max_workers) or ThreadPoolExecutor(max_workers),
    )
    d = akde.KernelDensity(X.ravel(), bandwidth=0.2)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    d.logpdf(Y)
    assert used == []
    d.logpdf(Y, threads=3)
    assert used == [3]
    monkeypatch.delenv("NUMBA_NUM_THREADS")
    d.logpdf(Y)
    assert used[1:] in ([], [len(os.sched_getaffinity(0))])


FRESH = """
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import test_concurrency as tests
np.save(sys.argv[2], tests.little_work())
"""


def test_two_fresh_processes_give_the_same_bits(tmp_path):
    # The first compiles into an empty cache, the second loads from it.
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    results = []
    for name in ("cold.npy", "warm.npy"):
        command = [sys.executable, "-c", FRESH, os.path.dirname(__file__), str(tmp_path / name)]
        subprocess.run(command, check=True, env=environment, timeout=150)
        results.append(np.load(tmp_path / name))
        assert list((tmp_path / "cache").rglob("*.nbc"))
    assert np.array_equal(results[0], results[1])
    # Here loops are loaded already, which a fresh process does not do for one small sample.
    np.testing.assert_allclose(results[0], little_work(), rtol=1e-12, atol=1e-12)
