"""Files are written whole or not at all, and one process at a time has a folder."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from amortized_kde import _files
from amortized_kde._files import check_target, locked, make_folder, replacing, write_file
from amortized_kde.errors import InvalidParameterError, UnreadableFileError, UnwritableFileError


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("content", ["é\n", b"\0\xff"])
def test_a_file_is_written_and_replaced(tmp_path, content):
    for _ in range(2):
        write_file(tmp_path / "a", content)
    assert (tmp_path / "a").read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert names(tmp_path) == ["a"]


def write_half(path, error):
    with replacing(path) as file:
        file.write(b"half")
        file.flush()
        assert len(names(path.parent)) == 2
        raise error


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), ValueError()])
def test_after_an_error_all_is_as_before(tmp_path, error):
    (tmp_path / "a").write_text("old")
    expected = UnwritableFileError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected):
        write_half(tmp_path / "a", error)
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_is_full_at_the_end_gets_a_sentence(tmp_path, monkeypatch, call):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "a").write_text("old")
    monkeypatch.setattr(os, call, full)
    with pytest.raises(UnwritableFileError, match=r"a' cannot be written \(No space left on device\)\.$"):
        write_file(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_errors_of_our_own_stay_what_they_are(tmp_path):
    with pytest.raises(UnreadableFileError, match="the source"), replacing(tmp_path / "a"):
        raise UnreadableFileError("the source is damaged")
    assert names(tmp_path) == []


def test_a_private_file_stays_private_and_a_link_a_link(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o600)
    (tmp_path / "link").symlink_to("a")
    write_file(tmp_path / "link", "new")
    assert (tmp_path / "a").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    assert (tmp_path / "link").is_symlink()


def test_a_long_name_has_room_for_the_temporary_one(tmp_path):
    write_file(tmp_path / ("é" * 127), "new")
    assert names(tmp_path) == ["é" * 127]


def test_devices_and_pipes_are_written_to(tmp_path):
    with pytest.raises(UnwritableFileError, match="No space left"):
        write_file("/dev/full", "much")
    write_file("/dev/null", "much")
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    check_target(str(tmp_path / "pipe"), overwrite=False)
    write_file(tmp_path / "pipe", "much")
    assert reader.communicate(timeout=60)[0] == b"much"


REFUSED = {
    "there": ("a", {}, InvalidParameterError, "'.*a' exists already; give another --out, or --overwrite"),
    "a source": ("a", {"overwrite": True, "sources": ["b", "a"]}, InvalidParameterError, "is also an input"),
    "another name of a source": ("link", {"overwrite": True, "sources": ["a"]}, InvalidParameterError, "also an input"),
    "a folder": (".", {"overwrite": True}, UnwritableFileError, "is a directory"),
    "no folder": ("no/a", {"overwrite": True, "option": "--plot"}, UnwritableFileError, "no directory 'no'"),
    "a file as a folder": ("a/b", {}, UnwritableFileError, "no directory 'a'"),
    "a long name": ("a" * 300, {}, UnwritableFileError, "File name too long"),
}


@pytest.mark.parametrize(("path", "options", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_targets_that_are_refused(tmp_path, monkeypatch, path, options, error, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("old")
    os.link("a", "link")
    with pytest.raises(error, match=words):
        check_target(path, **{"overwrite": False, **options})


def test_an_open_file_keeps_its_place(tmp_path):
    code = "from amortized_kde._files import write_file; print('first', flush=True)\n"
    code += "write_file('/dev/stdout', 'second\\n'); print('third')"
    with open(tmp_path / "all", "w") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert (tmp_path / "all").read_text().split() == ["first", "second", "third"]


def test_targets_that_are_not_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("old")
    check_target("new", overwrite=False, sources=["a", "-", "nothing", "no\0name"])
    check_target("a", overwrite=True)
    check_target(".", overwrite=True, folder=True)
    check_target("/dev/stdout", overwrite=False)


def test_a_folder_where_a_file_is(tmp_path):
    (tmp_path / "a").write_text("old")
    for path in (tmp_path / "a", tmp_path / "a" / "b"):
        with pytest.raises(UnwritableFileError, match=r"is a file|Not a directory"):
            make_folder(path)
    make_folder(tmp_path / "b" / "c")
    make_folder(tmp_path / "b" / "c")


def test_a_folder_has_one_owner_at_a_time(tmp_path):
    with locked(tmp_path / "new"):
        with pytest.raises(UnwritableFileError, match=r"another process is writing to '.*new'; wait for it"):
            locked(tmp_path / "new").__enter__()
        with locked(tmp_path / "other"):
            pass
    assert names(tmp_path / "new") == []
    with locked(tmp_path / "new"):
        pass


HOLD = "import sys, time; from pathlib import Path; from amortized_kde._files import locked\n"
HOLD += "with locked(Path(sys.argv[1])):\n    print('mine', flush=True); time.sleep(600)"


def test_a_killed_owner_blocks_nobody_and_its_leftovers_go(tmp_path):
    owner = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE)
    assert owner.stdout.readline() == b"mine\n"
    with pytest.raises(UnwritableFileError, match="another process"), locked(tmp_path):
        pass
    owner.send_signal(signal.SIGKILL)
    owner.communicate(timeout=60)
    for left in ("log.csv.0123abcd.part", "other.csv.0123abcd.part", "log.csv"):
        (tmp_path / left).touch()
    assert (tmp_path / ".lock").exists()
    with locked(tmp_path, ["log.csv"]):
        assert names(tmp_path) == [".lock", "log.csv", "other.csv.0123abcd.part"]
    assert not (tmp_path / ".lock").exists()


RACE = """
import sys, time
from pathlib import Path
from amortized_kde._files import locked
from amortized_kde.errors import UnwritableFileError
folder, mine = Path(sys.argv[1]), 0
while mine < 200:
    try:
        with locked(folder):
            (folder / "owned").touch(exist_ok=False)
            (folder / "owned").unlink()
            mine += 1
    except UnwritableFileError:
        pass
"""


def test_processes_that_race_never_own_it_together(tmp_path):
    racers = [subprocess.Popen([sys.executable, "-c", RACE, tmp_path], stderr=subprocess.PIPE) for _ in range(3)]
    for racer in racers:
        _, said = racer.communicate(timeout=120)
        assert racer.returncode == 0, said


def test_without_locks_in_the_file_system_it_goes_on(tmp_path, monkeypatch):
    import fcntl

    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    owners = []
    with locked(tmp_path):
        owners.append("first")
        with locked(tmp_path):
            owners.append("second")
    assert owners == ["first", "second"]


def test_without_locks_in_the_system_it_goes_on(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    with locked(tmp_path):
        assert names(tmp_path) == [".lock"]


def test_where_the_folder_cannot_be_written(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(_files.os, "open", refuse)
    with pytest.raises(UnwritableFileError, match="Permission denied"), locked(tmp_path):
        pass


@pytest.fixture
def full_disk(tmp_path):
    """A file system of 64 KiB with 4 KiB left."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {made.stderr.strip()}")
    (place / "a").write_text("old")
    (place / "filler").write_bytes(bytes(52 * 1024))
    yield place
    # Python may still hold files of a failed test.
    time.sleep(0.0 if subprocess.run(["umount", place]).returncode == 0 else 1.0)


def test_a_disk_that_is_really_full(full_disk):
    with pytest.raises(UnwritableFileError, match="No space left on device"):
        write_file(full_disk / "a", bytes(100_000))
    assert (full_disk / "a").read_text() == "old"
    assert names(full_disk) == ["a", "filler"]
