"""Unpack a zip into the cache, safely: never into the folder it lies in, never outside the cache.

A member with an absolute path, ``..`` or a symbolic link is refused, and so is an archive of more
than MAX_FILES files or MAX_BYTES bytes once unpacked. The folder is named by the content's SHA-256
and appears whole or not at all: it is filled under another name, then renamed, so that two
processes may unpack at once.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from ...errors import InputError

__all__ = ["MAX_BYTES", "MAX_FILES", "cache_root", "unpack"]

MAX_FILES = 10_000
MAX_BYTES = 4 * 2**30
_CHUNK = 2**20


def cache_root() -> Path:
    """``$GPNN_CACHE``, or the user's cache folder of the platform."""
    given = os.environ.get("GPNN_CACHE")
    if given:
        return Path(given).expanduser()
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "gpnn"
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"]) / "gpnn" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "gpnn"
    return Path.home() / ".cache" / "gpnn"


def unpack(path: Path) -> Path:
    """The folder in the cache that holds the unpacked archive."""
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    parent = cache_root() / "unpacked"
    target = parent / f"{path.stem}-{digest[:16]}"
    if target.is_dir():
        return target
    try:
        parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=parent))
    except OSError as error:
        raise InputError(
            f"The cache {parent} cannot be written ({error.strerror or error}). "
            "Set GPNN_CACHE to a folder of yours."
        ) from None
    try:
        _extract(path, draft)
        _settle(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def _settle(draft: Path, target: Path) -> None:
    try:
        draft.rename(target)
    except OSError:
        if not target.is_dir():  # no other process was first: a real failure
            raise


def _extract(path: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check(path, members)
            left = MAX_BYTES
            for member in members:
                if not member.is_dir():
                    left = _write(archive, member, folder / member.filename, left, path)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(
            f"{path} is truncated or not a readable zip ({error}). Get the file again."
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be unpacked: {error.strerror or error}.") from None


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
