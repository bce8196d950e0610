"""Files that are written whole or not at all, and folders that one process writes to at a time."""

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from amortized_kde.errors import AmortizedKdeError, InvalidParameterError, UnwritableFileError

_LOCK = ".lock"
_OPEN_FILE, _NUMBERS = re.compile(r"/dev/(?:fd/)?(stdout|stderr|[0-9]+)"), {"stdout": "1", "stderr": "2"}
# Characters of a name that its temporary file keeps: with what is added, all file systems allow that many.
_KEPT = 50


def check_target(
    path: str, *, overwrite: bool, sources: Iterable[str] = (), option: str = "--out", folder: bool = False
) -> None:
    """Raise before anything is computed, if a file cannot or must not be written.

    Parameters
    ----------
    path : str
        The file, or with `folder` a file or folder. Devices and pipes are never refused.
    overwrite : bool
        Whether it may replace what is there.
    sources : iterable of str
        Files that are read, and never replaced.
    option : str
        The option that named `path`, for messages.

    Raises
    ------
    InvalidParameterError
        If it is one of the sources, or exists and must not be replaced.
    UnwritableFileError
        If it is a folder, or there is no folder to write it to.
    """
    if any(_same(path, source) for source in sources):
        raise InvalidParameterError(f"{path!r} is also an input; give another {option}.")
    target = Path(path)
    with writing(path):
        found = target.exists()
    if found and target.is_dir() and not folder:
        raise UnwritableFileError(f"{path!r} is a directory and cannot be written; give {option} the name of a file.")
    if found and not _is_stream(path) and not overwrite:
        raise InvalidParameterError(f"{path!r} exists already; give another {option}, or --overwrite to replace it.")
    if not target.parent.is_dir():
        raise UnwritableFileError(
            f"{path!r} cannot be written: there is no directory {str(target.parent)!r}; create it first."
        )


def _is_stream(name: str) -> bool:
    """Whether a name is a device, a pipe, or an open file of this process."""
    mode = os.stat(name).st_mode if os.path.exists(name) else stat.S_IFREG
    return _OPEN_FILE.fullmatch(name) is not None or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _same(first: str, second: str) -> bool:
    try:
        return os.path.samefile(first, second)
    except (OSError, ValueError):
        return False


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of the operating system into an `UnwritableFileError` that names the file or folder."""
    try:
        yield
    except AmortizedKdeError:
        raise
    except OSError as error:
        raise UnwritableFileError(f"{os.fsdecode(path)!r} cannot be written ({error.strerror or error}).") from None


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path`, and move it to `path` once the block has ended without an error.

    After an error or an interruption `path` is what it was, and the temporary file is gone; only a killed process
    leaves it, as ``NAME.????????.part``. Devices and pipes cannot be replaced and are written to directly.

    Raises
    ------
    UnwritableFileError
        If the file cannot be written.
    """
    name = os.fsdecode(path)
    if "\0" in name:
        raise UnwritableFileError(f"{name!r} cannot be written: a file name cannot contain a null character.")
    with writing(name):
        target = os.path.realpath(name)
        if _is_stream(name):
            # A name such as /dev/stdout is an open file, whose place in it must be kept.
            number = _OPEN_FILE.fullmatch(name)
            with open(os.dup(int(_NUMBERS.get(number[1], number[1]))) if number else target, "wb") as file:
                yield file
            return
        temporary = temporary_name(target)
        try:
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if os.path.exists(target):
                # A private file stays private.
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


def temporary_name(path: str) -> str:
    """Return a fresh name in the folder of `path`."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f"{name[:_KEPT]}.{secrets.token_hex(4)}.part")


def write_file(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a whole file in one move, text as UTF-8; raises as `replacing`."""
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, unless it exists; raise `UnwritableFileError` if it cannot be made."""
    if path.exists() and not path.is_dir():
        raise UnwritableFileError(f"{str(path)!r} is a file; give the name of a folder.")
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def locked(folder: Path, names: Sequence[str] = ()) -> Iterator[None]:
    """Make a folder, and let no other process that asks for it write to it during the block.

    The operating system ends the lock with the process, so a killed one blocks nobody. What killed processes left of
    the files `names` is removed.

    Raises
    ------
    UnwritableFileError
        If another process has the lock, or the folder cannot be made.
    """
    make_folder(folder)
    path = folder / _LOCK
    with writing(folder):
        descriptor = _lock(path)
    if descriptor is None:
        raise UnwritableFileError(f"another process is writing to {str(folder)!r}; wait for it, or give another --out.")
    try:
        for name in names:
            for left in folder.glob(f"{name}.????????.part"):
                left.unlink(missing_ok=True)
        yield
    finally:
        # Removed first: whoever opens it now finds a file that is no longer there, and tries again.
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def _lock(path: Path) -> int | None:
    """Return the descriptor of the locked file, or None if another process has locked it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _claim(descriptor)
            if _is_at(descriptor, path):
                return descriptor
        except (BlockingIOError, PermissionError):
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _claim(descriptor: int) -> None:
    """Lock a file without waiting; do nothing where neither the system nor the file system has locks."""
    try:
        import fcntl
    except ImportError:
        _claim_on_windows(descriptor)
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            raise


def _claim_on_windows(descriptor: int) -> None:
    with suppress(ImportError):
        msvcrt: Any = __import__("msvcrt")
        # Raises PermissionError if another process has it.
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file still has this name: its last owner may have removed it in the meantime."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
