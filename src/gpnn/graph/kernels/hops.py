"""Vertices within a number of hops, by breadth-first search inside one graph."""

from __future__ import annotations

import numpy as np

from ._jit import jit

__all__ = ["ball_sizes", "reach"]


@jit
def reach(source, base, indptr, indices, limit, depth, queue):  # type: ignore[no-untyped-def]
    """Write the vertices within ``limit`` hops of ``source`` to ``queue``, nearest first.

    Vertices are numbered from 0 in their graph, whose first vertex is ``base`` in the CSR.
    ``depth`` must be -1 everywhere on entry and holds the distances afterwards; the caller resets
    it for the vertices in the queue. The source comes first, then its neighbours in the order of
    its row. Returns the number of vertices found.
    """
    queue[0] = source
    depth[source] = 0
    head = 0
    tail = 1
    while head < tail:
        v = queue[head]
        head += 1
        if depth[v] == limit:
            break
        for at in range(indptr[base + v], indptr[base + v + 1]):
            u = indices[at] - base
            if depth[u] < 0:
                depth[u] = depth[v] + 1
                queue[tail] = u
                tail += 1
    return tail


@jit
def ball_sizes(ptr, indptr, indices, limit):  # type: ignore[no-untyped-def]
    """Sum over v of the size of N_limit(v) for every graph, v included."""
    sizes = np.zeros(len(ptr) - 1, np.int64)
    widest = 0
    for g in range(len(ptr) - 1):
        widest = max(widest, ptr[g + 1] - ptr[g])
    depth = np.full(widest, -1, np.int32)
    queue = np.empty(widest, np.int32)
    for g in range(len(ptr) - 1):
        base = ptr[g]
        if limit == 1:
            n = ptr[g + 1] - base
            sizes[g] = n + indptr[base + n] - indptr[base]
            continue
        for v in range(ptr[g + 1] - base):
            ball_size = reach(v, base, indptr, indices, limit, depth, queue)
            sizes[g] += ball_size
            for i in range(ball_size):
                depth[queue[i]] = -1
    return sizes
