"""Unpack a zip file safely into the cache: never next to the file, never outside the cache.

A member with an absolute path, ``..`` or a symbolic link is refused, and so is an archive of more
than MAX_FILES files or MAX_BYTES unpacked bytes. The folder name contains a hash of the file.
The folder is created atomically: one process at a time fills it under another name, then renames
it. Leftovers of killed processes are removed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from ...errors import InputError, OutputError
from ...files import home, reading, user_path, writing
from ...lock import locked
from ...sizes import check_unpacked

__all__ = ["MAX_BYTES", "MAX_FILES", "cache_root", "unpack"]

MAX_FILES = 10_000
MAX_BYTES = 4 * 2**30
_CHUNK = 2**20
_DRAFT = ".unpacking-"


def cache_root() -> Path:
    """``$GPNN_CACHE``, or the user's cache folder of the platform."""
    given = os.environ.get("GPNN_CACHE")
    if given:
        return user_path(given)
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "gpnn"
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"]) / "gpnn" / "cache"
    if sys.platform == "darwin":
        return home() / "Library" / "Caches" / "gpnn"
    return home() / ".cache" / "gpnn"


def unpack(path: Path) -> Path:
    """Unpack an archive into the cache if needed, and return its folder."""
    with reading(path), path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    parent = cache_root() / "unpacked"
    target = parent / f"{path.stem}-{digest[:16]}"
    if target.is_dir():
        return target
    with writing_cache(parent):
        parent.mkdir(parents=True, exist_ok=True)
        lock = parent / f".{target.name}.lock"
        with locked(lock):  # another process may be unpacking it
            for leftover in parent.glob(f"{_DRAFT}{target.name}-*"):
                shutil.rmtree(leftover, ignore_errors=True)
            if not target.is_dir():
                draft = parent / f"{_DRAFT}{target.name}-{os.getpid()}"
                draft.mkdir()
                try:
                    _extract(path, draft)
                    draft.rename(target)
                finally:
                    shutil.rmtree(draft, ignore_errors=True)
                    with suppress(OSError):
                        lock.unlink()
    return target


@contextmanager
def writing_cache(folder: Path) -> Iterator[None]:
    """Convert system errors while writing to the cache, with a hint to set ``GPNN_CACHE``."""
    try:
        with writing(folder):
            yield
    except OutputError as error:
        raise OutputError(f"{error} Set GPNN_CACHE to a folder of yours.") from None


def _extract(path: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check(path, members)
            check_unpacked(path, path.stat().st_size, sum(one.file_size for one in members))
            left = MAX_BYTES
            for member in members:
                if not member.is_dir():
                    left = _write(archive, member, folder / member.filename, left, path)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(
            f"{path} is truncated or not a readable zip ({error}). Get the file again."
        ) from None


def _check(path: Path, members: list[zipfile.ZipInfo]) -> None:
    if len(members) > MAX_FILES:
        raise InputError(
            f"{path} holds {len(members):,} files; at most {MAX_FILES:,} are unpacked."
        )
    total = sum(member.file_size for member in members)
    if total > MAX_BYTES:
        raise _too_large(path)
    for member in members:
        name = member.filename
        parts = PurePosixPath(name.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or (parts.parts and ":" in parts.parts[0]):
            raise InputError(
                f"{path} wants to write {name!r}, outside its folder. It was not unpacked: do not "
                "trust this file."
            )
        if stat.S_ISLNK(member.external_attr >> 16):
            raise InputError(f"{path} holds the link {name!r}. It was not unpacked.")


def _write(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, left: int, path: Path
) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, target.open("wb") as sink:
        while chunk := source.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise _too_large(path)
            sink.write(chunk)
    return left


def _too_large(path: Path) -> InputError:
    return InputError(f"{path} unpacks to more than {MAX_BYTES // 2**30} GiB. It was not unpacked.")
