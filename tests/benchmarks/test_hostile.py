import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import amortized_kde as akde
from contests import hostile as laws

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "hostile.py"


@pytest.fixture(scope="module")
def hostile():
    """The script as a module."""
    sys.path.insert(0, str(SCRIPT.parent))
    import hostile

    yield hostile
    sys.path.remove(str(SCRIPT.parent))


def test_a_short_seed_finds_nothing():
    command = [sys.executable, str(SCRIPT), "--seed", "7", "--chunk", "0", "100"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [line for line in lines if "wrong" in line] == []
    assert sum(lines[-1]["done"].values()) == 100
    assert len(lines[-1]["done"]) == 5


def test_a_call_that_ends_the_process_is_counted_and_the_rest_is_run(hostile, monkeypatch):
    begun = []

    def run(command, **_):
        start, stop = map(int, command[-2:])
        begun.append((start, stop))
        text = "".join(json.dumps({"begun": number}) + "\n" for number in range(start, min(stop, start + 3)))
        done = json.dumps({"done": {"table": stop - start}}) + "\n" if stop - start <= 3 else ""
        return subprocess.CompletedProcess(command, 0 if done else -11, stdout=text + done)

    monkeypatch.setattr(hostile.subprocess, "run", run)
    found = hostile.in_subprocess(1, 0, 5)
    assert found["wrong"] == [{"call": 2, "kind": "unknown", "wrong": "the process ended with -11"}]
    assert found["kinds"] == {"unknown": 3, "table": 2}
    assert begun == [(0, 5), (3, 5)]


def test_a_run_continues_where_it_was_stopped_and_its_table_has_all(hostile, monkeypatch, tmp_path):
    asked = []

    def chunk(seed, start, stop):
        asked.append(start)
        return {"wrong": [{"call": start, "kind": "table", "wrong": "mass"}], "kinds": {"table": stop - start}}

    monkeypatch.setattr(hostile, "in_subprocess", chunk)
    monkeypatch.setattr(hostile, "CHUNK", 10)
    first = hostile.run(25, 1, tmp_path / "chunks")
    assert hostile.run(25, 1, tmp_path / "chunks") == first
    assert (asked, len(first[0]), first[1]) == ([0, 10, 20], 3, {"table": 25})
    hostile.write_table(*first, tmp_path)
    assert (tmp_path / "hostile.csv").read_text().splitlines()[1:] == ["table,25,3,mass", "all,25,3,"]
    assert "| table | 25 | 3 | mass |" in (tmp_path / "hostile.md").read_text()
    assert "hostile.csv" in json.loads((tmp_path / "models.json").read_text())


def test_slow_and_large_calls_are_noticed(hostile, monkeypatch, tmp_path):
    results = iter([("table", None, 9.0, 0), ("table", None, 0.1, 0), ("table", None, 9.0, 0), ("table", None, 9.0, 0)])
    monkeypatch.setattr(hostile, "timed_call", lambda *_: next(results))
    # The first call of a function compiles it.
    assert hostile.judged_call(1, 1, tmp_path) == ("table", None)
    assert hostile.judged_call(1, 1, tmp_path) == ("table", "slow")
    monkeypatch.setattr(hostile, "timed_call", lambda *_: ("table", None, 0.1, 2**30))
    assert hostile.judged_call(1, 1, tmp_path) == ("table", "memory")


def test_foreign_exceptions_are_noticed(monkeypatch, tmp_path):
    def raises(*_):
        raise KeyError("x")

    monkeypatch.setattr(laws, "KINDS", {"table": (1.0, raises)})
    assert laws.call(np.random.default_rng(1), tmp_path) == ("table", "KeyError: 'x'")


def test_wrong_densities_are_noticed():
    class Off:
        def __init__(self, **changed):
            self.inner, self.changed = akde.KernelDensity([0.0, 1.0, 2.0], 0.5), changed

        def __getattr__(self, name):
            return self.changed.get(name, getattr(self.inner, name))

    good = akde.KernelDensity([0.0, 1.0, 2.0], 0.5)
    rng = np.random.default_rng(1)
    for number in range(8):
        assert laws.check(good, np.random.default_rng(number)) is None
    assert laws.check_distribution(Off(sf=lambda y: good.sf(y) + 1e-6)) == "cdf + sf"
    assert laws.check_distribution(Off(cdf=lambda y: 0.9 * good.cdf(y))) == "mass"
    assert laws.check_distribution(Off(logpdf=lambda y: np.full(np.shape(y), np.nan))) == "NaN from finite input"
    assert laws.check_inverse(Off(ppf=lambda p: good.ppf(p) + 1e-3), rng) == "inverse"
    assert laws.check_draws(Off(sample=lambda *a, **k: np.array([np.inf])), rng) == "draws"
    assert laws.check_draws(Off(std=lambda: np.inf), rng) == "moments"
    assert laws.check_mass(Off(pdf=lambda y: good.pdf(y) * (1.0 + 1e-8)), rng) == "mass by quadrature"
    assert laws.check_shape(Off(interval=lambda mass: (np.nan, 1.0)), rng) == "modes or intervals are NaN"


def test_quadrature_sees_the_mass_between_bounds_far_narrower_than_the_bandwidth():
    rng = np.random.default_rng(1)
    x = 1e-100 * rng.normal(size=9)
    ends = (x.min() - 1e-101, x.max() + 1e-101)
    for h in (1e-12, 1e-100, 1e-102):
        assert laws.check_mass(akde.KernelDensity(x, h, bounds=ends), rng) is None
    # Rounded nodes would be off by more than is allowed: nothing is checked.
    assert laws.check_mass(akde.KernelDensity(2.8e9 + rng.normal(size=9), 0.07), rng) is None
