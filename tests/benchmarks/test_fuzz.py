"""The targets of the fuzzer, without the fuzzer: seeds pass, and what is wrong is noticed."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import fuzz
from amortized_kde.errors import AmortizedKdeError
from amortized_kde.integrations import table_formats


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    monkeypatch.setattr(table_formats, "_LONG", table_formats._LONG)
    monkeypatch.setitem(sys.modules, "pyarrow", sys.modules["pyarrow"])


@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_seeds_pass(target, tmp_path):
    for seed in [*fuzz.SEEDS[target], b"", b"\xff\xfe\x00"]:
        fuzz.checked(target, seed, tmp_path)


def test_seeds_are_valid(tmp_path):
    # Accepted as they are, and refused with other bytes: else a fuzzer would only ever see refusals.
    card, archive = fuzz.SEEDS["card"][0], fuzz.changed_archive(b"")
    fuzz.fuzz_card(card, tmp_path)
    fuzz.fuzz_npz(archive, tmp_path)
    with pytest.raises(AmortizedKdeError):
        fuzz.fuzz_card(b"[]", tmp_path)
    with pytest.raises(AmortizedKdeError):
        fuzz.fuzz_npz(archive[: len(archive) // 2], tmp_path)


def test_foreign_exceptions_and_readers_that_differ_are_noticed(monkeypatch, tmp_path):
    monkeypatch.setitem(fuzz.TARGETS, "link", lambda *_: {}["x"])
    with pytest.raises(KeyError):
        fuzz.checked("link", b"", tmp_path)
    monkeypatch.setattr(table_formats, "read_plain", lambda *_: [table_formats.np.zeros(1)])
    with pytest.raises(AssertionError):
        fuzz.checked("csv", b"x\n1\n", tmp_path)
