"""Every script in examples/ runs by itself, in any folder, and leaves the picture that it promises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_runs(script, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "Agg"}
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    picture = tmp_path / f"{script.stem}.png"
    assert picture.exists() == (picture.name in script.read_text(encoding="utf-8"))
    assert not picture.exists() or picture.stat().st_size > 10_000


def test_there_are_examples():
    assert {"quickstart", "bounds", "ensembles", "own_task"} <= {script.stem for script in SCRIPTS}
