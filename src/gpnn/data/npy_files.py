"""Plain ``.npy`` files: written in pieces, verified by SHA-256, and memory-mapped."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..errors import InputError
from ..files import atomic_path, reading

__all__ = ["check_npy", "map_npy", "write_npy"]

CHUNK = 2**22


def write_npy(
    path: Path, shape: tuple[int, ...], dtype: DTypeLike, pieces: Iterable[NDArray[Any]]
) -> dict[str, Any]:
    """Write an array atomically from consecutive pieces. Returns its size and SHA-256."""
    kind, head = np.dtype(dtype), io.BytesIO()
    content = {"descr": kind.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(head, content)
    total, size = hashlib.sha256(head.getvalue()), len(head.getvalue())
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        file.write(head.getvalue())
        for piece in pieces:
            data = np.ascontiguousarray(piece, kind).reshape(-1).view(np.uint8).data
            total.update(data)
            size += file.write(data)
    wanted = len(head.getvalue()) + int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    if size != wanted:
        raise ValueError(f"{path}: {size} bytes were written where {wanted} belong")
    return {"bytes": size, "sha256": total.hexdigest()}


def check_npy(folder: Path, files: Mapping[str, Mapping[str, Any]], fix: str) -> None:
    """Raise for files that are missing, truncated or altered."""
    for name, known in files.items():
        path = folder / Path(name).name
        if not path.is_file():
            raise InputError(f"{path} is missing. {fix}")
        with reading(path), path.open("rb") as file:
            size = path.stat().st_size
            if size != known["bytes"]:
                raise InputError(f"{path} is truncated or altered: it has {size:,} bytes where "
                                 f"{known['bytes']:,} belong. {fix}")  # fmt: skip
            total = hashlib.sha256()
            while part := file.read(CHUNK):
                total.update(part)
        if total.hexdigest() != known["sha256"]:
            raise InputError(f"{path} is altered: its checksum does not match. {fix}")


def map_npy(path: Path) -> NDArray[Any]:
    """Memory-map the array of a verified file, copy-on-write. Nothing is unpickled."""
    with reading(path):
        small = path.stat().st_size < 4_096
        array = np.load(path, mmap_mode=None if small else "c", allow_pickle=False)
    return np.asarray(array)
