"""One small sample is computed without the compiler, and much work with it."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde.numerics import workload
from amortized_kde.numerics.jit import Loop, entry, in_numpy
from amortized_kde.numerics.workload import SMALL, is_small, one_sample

METHODS = [method for method in akde.selectors() if method != "amortized"]


@entry
def twice(x):
    return 2.0 * x


@in_numpy(twice)
def _twice(x):
    return -2.0 * x


@pytest.fixture
def loop(monkeypatch):
    """A loop that this process has not loaded; its NumPy version has the other sign, to tell them apart."""
    monkeypatch.setattr(workload, "_work", type(workload._work)())
    fresh = Loop(twice.function, lambda function: function)
    in_numpy(fresh)(_twice)
    return fresh


@pytest.mark.parametrize(("n", "expected"), [(1, -2.0), (SMALL, -2.0), (SMALL + 1, 2.0)])
def test_the_size_of_the_sample_decides(loop, n, expected):
    with one_sample(n):
        assert loop(1.0) == expected


def test_a_loop_that_is_loaded_is_used(loop):
    assert loop(1.0) == 2.0
    with one_sample(10):
        assert loop(1.0) == 2.0


def test_many_small_samples_are_much_work(loop):
    loop._is_cached = False
    found = []
    for _ in range(300):
        with one_sample(SMALL):
            found.append(loop(1.0))
    assert found == sorted(found)
    assert found.count(-2.0) * SMALL == workload._COMPILED_FROM


def test_what_is_on_disk_is_loaded_sooner(loop):
    loop._is_cached = True
    found = []
    for _ in range(300):
        with one_sample(SMALL):
            found.append(loop(1.0))
    assert found.count(-2.0) * SMALL == workload._LOADED_FROM


def test_only_this_thread_and_only_inside():
    other = []
    with one_sample(3):
        assert is_small()
        thread = threading.Thread(target=lambda: other.append(is_small()))
        thread.start()
        thread.join()
        with one_sample(SMALL + 1):
            assert not is_small()
        assert is_small()
    assert (is_small(), other) == (False, [False])


ONE_SMALL_SAMPLE = """
import sys, numpy as np, amortized_kde as akde
x, w = np.random.default_rng(0).gamma(2.0, size=(2, {n}))
for weights in (None, w):
    if weights is None or {method!r} != "sheather-jones-r":
        akde.bandwidth(x, method={method!r}, weights=weights)
        akde.fit(x, method={method!r}, weights=weights, bounds=(0, None))
print("numba" in sys.modules, "llvmlite" in sys.modules)
"""


@pytest.mark.parametrize("method", METHODS)
def test_one_small_sample_imports_no_compiler(method, tmp_path):
    code = ONE_SMALL_SAMPLE.format(n=120, method=method)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(akde.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, "False False\n"), done.stderr
    assert not list(tmp_path.iterdir())


@pytest.fixture
def in_numpy_only(monkeypatch):
    """Loops run in NumPy wherever they may."""
    monkeypatch.setattr(Loop, "_loaded", property(lambda self: None, lambda self, loop: None))
    monkeypatch.setattr(workload, "_LOADED_FROM", np.inf)
    monkeypatch.setattr(workload, "_COMPILED_FROM", np.inf)


# Ends of what one sample can be: spread over decades, tied, tiny, huge, far from 0.
SAMPLES = {
    "two values": np.array([1.0, 2.0]),
    "nearly constant": np.append(np.ones(30), 1.0 + 1e-12),
    "decades": 10.0 ** np.linspace(-150.0, 150.0, 61),
    "tiny": 1e-310 * np.arange(1.0, 40.0),
    "huge": 1e300 * np.linspace(-1.0, 1.0, 30),
    "far from 0": 1e9 + np.random.default_rng(0).normal(size=50),
    "one outlier": np.append(np.random.default_rng(1).normal(size=40), 1e12),
    "rounded": np.round(np.random.default_rng(2).normal(size=200), 1),
}


def answer(method, x, **options):
    """The bandwidth, or the name of the error."""
    try:
        return akde.bandwidth(x, method=method, **options)
    except akde.errors.AmortizedKdeError as error:
        return type(error).__name__


@pytest.mark.filterwarnings("ignore::amortized_kde.errors.AmortizedKdeWarning")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SAMPLES)
def test_awkward_samples_have_the_same_answers_in_numpy(name, method, in_numpy_only):
    x = SAMPLES[name]
    bounds = [None, (x.min(), None)]
    found = [answer(method, x, bounds=limits) for limits in bounds]
    weighted = method != "sheather-jones-r"
    weights = np.random.default_rng(3).gamma(1.0, size=x.size)
    found += [answer(method, x, weights=weights)] if weighted else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("amortized_kde.numerics.jit.is_small", lambda: False)
        expected = [answer(method, x, bounds=limits) for limits in bounds]
        expected += [answer(method, x, weights=weights)] if weighted else []
    # The mean has the rounding of the largest value.
    tolerance = max(1e-11, 1e-15 * np.abs(x / np.ptp(x)).max())
    for one, other in zip(found, expected, strict=True):
        assert one == (other if isinstance(other, str) else pytest.approx(other, rel=tolerance, abs=0.0))
