"""Balls N_r(v) of all vertices of a graph, as rows of pairs in ascending order."""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .hops import reach
from .lean import lean

__all__ = ["CROSS_EDGES", "EDGES", "PAIRS", "ball_counts", "ball_rows"]

CROSS_EDGES, EDGES, PAIRS = 0, 1, 2


@jit
def ball_counts(ptr, indptr, indices, limit, most):  # type: ignore[no-untyped-def]
    """``(sizes, done)``: the size of N_limit(v) for every vertex v.

    Stops when the sum over one graph exceeds ``most``; ``done`` is the number of counted vertices.
    """
    widest = 1
    for g in range(len(ptr) - 1):
        widest = max(widest, ptr[g + 1] - ptr[g])
    sizes = np.zeros(ptr[len(ptr) - 1], np.int64)
    depth = np.full(widest, -1, np.int32)
    queue = np.empty(widest, np.int32)
    for g in range(len(ptr) - 1):
        base = ptr[g]
        total = 0
        for v in range(ptr[g + 1] - base):
            ball_size = reach(v, base, indptr, indices, limit, depth, queue)
            for i in range(ball_size):
                depth[queue[i]] = -1
            sizes[base + v] = ball_size
            total += ball_size
            if total > most:
                return sizes, base + v + 1
    return sizes, len(sizes)


@lean
def ball_rows(  # type: ignore[no-untyped-def]
    base, indptr, indices, part, which, d, radius, rounds, depth, queue, cursor, met, graph
):
    """Fill the rows N_radius(v) of one graph in ascending order; ``cursor`` and ``met`` are
    scratch arrays.

    ``graph`` is ``(row, near, ball, until, hops, entry, close, mate)``. The pairs (v, u) of v are
    ``row[v]:row[v+1]``: ``ball`` is u, ``hops`` the distance, ``entry`` the CSR entry or -1,
    ``until`` the last round in which the pair is learned, 0 if it never is. Pairs with u ∈ N_d(v)
    are listed in ``close``, those of v at ``near[v]:near[v+1]``, with u itself in ``mate``.

    Balls are symmetric: visiting u in order and appending it to the rows of its ball gives sorted
    rows.
    """
    row, near, ball, until, hops, entry, close, mate = graph
    n = len(row) - 1
    row[0], near[0] = 0, 0
    for v in range(n):
        ball_size = reach(v, base, indptr, indices, radius, depth, queue)
        row[v + 1] = row[v] + ball_size
        near[v + 1] = near[v]
        for i in range(ball_size):
            near[v + 1] += depth[queue[i]] <= d
            depth[queue[i]] = -1
        cursor[v], met[v] = row[v], 0
    for u in range(n):
        ball_size = reach(u, base, indptr, indices, radius, depth, queue)
        for i in range(ball_size):
            v = queue[i]
            e = cursor[v]
            cursor[v] += 1
            far = depth[v]
            depth[v] = -1
            ball[e], hops[e], entry[e], until[e] = u, far, -1, 0
            if far == 1:
                entry[e] = indptr[base + v] + met[v]
                met[v] += 1
                if which != CROSS_EDGES or part[base + v] != part[base + u]:
                    until[e] = rounds
            if which == PAIRS and far > 0:
                until[e] = rounds + 1 - (far + d - 1) // d
    k = 0
    for e in range(row[n]):
        if hops[e] <= d:
            close[k], mate[k] = e, ball[e]
            k += 1
