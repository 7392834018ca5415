"""Paths given by users, reading with clear errors, and atomic writing of files."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import InputError, OutputError, system_error

__all__ = [
    *("atomic_path", "check_writable", "exists", "home", "reading", "refuse_overwriting"),
    *("remove_leftovers", "to_disk", "user_path", "write_bytes", "write_text", "writing"),
]

PREFIX = ".writing-"
_LEFTOVER = re.compile(rf"{re.escape(PREFIX)}(\d+)-")
_tidy: set[Path] = set()


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Convert system errors during writing to an :class:`OutputError` that names the path."""
    try:
        yield
    except OSError as error:
        raise OutputError(system_error(f"Cannot write {path}", error)) from None
    except ValueError as error:
        raise _no_path(path, error) from None


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Convert system errors during reading to an :class:`InputError` that names the path."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"There is no file {path}. Check the path.") from None
    except OSError as error:
        raise InputError(system_error(f"Cannot read {path}", error)) from None
    except ValueError as error:
        raise _no_path(path, error) from None
    except MemoryError:
        raise InputError(f"{path} holds more than memory does. Split it.") from None


def _no_path(path: str | Path, error: ValueError) -> ValueError:
    """The error itself, or a clear message if the path contains a NUL character."""
    if "null" not in str(error) or isinstance(error, InputError):
        return error
    return InputError(f"{str(path)!r} is no path: it holds a NUL character.")


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path next to ``path``, with its suffix, that replaces ``path`` on success.

    The file keeps the permissions of the file it replaces; a new file gets the default ones. It is
    flushed to disk before the replacement. Temporary files left by killed processes are removed.
    """
    path = Path(path)
    with writing(path):
        if path.is_dir():
            raise InputError(f"Cannot write {path}: it is a folder. Give a file name.")
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent not in _tidy:
            remove_leftovers(path.parent)
            _tidy.add(path.parent)
        name = f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}{path.suffix}"
        temporary = path.with_name(name)
        mark = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        try:
            with contextlib.suppress(OSError):  # a disk without locks
                hold(mark)
            yield temporary
            if path.exists():
                temporary.chmod(stat.S_IMODE(path.stat().st_mode))
            to_disk(temporary)
            temporary.replace(path)
            to_disk(path.parent)
        finally:
            os.close(mark)
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def check_writable(path: str | Path) -> None:
    """Raise now if :func:`atomic_path` could not write a file later."""
    with contextlib.suppress(_NotYet), atomic_path(path):
        raise _NotYet


class _NotYet(Exception):
    """Leaves :func:`atomic_path` without writing."""


def to_disk(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of killed processes. A running process, also on another machine,
    holds a lock on its own files."""
    with contextlib.suppress(OSError), os.scandir(folder) as items:
        for item in items:
            match = _LEFTOVER.match(item.name)
            if match is None or _lives(int(match[1])):
                continue
            with contextlib.suppress(OSError):
                mark = os.open(item.path, os.O_RDWR)
                try:
                    if hold(mark):
                        os.unlink(item.path)  # noqa: PTH108
                finally:
                    os.close(mark)


def _lives(process: int) -> bool:
    if process == os.getpid():
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def hold(handle: int) -> bool:
    """Lock an open file; ``False`` if another process has locked it. Windows has no such locks:
    the result is always ``True`` there, and open files cannot be removed."""
    if os.name == "nt":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def user_path(text: str | Path) -> Path:
    """A path given by a user, with ``~`` expanded to the home folder if there is one."""
    try:
        return Path(text).expanduser()
    except (RuntimeError, ValueError):  # no such user, a NUL character
        return Path(text)


def home() -> Path:
    """The home folder."""
    try:
        return Path.home()
    except RuntimeError:
        raise InputError("There is no home folder for the cache. Set GPNN_CACHE to one.") from None


def exists(path: Path) -> bool:
    """Whether the file or folder exists; ``False`` for invalid paths."""
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, a NUL byte
        return False


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically, in UTF-8."""
    write_bytes(path, text.encode("utf-8", errors="backslashreplace"))


def refuse_overwriting(out: Path, source: str) -> None:
    """Refuse to write a result over the file it was computed from."""
    there = user_path(source)
    if exists(out) and exists(there) and out.samefile(there):
        raise InputError(f"{out} is the source itself. Choose another name with --out.")
