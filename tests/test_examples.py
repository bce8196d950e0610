"""Every script in examples/ runs by itself, in any folder, and draws what it promises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GALLERY = sorted((ROOT / "examples").glob("*/*.py"))
# Runs a script, and fails if it has drawn nothing.
RUN = """
import runpy, sys
from matplotlib import pyplot
runpy.run_path(sys.argv[1], run_name='__main__')
sys.exit(0 if pyplot.get_fignums() else "it has drawn no figure")
"""


def run(folder, *arguments):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "Agg"}
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_an_example_runs_and_draws(script, tmp_path):
    needs_results = "RESULTS" in script.read_text(encoding="utf-8")
    run(ROOT if needs_results else tmp_path, "-c", RUN, str(script))
    assert not list(tmp_path.iterdir())


def test_the_training_on_an_archive_runs(tmp_path):
    # A shorter archive than the script's own, with every step of it.
    said = run(tmp_path, str(ROOT / "examples" / "archive.py"), str(tmp_path / "archive"), "440")
    assert "bits on 79 later days" in said
    assert (tmp_path / "archive.png").stat().st_size > 10_000


def test_every_example_has_a_title_and_is_listed():
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    for script in GALLERY:
        text = script.read_text(encoding="utf-8")
        _, title, line = text.split("\n", 3)[:3]
        assert len(line) == len(title), script.name
        assert line == "=" * len(title), script.name
        assert f"[{script.name}]({script.parent.name}/{script.name})" in listed, (
            f"examples/README.md lacks {script.name}"
        )
    assert len(GALLERY) >= 20
