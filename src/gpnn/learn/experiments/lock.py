"""A lock between processes that a killed process cannot leave behind."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ...errors import InputError

__all__ = ["locked"]

_PAUSE = 0.02


@contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[bool]:
    """Hold a lock file; without ``wait``, ``False`` at once where another process holds it.

    The system lets go of the lock when the process ends, however it ends; the empty file stays.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror}. Choose another place.") from None
    with file:
        held = _take(file)
        while wait and not held:
            time.sleep(_PAUSE)
            held = _take(file)
        yield held


def _take(file: IO[bytes]) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
