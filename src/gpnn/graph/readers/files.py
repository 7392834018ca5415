"""Bytes of a file, and errors that name the place in it."""

from __future__ import annotations

import gzip
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import InputError

__all__ = ["MAX_FILE_BYTES", "InputNote", "note", "one_of", "read_bytes", "where"]

MAX_FILE_BYTES = 4 * 2**30
"""Largest file read into memory, after decompression: 4 GiB."""
MAX_RATIO, SMALL = 200, 2**26
"""A gzip file may unpack to so many times its size, or to 64 MiB."""
CHUNK = 2**24


class InputNote(UserWarning):
    """Something in the input was ignored, with a count; the result stands without it."""


def note(message: str) -> None:
    """Tell the caller what was ignored."""
    warnings.warn(message, InputNote, stacklevel=3)


def where(path: Path, line: int) -> str:
    """The place of a 0-based line, counted from 1 as editors do."""
    return f"{path}, line {line + 1}"


def one_of(options: Sequence[str]) -> str:
    """The choices, for an error message."""
    return ", ".join(options)


def read_bytes(path: Path) -> bytes:
    """The whole file; ``.gz`` is decompressed."""
    packed = path.suffix.lower() == ".gz"
    try:
        size = path.stat().st_size
        most = max(SMALL, MAX_RATIO * size) if packed else MAX_FILE_BYTES
        with gzip.open(path) if packed else path.open("rb") as stream:
            raw = _read(stream, min(most, MAX_FILE_BYTES))
    except FileNotFoundError:
        raise InputError(f"There is no file {path}. Check the path.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path} is truncated or not gzip ({error}). Get the file again."
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    if len(raw) > MAX_FILE_BYTES:
        raise InputError(f"{path} is larger than {MAX_FILE_BYTES // 2**30} GiB. Split it.")
    if len(raw) > most:
        raise InputError(
            f"{path} unpacks to more than {MAX_RATIO} times its size, which no real table does. If "
            "it is in order, unpack it first."
        )
    return raw


def _read(stream: Any, most: int) -> bytes:
    """All bytes, or one more than so many; memory grows with what is there."""
    parts, total = [], 0
    while total <= most and (part := stream.read(min(CHUNK, most + 1 - total))):
        parts.append(part)
        total += len(part)
    return b"".join(parts)
