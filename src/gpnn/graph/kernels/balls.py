"""Balls N_r(v) of the vertices of a graph as ascending rows, and what relates the ends of a pair."""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .hops import reach
from .palette import CROSS, NONE, SELF, WITHIN

__all__ = ["CROSS_EDGES", "EDGES", "PAIRS", "ball_counts", "ball_rows", "start_kind"]

CROSS_EDGES, EDGES, PAIRS = 0, 1, 2


@jit
def ball_counts(ptr, indptr, indices, limit, most):  # type: ignore[no-untyped-def]
    """``(sizes, done)``: |N_limit(v)| of every vertex, given up where a graph's sum passes ``most``.

    ``done`` vertices were counted; all of them unless it was given up.
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
            found = reach(v, base, indptr, indices, limit, depth, queue)
            for i in range(found):
                depth[queue[i]] = -1
            sizes[base + v] = found
            total += found
            if total > most:
                return sizes, base + v + 1
    return sizes, len(sizes)


@jit
def start_kind(hops, first, second):  # type: ignore[no-untyped-def]
    """Self, within, cross or non-edge, for a pair at that distance with ends in these parts."""
    if hops == 0:
        return SELF
    if hops > 1:
        return NONE
    return WITHIN if first == second else CROSS


@jit
def ball_rows(  # type: ignore[no-untyped-def]
    base, indptr, indices, part, which, d, radius, rounds, depth, queue, cursor, graph
):
    """Fill the rows N_radius(v), ascending, of one graph.

    ``graph`` is ``(row, near, ball, until, hops, entry, _, _)``. Row v is ``row[v]:row[v+1]``; of the
    pair (v, u), ``ball`` is u, ``hops`` the distance, ``entry`` the CSR entry or -1, and ``until``
    the last round in which it is learned. ``near`` counts the pairs of N_d(v) like ``row``. Balls
    are symmetric, so taking u in order and appending it to the rows of its ball sorts them.
    """
    row, near, ball, until, hops, entry, _, _ = graph
    n = len(row) - 1
    row[0], near[0] = 0, 0
    for v in range(n):
        found = reach(v, base, indptr, indices, radius, depth, queue)
        row[v + 1] = row[v] + found
        near[v + 1] = near[v]
        for i in range(found):
            near[v + 1] += depth[queue[i]] <= d
            depth[queue[i]] = -1
        cursor[v] = row[v]
    met = np.zeros(n, np.int64)
    for u in range(n):
        found = reach(u, base, indptr, indices, radius, depth, queue)
        for i in range(found):
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
