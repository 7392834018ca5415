"""Overlaps of the closed neighbourhoods of adjacent vertices."""

from __future__ import annotations

import numpy as np

from ._jit import jit

__all__ = ["overlap_sizes"]


@jit
def overlap_sizes(indptr, indices):  # type: ignore[no-untyped-def]
    """``(vertices, edges)`` of G[N̄(u) ∩ N̄(v)] for every CSR entry (u, v)."""
    n = len(indptr) - 1
    vertices = np.zeros(len(indices), np.int64)
    edges = np.zeros(len(indices), np.int64)
    near = np.full(n, -1, np.int64)  # the last u that the vertex is a neighbour of
    both = np.full(n, -1, np.int64)  # the last entry (u, v) of which it is a common neighbour
    for u in range(n):
        for at in range(indptr[u], indptr[u + 1]):
            near[indices[at]] = u
        for at in range(indptr[u], indptr[u + 1]):
            v = indices[at]
            count, inside = 0, 0
            for other in range(indptr[v], indptr[v + 1]):
                w = indices[other]
                if near[w] == u:
                    both[w] = at
                    count += 1
            for other in range(indptr[v], indptr[v + 1]):
                w = indices[other]
                if both[w] == at:
                    for third in range(indptr[w], indptr[w + 1]):
                        inside += both[indices[third]] == at
            vertices[at] = count + 2
            edges[at] = 1 + 2 * count + inside // 2
    return vertices, edges
