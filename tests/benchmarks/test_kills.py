"""A short campaign of kills: the aims, the trap, and three kills of a real training."""

import csv
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="training needs the train extra")

import kills

SCRIPT = Path(kills.__file__)


def test_fifty_aims_meet_every_moment_of_every_file_twice():
    aims = kills.aims(50, seed=1)
    counts = Counter((aim.file, aim.moment) for aim in aims)
    assert set(counts.values()) == {2}
    assert len(counts) == len(kills.FILES) * len(kills.MOMENTS)
    assert aims == kills.aims(50, seed=1) != kills.aims(50, seed=2)


def test_half_a_file_is_not_whole(tmp_path):
    whole = dict.fromkeys(kills.FILES, b"a,b\n1,2\n3,4\n")
    assert kills.is_whole(tmp_path, whole)
    (tmp_path / kills.LOG).write_bytes(b"a,b\n1,2\n")
    assert kills.is_whole(tmp_path, whole)
    for log in (b"a,b\n1,", b"a,b\n7,7\n"):
        (tmp_path / kills.LOG).write_bytes(log)
        assert not kills.is_whole(tmp_path, whole)
    (tmp_path / kills.LOG).unlink()
    (tmp_path / kills.CARD).write_bytes(b"a,b\n")
    assert not kills.is_whole(tmp_path, whole)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the trap reads /proc")
def test_three_kills_of_a_training(tmp_path):
    done = subprocess.run(
        [sys.executable, SCRIPT, "--kills", "3", "--seed", "4", "--out", tmp_path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = list(csv.DictReader((tmp_path / "kills.csv").read_text().splitlines()))
    assert [row["whole"] for row in rows] == ["True"] * 3
    assert "3 kills of" in (tmp_path / "kills.md").read_text()
