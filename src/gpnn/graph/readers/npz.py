"""NumPy archives (never unpickled) with an ``edge_index`` array or a saved SciPy sparse matrix.

With ``edge_index`` of shape [2, m], the number of vertices is ``num_nodes``, else the first entry
of ``x_shape``, else the length of ``y`` or ``x``, else the largest id plus one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...array_files import read_arrays
from ...arrays import whole_numbers
from ...errors import InputError
from ...sizes import check_vertices
from ..convert import as_graphs, count_vertices, split_rows
from ..graphs import Graphs
from .files import one_of

__all__ = ["read_npz"]

Arrays = Mapping[str, NDArray[Any]]


def read_npz(path: Path) -> Graphs:
    """Read one graph from a ``.npz`` file."""
    file = read_arrays(path)
    try:
        if "edge_index" in file:
            return _edge_index(file)
        if "format" in file and "shape" in file:
            return _matrix(file)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    raise InputError(
        f"{path} holds {one_of(sorted(file)) or 'nothing'}. It needs an array edge_index of shape "
        "[2, edges], or a matrix saved by scipy.sparse.save_npz."
    )


def _edge_index(file: Arrays) -> Graphs:
    edges = file["edge_index"]
    if edges.ndim != 2 or len(edges) != 2:
        raise InputError(f"edge_index must have shape [2, edges], got {edges.shape}.")
    src, dst = split_rows(edges)
    num_nodes = _num_nodes(file)
    if num_nodes is None:
        num_nodes = count_vertices(src, dst)
    check_vertices(num_nodes, len(src))
    return Graphs.from_edges(src, dst, num_nodes)


def _num_nodes(file: Arrays) -> int | None:
    for name in ("num_nodes", "x_shape"):
        if name in file:
            stated = whole_numbers(file[name].reshape(-1)[:1], name)
            if not len(stated):
                raise InputError(f"{name} is empty.")
            return int(stated[0])
    for name in ("y", "x"):
        if name in file:
            return len(np.atleast_1d(file[name]))
    return None


def _matrix(file: Arrays) -> Graphs:
    """Convert a matrix written by ``scipy.sparse.save_npz``."""
    from scipy import sparse

    kind = file["format"].tobytes().rstrip(b"\0").decode("ascii", "replace").replace("\0", "")
    shape = whole_numbers(file["shape"], "shape").tolist()
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"An adjacency matrix is square; got shape {tuple(shape)}.")
    parts: dict[str, tuple[str, ...]] = {
        "csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "bsr": ("indices", "indptr"),
        "coo": ("row", "col"), "dia": ("offsets",),
    }  # fmt: skip
    if kind not in parts:
        raise InputError(
            f"There is no sparse format {kind!r}. Choose one of: {one_of(list(parts))}."
        )
    data, rest = np.atleast_1d(file["data"]), [file[name] for name in parts[kind]]
    check_vertices(shape[0], data.size)
    rest = [whole_numbers(one, name) for one, name in zip(rest, parts[kind], strict=True)]
    make: Any = getattr(sparse, f"{kind}_array")
    try:
        matrix = make((data, tuple(rest)) if kind == "coo" else (data, *rest), shape=tuple(shape))
        return as_graphs(matrix)
    except (ValueError, TypeError, IndexError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"The sparse matrix is damaged: {error}.") from None
