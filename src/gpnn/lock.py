"""A lock between processes that is released even if its process is killed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import InputError
from .files import hold, writing

__all__ = ["locked", "sole_writer"]

_PAUSE = 0.02


@contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[bool]:
    """Hold a lock file; without ``wait``, yields ``False`` at once if another process holds it.

    The system releases the lock when the process ends, for whatever reason; the empty file stays.
    The holder may delete the file: waiting processes then create a new one.
    """
    while True:
        file = _open(path)
        taken = _take(file)
        while wait and not taken:
            time.sleep(_PAUSE)
            taken = _take(file)
        if not taken or _is_there(file, path):
            break
        file.close()
    with file:
        yield taken


@contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Keep other processes from writing a log meanwhile; an error if one does."""
    lock = path.with_name(f"{path.name}.lock")
    with locked(lock, wait=False) as mine:
        if not mine:
            raise InputError(f"Another process writes {path}. Wait, or name another --log.")
        yield
        with suppress(OSError):  # Windows does not remove an open file
            lock.unlink()


def _open(path: Path) -> IO[bytes]:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+b")


def _is_there(file: IO[bytes], path: Path) -> bool:
    """Whether the path still refers to the open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _take(file: IO[bytes]) -> bool:
    if os.name != "nt":
        return hold(file.fileno())
    import msvcrt

    try:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True
