"""Reading of whole files, and messages that name a line."""

from __future__ import annotations

import gzip
import re
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...files import reading
from ...sizes import check_unpacked, most_unpacked

__all__ = ["MAX_FILE_BYTES", "InputNote", "note", "notes_once", "one_of", "read_bytes", "where"]

MAX_FILE_BYTES = 4 * 2**30
"""Largest file read into memory, after decompression: 4 GiB."""
CHUNK = 2**24


class InputNote(UserWarning):
    """Part of the input was ignored, with a count; the result does not depend on it."""


def note(message: str) -> None:
    """Warn about ignored input, at the line that called gpnn."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "gpnn":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, InputNote, stacklevel=level)


@contextmanager
def notes_once() -> Iterator[None]:
    """Collect the notes on the graphs of a source, and emit each kind once with a count."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        yield
    first: dict[tuple[type[Warning], str], str] = {}
    counts: Counter[tuple[type[Warning], str]] = Counter()
    for item in noted:
        key = (item.category, re.sub(r"[\d,]*\d", "#", str(item.message)))
        first.setdefault(key, str(item.message))
        counts[key] += 1
    for key, message in first.items():
        more = f" The same in {counts[key] - 1:,} more." if counts[key] > 1 else ""
        warnings.warn(f"{message}{more}", key[0], stacklevel=4)


def where(path: Path, line: int) -> str:
    """The path and 1-based number of a 0-based line."""
    return f"{path}, line {line + 1}"


def one_of(options: Sequence[str]) -> str:
    """The choices, for an error message."""
    return ", ".join(options)


def read_bytes(path: Path) -> bytes:
    """The whole file; ``.gz`` is decompressed."""
    packed = path.suffix.lower() == ".gz"
    with reading(path):
        size = path.stat().st_size
        most = most_unpacked(size) if packed else MAX_FILE_BYTES
        try:
            with gzip.open(path) if packed else path.open("rb") as stream:
                raw = _read(stream, min(most, MAX_FILE_BYTES))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"{path} is truncated or not gzip ({error}). Get the file again."
            ) from None
    if len(raw) > MAX_FILE_BYTES:
        raise InputError(f"{path} is larger than {MAX_FILE_BYTES // 2**30} GiB. Split it.")
    if packed:
        check_unpacked(path, size, len(raw))
    return raw


def _read(stream: Any, most: int) -> bytes:
    """Read at most ``most + 1`` bytes in chunks, so that memory grows with the actual size."""
    parts, total = [], 0
    while total <= most and (part := stream.read(min(CHUNK, most + 1 - total))):
        parts.append(part)
        total += len(part)
    return b"".join(parts)
