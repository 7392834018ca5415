"""Attributes of vertices and edges: which of them are labels, and their positions in the CSR.

One rule applies to all input formats: a column of integers is a label, and so are one-hot rows, as
in PyG's ``TUDataset``. Other floats are features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .graphs import Graphs

__all__ = ["entries_of", "labels_of"]

Ints = NDArray[np.int64]


def labels_of(values: NDArray[Any], name: str) -> tuple[Ints | None, int | None]:
    """One integer label per row, and the number of classes if the rows are one-hot. Labels are
    ``None`` for other values."""
    table = values[:, None] if values.ndim == 1 else values
    if table.ndim != 2:
        raise InputError(f"{name} must have shape [rows, columns]; got {list(values.shape)}.")
    if table.dtype.kind not in "iufb":
        raise InputError(f"{name} must hold numbers; got {values.dtype}.")
    width = table.shape[1]
    if width > 1:
        ones = table == 1
        if bool((ones.sum(1) == 1).all()) and bool(((table == 0) | ones).all()):
            return ones.argmax(1).astype(np.int64), width
        return None, None
    if width == 0 or table.dtype.kind == "f":
        return None, None
    return table[:, 0].astype(np.int64), None


def entries_of(graphs: Graphs, src: Ints, dst: Ints, values: NDArray[Any]) -> NDArray[Any]:
    """Store values of given edges at both CSR entries of each edge.

    Args:
        src, dst: global vertex ids.
        values: one row per given edge, [edges, columns].
    """
    from .kernels.csr import edge_positions

    out = np.zeros((len(graphs.indices), values.shape[1]), values.dtype)
    pairs = [
        edge_positions(graphs.indptr, graphs.indices, *ends) for ends in ((dst, src), (src, dst))
    ]
    real = pairs[0] >= 0
    for position in pairs:
        out[position[real]] = values[real]
    for position in pairs:
        wrong = (out[position[real]] != values[real]).any(1)
        if wrong.any():
            e = int(np.flatnonzero(real)[np.flatnonzero(wrong)[0]])
            raise InputError(
                f"The two directions of edge {e} have different features. Graphs are undirected "
                "here: give both directions the same."
            )
    return out
