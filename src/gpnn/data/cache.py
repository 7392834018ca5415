"""Disk cache of computed arrays, with keys derived from the input of the computation.

The folder ``computed`` of the cache has one file per result, named by its key. Files are written
atomically, so that two processes may store the same result at the same time: the contents are
equal, and the last rename wins. Every array has the checksum of its zip entry; a file that is
damaged, or that belongs to another key, is deleted and computed again. The least recently used
files are deleted when the folder exceeds :data:`LIMIT`. Nothing is pickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..array_files import read_arrays, write_arrays
from ..errors import InputError, OutputError
from ..files import exists
from ..graph.readers.archive import cache_root

__all__ = [
    *("LIMIT", "WORTH", "CacheNote", "folder", "key_of", "nothing_kept", "recall", "usage"),
    "uses_cache",
]

FORMAT = 1
LIMIT = 4 * 2**30
"""Maximum size of the folder in bytes."""
WORTH = 0.1
"""Minimum seconds of a computation for its result to be stored. On the benchmarks of the paper (one
core), results that take 0.2 to 9 s to compute are read in a sixth to a thirtieth of that time
(ogbg-molhiv, all edges: 2.6 against 0.4 s; PROTEINS: 0.8 against 0.04 s), while for MUTAG, at 5 ms,
reading takes as long as computing. Looking up a file costs a hundredth of computing its content."""
_KINDS = tuple(np.dtype(kind).str for kind in "?bhilqBHILQfd")

Arrays = dict[str, NDArray[Any]]
_uses = ContextVar("uses", default=True)


class CacheNote(UserWarning):
    """The cache could not be used; the result is not affected."""


def folder() -> Path:
    """Folder of the files."""
    return cache_root() / "computed"


def usage() -> tuple[int, int]:
    """Number of files and bytes in the folder."""
    sizes = [size for _, size, _ in _files()]
    return len(sizes), sum(sizes)


def key_of(what: str, arrays: Mapping[str, NDArray[Any] | None], **options: Any) -> str:
    """A hash of everything a result depends on: the arrays (bytes, type and shape), the options,
    and the code of the graph core.
    """
    total = hashlib.sha256(f"{FORMAT} {code()} {what} {sorted(options.items())}".encode())
    for name, array in arrays.items():
        if array is None:
            total.update(f"|{name} none".encode())
            continue
        total.update(f"|{name} {array.dtype} {array.shape}|".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


@cache
def code() -> str:
    """A hash of the version and the source of the graph core: other code may give other results."""
    total = hashlib.sha256(__version__.encode())
    root = Path(__file__).parent.parent / "graph"
    for path in sorted(root.rglob("*.py")):
        total.update(str(path.relative_to(root)).encode())
        total.update(path.read_bytes())
    return total.hexdigest()


@contextmanager
def nothing_kept() -> Iterator[None]:
    """In this block, results are neither looked up nor stored: for data that are used only once."""
    before = _uses.set(False)
    try:
        yield
    finally:
        _uses.reset(before)


def uses_cache() -> bool:
    return _uses.get()


def recall(key: str, compute: Callable[[], Arrays]) -> Arrays:
    """The arrays of a key: read from the folder, else computed, and stored if that takes at least
    :data:`WORTH` seconds.

    Integer arrays are stored on disk in the smallest type, and restored to their original type.
    """
    path = folder() / f"{key}.npz"
    cached = _read(path, key)
    if cached is not None:
        return cached
    began = time.perf_counter()
    arrays = compute()
    if time.perf_counter() - began >= WORTH:
        _keep(path, key, arrays)
    return arrays


def _read(path: Path, key: str) -> Arrays | None:
    """The content of a file; ``None`` if it is absent, or damaged, in which case it is removed."""
    if not exists(path):
        return None
    try:
        file = read_arrays(path)
        if file["key"].tobytes().decode("ascii", "replace") != key:
            raise InputError(f"{path} belongs to another key.")
        types = file["types"].tobytes().decode("ascii", "replace").split("\n")
        arrays = {}
        for name, _, kind in (line.partition(" ") for line in types):
            if kind not in _KINDS:
                raise InputError(f"{path} holds numbers of the kind {kind!r}.")
            arrays[name] = file[name].astype(kind, copy=False)
    except InputError as error:
        warnings.warn(f"{error} It is computed again.", CacheNote, stacklevel=4)
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # the time of last use, for trimming
    return arrays


def _keep(path: Path, key: str, arrays: Arrays) -> None:
    types = "\n".join(f"{name} {array.dtype.str}" for name, array in arrays.items())
    small = {name: _narrow(array) for name, array in arrays.items()}
    if sum(array.nbytes for array in small.values()) > LIMIT:
        return
    try:
        write_arrays(path, {"key": _bytes(key), "types": _bytes(types), **small}, packed=False)
        _trim(path)
    except OutputError as error:
        warnings.warn(
            f"Nothing is kept in the cache: {error} Set GPNN_CACHE to a folder of yours.",
            CacheNote,
            stacklevel=4,
        )


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """The same integers in the smallest type that holds them."""
    if array.dtype.kind != "i" or not array.size:
        return array
    low, high = int(array.min()), int(array.max())
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return array.astype(kind, copy=False)
    return array


def _bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)


def _files() -> list[tuple[float, int, Path]]:
    """(last use, bytes, path) of every file, except those that are being written."""
    files = []
    for path in folder().glob("*.npz"):
        if path.name.startswith("."):
            continue
        with contextlib.suppress(OSError):
            about = path.stat()
            files.append((about.st_mtime, about.st_size, path))
    return files


def _trim(newest: Path) -> None:
    """Delete the least recently used files until the rest fits."""
    files = sorted(_files())
    total = sum(size for _, size, _ in files)
    for _, size, path in files:
        if total <= LIMIT:
            break
        if path != newest:
            path.unlink(missing_ok=True)
            total -= size
