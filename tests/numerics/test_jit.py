"""The cache of compiled code: where it cannot be written or read, calls are slower, and nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import amortized_kde

SOURCES = Path(amortized_kde.__file__).parents[1]
# Of many samples, since one small sample is computed without the compiler.
FIT = "import amortized_kde as akde; print(akde.bandwidth([[1.0, 2.0, 4.0]], method='silverman', axis=-1)[0])"
COMPILING = "amortized-kde: compiling numerical loops"
# A read-only machine, for root too: numba asks whether it can make a file in each folder.
READ_ONLY = """
import numba.core.caching as caching
def refuse(self):
    raise PermissionError(13, "Permission denied")
caching._CacheLocator.ensure_cache_path = refuse
"""
FULL_DISK = """
import contextlib, numba.core.caching as caching
@contextlib.contextmanager
def refuse(self, path):
    raise OSError(28, "No space left on device")
    yield
caching.IndexDataCacheFile._open_for_write = refuse
"""


def python(code, *, env=(), before=()):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    environment |= {"PYTHONPATH": str(SOURCES), **dict(env)}
    command = [*before, sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)


@pytest.fixture(scope="module")
def usual():
    return python(FIT).stdout


@pytest.mark.parametrize("machine", [pytest.param(READ_ONLY, id="read-only"), pytest.param(FULL_DISK, id="full disk")])
def test_without_a_cache_the_same_numbers_come_and_one_warning(machine, usual, tmp_path):
    again = "\nakde.bandwidth([[1.0, 2.0, 4.0, 8.0]], axis=-1)"
    found = python(machine + FIT + again, env={"NUMBA_CACHE_DIR": str(tmp_path / "empty")})
    assert (found.returncode, found.stdout) == (0, usual), found.stderr
    assert found.stderr.count("SlowStartWarning") == 1
    assert "first calls take seconds in every process" in found.stderr
    # The caller's line, not one of ours or of numba's.
    assert "\n<string>:" in f"\n{found.stderr}"


def test_an_import_alone_says_nothing():
    found = python(READ_ONLY + "import amortized_kde")
    assert (found.returncode, found.stderr) == (0, "")


def without_privileges():
    """Return the beginning of a command that obeys the permissions of files, as root otherwise does not."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return []
    words = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]
    if shutil.which("setpriv") is None or subprocess.run([*words, "true"], capture_output=True).returncode:
        pytest.skip("root can write everywhere, and setpriv does not work here")
    return words


def test_a_package_in_a_folder_that_is_read_only(tmp_path, usual):
    shutil.copytree(SOURCES, tmp_path / "sources", ignore=shutil.ignore_patterns("__pycache__"))
    folders = [path for path in (tmp_path / "sources", *(tmp_path / "sources").rglob("*")) if path.is_dir()]
    nowhere = {"PYTHONPATH": str(tmp_path / "sources"), "HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"}
    for folder in folders:
        folder.chmod(0o555)
    try:
        found = python(FIT, env=nowhere, before=without_privileges())
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert (found.returncode, found.stdout) == (0, usual), found.stderr
    assert found.stderr.count("SlowStartWarning") == 1


def test_a_damaged_cache_is_replaced(usual, tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert python(FIT, env=cache).stdout == usual
    damaged = [path for path in tmp_path.rglob("*.nb?") if path.write_bytes(path.read_bytes()[:-7])]
    assert damaged
    found = python(FIT, env=cache)
    assert (found.returncode, found.stdout) == (0, usual)
    assert found.stderr.startswith(COMPILING)
    assert found.stderr.count("\n") == 1
    assert python(FIT, env=cache).stderr == ""
    np.testing.assert_allclose(float(found.stdout), amortized_kde.bandwidth([1.0, 2.0, 4.0], method="silverman"))
