"""What the commands write: never over their input, over other files only if asked; full disks and closed streams."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import amortized_kde

COMMAND = [sys.executable, "-m", "amortized_kde.cli"]
SAMPLE = "\n".join(map(repr, np.random.default_rng(1).normal(size=30).tolist()))
FIT, COMPARE = ("fit", "a.csv", "--method", "scott"), ("compare", "a.csv", "--methods", "scott,silverman")
RECIPE = Path(amortized_kde.__file__).parent / "research" / "training" / "recipes" / "gmm8.toml"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(SAMPLE)
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def is_one_sentence(said):
    return said.startswith("error: ") and said.endswith(".\n") and len(said.splitlines()) == 1


@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)])
@pytest.mark.parametrize(
    "command", [(*FIT, "--out", "a.csv"), (*FIT, "--plot", "./a.csv"), (*COMPARE, "--plot", "link.png")]
)
def test_the_input_is_never_replaced(run, folder, command, overwrite):
    (folder / "link.png").symlink_to("a.csv")
    status, out, said = run(*command, *overwrite)
    assert (status, out) == (2, "")
    assert is_one_sentence(said)
    assert "is also an input" in said
    assert (folder / "a.csv").read_text() == SAMPLE


@pytest.mark.parametrize(("command", "name"), [((*FIT, "--out"), "o.csv"), ((*COMPARE, "--plot"), "o.svg")])
def test_files_are_replaced_only_if_asked(run, folder, command, name):
    (folder / name).write_text("old")
    status, _, said = run(*command, name)
    assert status == 2
    assert is_one_sentence(said)
    assert f"'{name}' exists already; give another" in said
    assert (folder / name).read_text() == "old"
    assert run(*command, name, "--overwrite")[0] == 0
    assert len((folder / name).read_text()) > 100
    assert names(folder) == ["a.csv", name]


def test_two_outputs_of_one_name_are_refused(run, folder):
    status, _, said = run(*FIT, "--out", "o.png", "--plot", "./o.png")
    assert (status, is_one_sentence(said)) == (2, True)
    assert "give them different names" in said
    assert names(folder) == ["a.csv"]


@pytest.mark.parametrize(("command", "name"), [((*FIT, "--out"), "o.csv"), ((*COMPARE, "--plot"), "o.png")])
def test_a_full_disk_keeps_the_old_file(run, folder, monkeypatch, command, name):
    def full(_):
        raise OSError(28, "No space left on device")

    (folder / name).write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    status, _, said = run(*command, name, "--overwrite")
    assert (status, is_one_sentence(said)) == (2, True)
    assert f"'{name}' cannot be written (No space left on device)" in said
    assert (folder / name).read_text() == "old"
    assert names(folder) == ["a.csv", name]


@pytest.fixture
def small_disk(folder):
    """A file system of 32 KiB, too small for every result."""
    place = folder / "small"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", place], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {made.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def forecasts(path):
    xr = pytest.importorskip("xarray")
    rng = np.random.default_rng(1)
    cells = {"time": np.datetime64("2000-01-01") + np.arange(120), "lat": np.arange(40.0)}
    variables = {
        "x": (("time", "lat", "member"), rng.gamma(2.0, 2.0, (120, 40, 7))),
        "y": (("time", "lat"), rng.gamma(2.0, 2.0, (120, 40))),
    }
    xr.Dataset(variables, coords=cells).to_netcdf(path, engine="h5netcdf")


@pytest.mark.parametrize(
    "command",
    [
        (*FIT, "--grid", "5000", "--out", "small/o.csv"),
        (*FIT, "--plot", "small/o.png"),
        ("ensemble", "a.nc", "--var", "x", "--method", "scott", "--out", "small/o.nc"),
        ("ensemble", "a.nc", "--var", "x", "--method", "scott", "--out", "small/o.zarr"),
        ("reproduce", "worlds", "--out", "small/results"),
        ("train", "gmm8", "--out", "small/model"),
    ],
    ids=lambda command: command[-1],
)
def test_a_disk_that_is_really_full(run, folder, small_disk, monkeypatch, command):
    if command[0] == "ensemble":
        forecasts(folder / "a.nc")
    if command[0] == "train":
        pytest.importorskip("jax", reason="training needs the train extra")
        short = (
            RECIPE.read_text().replace("every = 1000", "every = 1").replace("tasks_per_size = 20", "tasks_per_size = 1")
        )
        (folder / "short.toml").write_text(short)
        command = ("train", "short.toml", *command[2:])
    status, _, said = run(*command)
    said = [line for line in said.splitlines() if line.startswith(("error:", "Traceback"))]
    assert (status, len(said)) == (2, 1)
    assert "cannot be written (" in said[0]
    # The record of a reproduction is written first.
    assert [path.name for path in small_disk.rglob("*") if path.is_file() and path.name != "run.json"] == []


def shell(line, folder):
    """Run a command line with `kde` for ours, and return its status, standard output and standard error."""
    ours = " ".join(COMMAND)
    done = subprocess.run(["bash", "-c", line.replace("kde", ours)], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


STREAMS = {
    "full output": ("kde fit a.csv --method scott > /dev/full", "standard output cannot be written (No space left"),
    "full output of JSON": ("kde models --json > /dev/full", "standard output cannot be written"),
    "closed output": ("kde models >&-", "standard output is closed"),
    "full file": ("kde fit a.csv --method scott --out /dev/full", "'/dev/full' cannot be written"),
    "full picture": ("kde fit a.csv --method scott --plot /dev/full", "'/dev/full' cannot be written"),
    "closed input": ("kde fit - <&-", "standard input is empty"),
}


@pytest.mark.parametrize(("line", "words"), STREAMS.values(), ids=STREAMS)
def test_streams_that_are_full_or_closed(folder, line, words):
    status, out, said = shell(line, folder)
    assert (status, out) == (2, "")
    assert is_one_sentence(said)
    assert words in said


def test_closed_streams_that_are_not_needed(folder):
    # The file that is written must not take the number of a closed stream.
    status, out, _ = shell("kde fit a.csv --method scott --out o.csv <&- 2>&-", folder)
    assert status == 0
    assert out.splitlines()[-1].split() == ["wrote", "o.csv"]
    assert (folder / "o.csv").read_text().startswith("x,density,log_density,cdf\n")
    assert shell("kde fit nothing 2>&-", folder)[:2] == (2, "")


def test_a_reader_that_leaves_is_no_error(folder):
    status, out, said = shell("kde compare a.csv --methods scott | head -1; exit ${PIPESTATUS[0]}", folder)
    assert out.startswith("file")
    assert status in (0, 1)
    assert said == ""


def test_not_enough_memory_gets_a_sentence(run, folder, monkeypatch):
    from amortized_kde.integrations import tables

    def exhausted(*_, **__):
        raise MemoryError

    monkeypatch.setattr(tables, "read_column", exhausted)
    status, _, said = run(*FIT)
    assert (status, is_one_sentence(said)) == (2, True)
    assert "not enough memory" in said


def test_a_folder_of_something_else_than_zarr_is_not_replaced(run, folder):
    forecasts(folder / "a.nc")
    (folder / "mine.zarr").mkdir()
    (folder / "mine.zarr" / "letter.txt").write_text("dear")
    status, _, said = run("ensemble", "a.nc", "--var", "x", "--out", "mine.zarr", "--overwrite")
    assert (status, is_one_sentence(said)) == (2, True)
    assert "not a Zarr store" in said
    assert names(folder / "mine.zarr") == ["letter.txt"]


def test_zarr_is_replaced_as_a_whole(run, folder):
    forecasts(folder / "a.nc")
    command = ("ensemble", "a.nc", "--var", "x", "--method", "scott", "--out", "o.zarr")
    assert run(*command)[0] == 0
    (folder / "o.zarr" / "old").touch()
    assert run(*command)[0] == 2
    assert run(*command, "--overwrite")[0] == 0
    assert not (folder / "o.zarr" / "old").exists()
    assert names(folder) == ["a.csv", "a.nc", "o.zarr"]


def test_a_folder_that_is_no_folder_of_results_is_not_written_to(run, folder):
    (folder / "README.md").write_text("mine")
    status, _, said = run("reproduce", "modes", "--out", ".")
    assert (status, is_one_sentence(said)) == (2, True)
    assert "'.' has files that are no results of this command, such as README.md" in said
    assert (folder / "README.md").read_text() == "mine"
    assert names(folder) == ["README.md", "a.csv"]
    (folder / "file").touch()
    status, _, said = run("reproduce", "modes", "--out", "file")
    assert (status, is_one_sentence(said)) == (2, True)


def test_two_processes_do_not_share_a_folder(run, folder):
    from amortized_kde._files import locked

    with locked(folder / "results"):
        status, _, said = run("reproduce", "modes", "--out", "results")
    assert (status, is_one_sentence(said)) == (2, True)
    assert "another process is writing to 'results'" in said
