"""Paths as people type them, and writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import InputError

__all__ = ["atomic_path", "exists", "refuse_overwriting", "user_path", "write_text"]


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside ``path``, with its suffix, that takes its place if all goes well."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"Cannot write {path}: it is a folder. Give a file name.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-", suffix=path.suffix)
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror}. Choose another place.") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def user_path(text: str | Path) -> Path:
    """A path as a person types it: ``~`` is the home folder, where there is one of that name."""
    try:
        return Path(text).expanduser()
    except RuntimeError:  # no such user
        return Path(text)


def exists(path: Path) -> bool:
    """Whether there is a file or folder; nothing that could not be one is an error."""
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, a NUL byte
        return False


def write_text(path: str | Path, text: str) -> None:
    """Write a text file at once or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def refuse_overwriting(out: Path, source: str) -> None:
    """Refuse to write a result over the file it was computed from."""
    there = user_path(source)
    if out.exists() and exists(there) and out.samefile(there):
        raise InputError(f"{out} is the source itself. Choose another name with --out.")
