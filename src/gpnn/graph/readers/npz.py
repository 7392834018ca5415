"""NumPy archives, never unpickled: an ``edge_index`` array, or a saved SciPy sparse matrix.

With ``edge_index`` of shape [2, m] the number of vertices is ``num_nodes``, else the first entry
of ``x_shape``, else the length of ``y`` or ``x``, else the largest id plus one.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from ...errors import InputError
from ..convert import as_graphs, count_vertices, split_rows
from ..graphs import Graphs
from .files import one_of

__all__ = ["read_npz"]

_UNREADABLE = (
    *(ValueError, TypeError, AttributeError, LookupError),  # arrays of another kind or shape
    *(OSError, EOFError, zipfile.BadZipFile, zlib.error),
    *(NotImplementedError, RuntimeError),  # zip features that are not supported, passwords
)


def read_npz(path: Path) -> Graphs:
    """One graph from a ``.npz``."""
    try:
        with np.load(path, allow_pickle=False) as file:
            if "edge_index" in file:
                edges = file["edge_index"]
                num_nodes = _num_nodes(file)
            elif "format" in file and "shape" in file:
                return _matrix(path)
            else:
                raise InputError(
                    f"{path} holds {one_of(sorted(file.files)) or 'nothing'}. It needs an array "
                    "edge_index of shape [2, edges], or a matrix saved by scipy.sparse.save_npz."
                )
    except FileNotFoundError:
        raise InputError(f"There is no file {path}. Check the path.") from None
    except _UNREADABLE as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path} is truncated, not a .npz or holds pickled objects, which are never opened "
            f"({error})."
        ) from None
    if edges.ndim != 2 or len(edges) != 2:
        raise InputError(f"{path}: edge_index must have shape [2, edges], got {edges.shape}.")
    src, dst = split_rows(edges)
    return Graphs.from_edges(src, dst, count_vertices(src, dst) if num_nodes is None else num_nodes)


def _num_nodes(file: np.lib.npyio.NpzFile) -> int | None:
    if "num_nodes" in file:
        return int(file["num_nodes"])
    if "x_shape" in file:
        return int(file["x_shape"][0])
    return next((len(file[key]) for key in ("y", "x") if key in file), None)


def _matrix(path: Path) -> Graphs:
    from scipy.sparse import load_npz

    return as_graphs(load_npz(path))
