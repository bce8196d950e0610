"""Ctrl-C in every command that takes long: status 130, one line, and nothing that is half-written."""

import os
import signal
import socket
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest
import typer

from amortized_kde.cli import interruption
from amortized_kde.cli.interruption import find_interruption, interruptible

COMMAND = [sys.executable, "-m", "amortized_kde.cli"]
# A session of its own, so that a test that fails can end the whole of it.
OPTIONS = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}


@pytest.fixture(autouse=True)
def ctrl_c():
    """Listen to Ctrl-C, here and in new processes, which inherit that a shell's background jobs ignore it."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files with minutes of work in them."""
    xr = pytest.importorskip("xarray")
    made = tmp_path_factory.mktemp("work")
    rng = np.random.default_rng(1)
    (made / "a.csv").write_text("\n".join(map(repr, rng.normal(size=60_000).tolist())))
    cells = {"time": np.datetime64("2000-01-01") + np.arange(800), "lat": np.arange(100.0)}
    forecasts = xr.Dataset(
        {
            "x": (("time", "lat", "member"), rng.gamma(2.0, 2.0, (800, 100, 20))),
            "y": (("time", "lat"), rng.gamma(2.0, 2.0, (800, 100))),
        },
        coords=cells,
    )
    forecasts.to_netcdf(made / "a.nc", engine="h5netcdf")
    return made


def kept(folder):
    """Return the names of all files but those that a run needs to go on."""
    known = {"checkpoint.safetensors", "log.csv", "run.json"}
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in known and ".chunks" not in path.parts
    )


FORECASTS = ["a.nc", "--var", "x", "--obs-var", "y"]
WORK = {
    "fit": ["fit", "a.csv", "--grid", "9999999", "--out", "o.csv"],
    "compare": ["compare", "a.csv", "--plot", "o.png"],
    "score": ["score", "a.csv", "--outcomes", "a.csv", "--method", "lcv"],
    "ensemble to NetCDF": ["ensemble", *FORECASTS, "--out", "o.nc"],
    "ensemble to Zarr": ["ensemble", *FORECASTS, "--out", "o.zarr"],
    "train": ["train", "gmm8", "--out", "model"],
    "train on an archive": ["train", "--archive", *FORECASTS, "--out", "model"],
    "reproduce": ["reproduce", "gaussian", "--scale", "paper", "--out", "results"],
}
HINTS = {"train": "--resume continues from the last checkpoint", "reproduce": "the same command continues"}


@pytest.mark.parametrize("name", WORK)
def test_ctrl_c_ends_a_command_with_one_line(folder, tmp_path, name):
    if name.startswith("train"):
        pytest.importorskip("jax", reason="training needs the train extra")
    for source in ("a.csv", "a.nc"):
        os.link(folder / source, tmp_path / source)
    running = subprocess.Popen([*COMMAND, *WORK[name]], cwd=tmp_path, **OPTIONS)
    try:
        wait_until_it_computes(running.pid)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130, said
    # Progress, and the line on compilation where nothing is cached yet, are not counted.
    others = ("━", " left ", "compiling numerical loops")
    lines = [line for line in said.splitlines() if line.strip() and not any(mark in line for mark in others)]
    assert len(lines) == 1, said
    assert lines[0].startswith("interrupted")
    assert HINTS.get(name, "") in lines[0]
    assert kept(tmp_path) == ["a.csv", "a.nc"]


def wait_until_it_computes(process):
    """Wait for some seconds of processor time beyond those of the imports."""
    ticks = os.sysconf("SC_CLK_TCK")
    deadline = time.monotonic() + 200.0
    while time.monotonic() < deadline:
        with open(f"/proc/{process}/stat") as file:
            used = file.read().rpartition(")")[2].split()
        if (int(used[11]) + int(used[12])) / ticks > 4.0:
            return
        time.sleep(0.1)
    raise AssertionError("it did not compute")


def test_ctrl_c_stops_the_page(tmp_path):
    pytest.importorskip("streamlit")
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    running = subprocess.Popen([*COMMAND, "app", "--no-open", "--port", str(port)], cwd=tmp_path, **OPTIONS)
    try:
        wait_until_it_answers(port)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode in (0, 130), said
    assert "Traceback" not in said
    assert kept(tmp_path) == []


def wait_until_it_answers(port):
    deadline = time.monotonic() + 100.0
    while time.monotonic() < deadline:
        try:
            with socket.create_connection(("localhost", port), timeout=1.0) as wire:
                wire.sendall(b"GET /_stcore/health HTTP/1.0\r\n\r\n")
                if b"200" in wire.recv(100):
                    return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError("the page did not answer")


def test_an_interruption_behind_another_error_is_found():
    def fail(reason):
        try:
            try:
                raise reason
            except BaseException as error:
                raise ImportError("half imported") from error
        except ImportError as error:
            return error

    interruption = KeyboardInterrupt("go on")
    assert find_interruption(interruption) is interruption
    assert find_interruption(fail(interruption)) is interruption
    assert find_interruption(fail(ValueError())) is None
    circle = ValueError()
    circle.__context__ = ImportError()
    circle.__context__.__context__ = circle
    assert find_interruption(circle) is None


def test_other_errors_pass(capsys):
    @interruptible
    def command():
        raise ValueError("other")

    with pytest.raises(ValueError, match="other"):
        command()
    assert capsys.readouterr().err == ""


def test_an_interruption_that_python_drops_is_repeated(monkeypatch, capsys):
    class Thing:
        pass

    def interrupted(_):
        raise KeyboardInterrupt

    @interruptible
    def command():
        thing = Thing()
        weak = weakref.ref(thing, interrupted)
        # The callback runs here, and what it raises is dropped.
        del thing
        assert weak() is None
        time.sleep(30.0)
        raise AssertionError("not interrupted")

    monkeypatch.setattr(interruption, "_PAUSE", 0.3)
    usual = sys.unraisablehook
    with pytest.raises(typer.Exit) as ended:
        command()
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err == "interrupted.\n"
    assert sys.unraisablehook is usual
