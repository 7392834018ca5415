"""NumPy arrays in ``.npz`` files: never unpickled, never larger than the file justifies.

Every entry is decompressed as a whole, which verifies its zip checksum. The shape and dtype in its
header are compared with the number of bytes before an array is created.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import native
from .errors import InputError
from .files import atomic_path, reading
from .sizes import check_unpacked

__all__ = ["DamagedArrays", "read_arrays", "write_arrays"]

_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError,
            KeyError, TypeError, SyntaxError, RecursionError, OverflowError)  # fmt: skip


class DamagedArrays(InputError):
    """The file is truncated, damaged, or not a ``.npz`` file."""


class ArrayFile(Mapping[str, NDArray[Any]]):
    """The arrays of a file by name, each read on access."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as file:
            members = file.infolist()
            check_unpacked(path, path.stat().st_size, sum(one.file_size for one in members))
        self._names = [member.filename.removesuffix(".npy") for member in members]

    @contextmanager
    def _open(self) -> Iterator[zipfile.ZipFile]:
        try:
            with reading(self.path), zipfile.ZipFile(self.path) as file:
                yield file
        except _DAMAGED as error:
            if isinstance(error, InputError):
                raise
            raise DamagedArrays(
                f"{self.path} is truncated, not a .npz or holds pickled objects, which are never "
                f"opened ({error})."
            ) from None

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._names:
            raise DamagedArrays(f"{self.path} holds no array {name!r}.")
        with self._open() as file:
            return _array(file.read(f"{name}.npy"))

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def read_arrays(path: str | Path) -> ArrayFile:
    """Open a ``.npz`` file; arrays are read on access."""
    return ArrayFile(Path(path))


def _array(content: bytes) -> NDArray[Any]:
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, fortran, dtype = header(stream)
    if dtype.hasobject:
        raise ValueError("an array of Python objects")
    need = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or need != len(content) - stream.tell():
        raise ValueError(f"an array of shape {shape} in {len(content):,} bytes")
    flat = np.frombuffer(content, np.uint8, offset=stream.tell()).copy()
    if not dtype.itemsize:
        return np.zeros(shape, dtype)
    return native(flat.view(dtype).reshape(shape, order="F" if fortran else "C"))


def write_arrays(path: str | Path, arrays: Mapping[str, NDArray[Any]], packed: bool = True) -> None:
    """Write a ``.npz`` file atomically; ``packed`` compresses it."""
    method = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w", method) as file:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asanyarray(array), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy")  # no timestamp: equal arrays give equal bytes
            entry.compress_type = method
            file.writestr(entry, content.getbuffer())
