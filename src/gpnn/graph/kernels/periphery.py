"""Vertices at an exact distance, and the edges within sets of vertices."""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .hops import reach

__all__ = ["peripheral_components", "shells"]


@jit
def shells(ptr, indptr, indices, most):  # type: ignore[no-untyped-def]
    """``(row, column, far)``: all pairs of vertices at distance 1 to ``most``, by row."""
    widest = 1
    for g in range(len(ptr) - 1):
        widest = max(widest, ptr[g + 1] - ptr[g])
    depth = np.full(widest, -1, np.int32)
    queue = np.empty(widest, np.int32)
    room = 4096
    row, column = np.empty(room, np.int64), np.empty(room, np.int64)
    far = np.empty(room, np.int64)
    used = 0
    for g in range(len(ptr) - 1):
        base = ptr[g]
        for v in range(ptr[g + 1] - base):
            ball_size = reach(v, base, indptr, indices, most, depth, queue)
            while used + ball_size > room:
                row = np.concatenate((row, np.empty_like(row)))
                column = np.concatenate((column, np.empty_like(column)))
                far = np.concatenate((far, np.empty_like(far)))
                room *= 2
            for i in range(ball_size):
                u = queue[i]
                if depth[u] > 0:
                    row[used], column[used], far[used] = base + v, base + u, depth[u]
                    used += 1
                depth[u] = -1
    return row[:used], column[:used], far[:used]


@jit
def peripheral_components(bounds, members, indptr, indices):  # type: ignore[no-untyped-def]
    """``(owner, edges)``: the set s and the number of edges of every connected component, with at
    least one edge, of the subgraph induced by ``members[bounds[s]:bounds[s + 1]]``."""
    n = len(indptr) - 1
    inside = np.full(n, -1, np.int64)
    seen = np.full(n, -1, np.int64)
    stack = np.empty(n, np.int64)
    owner, edges = np.empty(1024, np.int64), np.empty(1024, np.int64)
    used = 0
    for s in range(len(bounds) - 1):
        for at in range(bounds[s], bounds[s + 1]):
            inside[members[at]] = s
        for at in range(bounds[s], bounds[s + 1]):
            if seen[members[at]] == s:
                continue
            stack[0], size, twice = members[at], 1, 0
            seen[members[at]] = s
            while size > 0:
                size -= 1
                v = stack[size]
                for e in range(indptr[v], indptr[v + 1]):
                    u = indices[e]
                    if inside[u] != s:
                        continue
                    twice += 1
                    if seen[u] != s:
                        seen[u] = s
                        stack[size] = u
                        size += 1
            if twice:
                if used == len(owner):
                    owner = np.concatenate((owner, np.empty_like(owner)))
                    edges = np.concatenate((edges, np.empty_like(edges)))
                owner[used], edges[used] = s, twice // 2
                used += 1
    return owner[:used], edges[:used]
