"""The edges of some graphs of a set, renumbered."""

from __future__ import annotations

import numpy as np

from ._jit import jit

__all__ = ["gather_edges", "gather_vertices"]


@jit
def gather_vertices(graphs, ptr):  # type: ignore[no-untyped-def]
    """``(vertices, starts)``: the vertices of the chosen graphs in order, and where each begins."""
    starts = np.zeros(len(graphs) + 1, np.int64)
    for i in range(len(graphs)):
        starts[i + 1] = starts[i] + ptr[graphs[i] + 1] - ptr[graphs[i]]
    vertices = np.empty(starts[-1], np.int64)
    for i in range(len(graphs)):
        for j in range(starts[i + 1] - starts[i]):
            vertices[starts[i] + j] = ptr[graphs[i]] + j
    return vertices, starts


@jit
def gather_edges(graphs, ptr, indptr, indices, starts, rank):  # type: ignore[no-untyped-def]
    """``(row, column, entry)`` of all CSR entries of the chosen graphs, in order.

    ``rank`` renumbers the vertices of the batch; ``entry`` is the position in ``indices``.
    """
    total = 0
    for i in range(len(graphs)):
        total += indptr[ptr[graphs[i] + 1]] - indptr[ptr[graphs[i]]]
    row = np.empty(total, np.int64)
    column = np.empty(total, np.int64)
    entry = np.empty(total, np.int64)
    to = 0
    for i in range(len(graphs)):
        low = ptr[graphs[i]]
        for v in range(low, ptr[graphs[i] + 1]):
            for at in range(indptr[v], indptr[v + 1]):
                row[to] = rank[starts[i] + v - low]
                column[to] = rank[starts[i] + indices[at] - low]
                entry[to] = at
                to += 1
    return row, column, entry
