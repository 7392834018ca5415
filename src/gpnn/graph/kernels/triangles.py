"""Number of triangles at every vertex, by intersection of oriented edges."""

from __future__ import annotations

import numpy as np

from ._jit import jit

__all__ = ["triangles"]


@jit
def triangles(indptr, indices):  # type: ignore[no-untyped-def]
    """Number of triangles at every vertex.

    Every edge is oriented from the end of lower degree to the end of higher degree (ties by id),
    which leaves O(√|E|) outgoing arcs per vertex. A triangle a → b → c, a → c is then found once:
    the targets of a are marked, with one byte each to stay in the cache, and the targets of each
    such b are looked up. The cost is O(|E|^{3/2}).
    """
    n = len(indptr) - 1
    count = np.zeros(n, np.int64)
    rank = np.empty(n, np.int32)
    bins = np.zeros(n + 2, np.int64)
    for v in range(n):
        bins[indptr[v + 1] - indptr[v] + 1] += 1
    for d in range(n + 1):
        bins[d + 1] += bins[d]
    order = np.empty(n, np.int32)
    for v in range(n):
        d = indptr[v + 1] - indptr[v]
        rank[v] = bins[d]
        order[bins[d]] = v
        bins[d] += 1
    start = np.zeros(n + 1, np.int64)
    for r in range(n):
        v = order[r]
        out = 0
        for at in range(indptr[v], indptr[v + 1]):
            if rank[indices[at]] > r:
                out += 1
        start[r + 1] = start[r] + out
    arrow = np.empty(start[n], np.int32)
    to = 0
    for r in range(n):
        v = order[r]
        for at in range(indptr[v], indptr[v + 1]):
            q = rank[indices[at]]
            if q > r:
                arrow[to] = q
                to += 1
    one = np.uint64(1)
    mark = np.zeros(n, np.uint8)
    for a in range(n):
        if start[a + 1] - start[a] < 2:
            continue
        for at in range(start[a], start[a + 1]):
            mark[np.uint64(arrow[at])] = 1
        for at in range(start[a], start[a + 1]):
            b = np.uint64(arrow[at])
            common = 0
            for to in range(start[b], start[b + one]):
                c = np.uint64(arrow[to])
                if mark[c]:
                    count[order[c]] += 1
                    common += 1
            if common:
                count[order[b]] += common
                count[order[a]] += common
        for at in range(start[a], start[a + 1]):
            mark[np.uint64(arrow[at])] = 0
    return count
