import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "hostile.py"


@pytest.fixture(scope="module")
def hostile():
    """The script as a module."""
    sys.path.insert(0, str(SCRIPT.parent))
    import hostile

    yield hostile
    sys.path.remove(str(SCRIPT.parent))


def test_a_short_seed_finds_nothing():
    command = [sys.executable, str(SCRIPT), "--seed", "7", "--chunk", "0", "60"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [line for line in lines if "wrong" in line] == []
    assert lines[-1] == {"done": 60}


def test_a_call_that_ends_the_process_is_counted_and_the_rest_is_run(hostile, monkeypatch):
    begun = []

    def run(command, **_):
        start, stop = map(int, command[-2:])
        begun.append((start, stop))
        text = "".join(json.dumps({"begun": number}) + "\n" for number in range(start, min(stop, start + 3)))
        done = json.dumps({"done": 1}) + "\n" if stop - start <= 3 else ""
        return subprocess.CompletedProcess(command, 0 if done else -11, stdout=text + done)

    monkeypatch.setattr(hostile.subprocess, "run", run)
    assert hostile.in_subprocess(1, 0, 5) == [{"call": 2, "wrong": "the process ended with -11"}]
    assert begun == [(0, 5), (3, 5)]


def test_a_run_continues_where_it_was_stopped(hostile, monkeypatch, tmp_path):
    asked = []

    def chunk(seed, start, stop):
        asked.append(start)
        return [{"call": start, "wrong": "mass"}]

    monkeypatch.setattr(hostile, "in_subprocess", chunk)
    monkeypatch.setattr(hostile, "CHUNK", 10)
    first = hostile.run(25, 1, tmp_path)
    assert hostile.run(25, 1, tmp_path) == first
    assert (asked, len(first)) == ([0, 10, 20], 3)


def test_wrong_densities_are_noticed(hostile):
    import numpy as np

    import amortized_kde as akde

    class Off:
        def __init__(self, **changed):
            self.inner, self.changed = akde.KernelDensity([0.0, 1.0, 2.0], 0.5), changed

        def __getattr__(self, name):
            return self.changed.get(name, getattr(self.inner, name))

    good = akde.KernelDensity([0.0, 1.0, 2.0], 0.5)
    rng = np.random.default_rng(1)
    assert hostile.check(good, rng) is None
    assert hostile.check(Off(sf=lambda y: good.sf(y) + 1e-6), rng) == "cdf + sf"
    assert hostile.check(Off(cdf=lambda y: 0.9 * good.cdf(y)), rng) == "mass"
    assert hostile.check(Off(logpdf=lambda y: np.full(np.shape(y), np.nan)), rng) == "NaN from finite input"
    assert hostile.check(Off(ppf=lambda p: good.ppf(p) + 1e-3), rng) == "inverse"
    assert hostile.check(Off(sample=lambda *a, **k: np.array([np.inf])), rng) == "draws"
    assert hostile.check(Off(std=lambda: np.inf), rng) == "moments"
