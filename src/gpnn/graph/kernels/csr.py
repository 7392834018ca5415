"""Conversion of edge arrays to sorted, simple, symmetric CSR in linear time.

All kernels use global vertex ids, with the graphs of a set stored consecutively.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._jit import jit
from .hashing import mix

__all__ = [
    "copy_sorted",
    "edge_positions",
    "induce",
    "is_symmetric",
    "scan_edges",
    "sort_rows",
    "transpose_union",
]

Int = NDArray[np.integer]
BLOCK = 4_096
"""Number of edges read between two checks of their order."""


@jit
def copy_sorted(src, dst, offset, bounds, owner, indptr, indices):  # type: ignore[no-untyped-def]
    """Fill ``indptr`` and ``indices`` in one pass if the edges are sorted by (row, column), without
    self-loops or duplicates, as after PyG's ``coalesce``.

    Arguments are as in :func:`scan_edges`. Returns ``(sorted, symmetric)``. ``sorted`` is False,
    with the arrays partly filled, after the first block with an edge out of order or out of range.
    Symmetry is tested by the sum of 64-bit hashes of the pairs {u, v} with u < v, minus those with
    u > v: zero if both directions exist, and otherwise zero with probability 2^-64.
    """
    indptr[:] = 0
    balance = np.uint64(0)
    row = np.int64(-1)
    last = np.int64(-1)
    for g in range(len(offset) - 1):
        low = offset[g]
        size = np.uint64(offset[g + 1] - low)
        shift = low if owner == 1 else np.int64(0)
        for start in range(bounds[g], bounds[g + 1], BLOCK):
            stop = min(start + BLOCK, bounds[g + 1])
            wrong = False
            for e in range(start, stop):  # without an early exit, the loop compiles to faster code
                u = np.int64(src[e]) + shift
                v = np.int64(dst[e]) + shift
                outside = (np.uint64(u - low) >= size) | (np.uint64(v - low) >= size)
                wrong |= outside | (u == v) | (u < row) | ((u == row) & (v <= last))
                row = u
                last = v
                indices[e] = v
                ends = np.uint64(min(u, v)) << np.uint64(32) | np.uint64(max(u, v))
                sign = np.uint64(0) - np.uint64(u > v)
                balance += (mix(ends) ^ sign) - sign
            if wrong:
                return False, False
            for e in range(start, stop):
                indptr[np.uint64(np.int64(src[e]) + shift + 1)] = e + 1
    end = np.int64(0)
    for v in range(len(indptr)):
        end = max(end, indptr[v])
        indptr[v] = end
    return True, balance == 0


@jit
def scan_edges(src, dst, offset, bounds, owner):  # type: ignore[no-untyped-def]
    """Check every edge and count the entries of every row in one pass.

    ``offset[g]``: first vertex of graph g; ``bounds[g]:bounds[g+1]``: its edges; ``owner`` is 1
    if ids are local to their graph and must be shifted. Returns ``(degree, loops, bad)``:
    ``bad`` is the first edge with an end outside its graph, or -1.
    """
    degree = np.zeros(offset[-1] + 1, np.int64)
    loops = 0
    for g in range(len(offset) - 1):
        low = offset[g]
        size = np.uint64(offset[g + 1] - low)
        shift = low if owner == 1 else np.int64(0)
        for e in range(bounds[g], bounds[g + 1]):
            u = np.int64(src[e]) + shift
            v = np.int64(dst[e]) + shift
            if (np.uint64(u - low) >= size) | (np.uint64(v - low) >= size):
                return degree, loops, e
            loops += u == v
            degree[np.uint64(u + 1)] += u != v
    return degree, loops, np.int64(-1)


@jit
def sort_rows(src, dst, offset, bounds, owner, count, indices):  # type: ignore[no-untyped-def]
    """Write the columns of every row in ascending order into ``indices``, without duplicates.

    Uses two counting passes: edges are bucketed by column, then columns are distributed in
    ascending order, so that every row is sorted and equal columns are adjacent. Returns
    ``(indptr, duplicates)``; ``indices`` is filled up to ``indptr[-1]``.
    """
    n = len(count) - 1
    indptr = np.cumsum(count)
    into = np.zeros(n + 1, np.int64)
    for g in range(len(offset) - 1):
        shift = offset[g] if owner == 1 else 0
        for e in range(bounds[g], bounds[g + 1]):
            if src[e] != dst[e]:
                into[dst[e] + shift + 1] += 1
    for v in range(n):
        into[v + 1] += into[v]
    rows = np.empty_like(indices)
    fill = into[:-1].copy()
    for g in range(len(offset) - 1):
        shift = offset[g] if owner == 1 else 0
        for e in range(bounds[g], bounds[g + 1]):
            if src[e] != dst[e]:
                v = dst[e] + shift
                rows[fill[v]] = src[e] + shift
                fill[v] += 1
    for v in range(n):
        fill[v] = indptr[v]
    for v in range(n):
        for at in range(into[v], into[v + 1]):
            u = rows[at]
            end = fill[u]
            if end == indptr[u] or indices[end - 1] != v:
                indices[end] = v
                fill[u] = end + 1
    packed = np.zeros(n + 1, np.int64)
    to = 0
    for u in range(n):
        for at in range(indptr[u], fill[u]):
            indices[to] = indices[at]
            to += 1
        packed[u + 1] = to
    return packed, indptr[n] - to


@jit
def is_symmetric(indptr, indices, cursor):  # type: ignore[no-untyped-def]
    """Whether u → v implies v → u, for rows in ascending order, in linear time.

    Rows u are visited in order. For every entry v > u, the next entry of row v, at ``cursor[v]``,
    must be u. ``cursor`` initially holds the row starts (unsigned, of the smallest sufficient
    type) and is overwritten. When row v is visited, all its entries below v must have been
    consumed. A cursor beyond the end of its row is also detected there.
    """
    one = cursor.dtype.type(1)
    top = cursor.dtype.type(max(len(indices) - 1, 0))
    for u in range(len(indptr) - 1):
        first = np.int64(cursor[u])
        if first > indptr[u + 1] or (first < indptr[u + 1] and indices[first] < u):
            return False
        met = True
        for at in range(first, indptr[u + 1]):
            v = np.uint64(indices[at])
            c = cursor[v]
            met &= indices[min(c, top)] == u
            cursor[v] = c + one
        if not met:
            return False
    return True


@jit
def transpose_union(indptr, indices):  # type: ignore[no-untyped-def]
    """The union of a sorted CSR with its transpose, and the number of added entries."""
    n = len(indptr) - 1
    back = np.zeros(n + 1, np.int64)
    for at in range(len(indices)):
        back[indices[at] + 1] += 1
    for v in range(n):
        back[v + 1] += back[v]
    rows = np.empty_like(indices)
    fill = back[:-1].copy()
    for u in range(n):
        for at in range(indptr[u], indptr[u + 1]):
            v = indices[at]
            rows[fill[v]] = u
            fill[v] += 1
    ptr = np.zeros(n + 1, np.int64)
    out = np.empty(2 * len(indices), indices.dtype)
    to = 0
    for u in range(n):
        a, a_end, b, b_end = indptr[u], indptr[u + 1], back[u], back[u + 1]
        while a < a_end or b < b_end:
            if b == b_end or (a < a_end and indices[a] <= rows[b]):
                if b < b_end and indices[a] == rows[b]:
                    b += 1
                out[to] = indices[a]
                a += 1
            else:
                out[to] = rows[b]
                b += 1
            to += 1
        ptr[u + 1] = to
    return ptr, out[:to].copy(), to - len(indices)


@jit
def edge_positions(indptr, indices, src, dst):  # type: ignore[no-untyped-def]
    """Position of the edge (src[e], dst[e]) in the CSR; -1 for a self-loop or a missing edge."""
    position = np.empty(len(src), np.int64)
    for e in range(len(src)):
        u = src[e]
        low = indptr[u]
        high = indptr[u + 1]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < dst[e]:
                low = middle + 1
            else:
                high = middle
        position[e] = low if low < indptr[u + 1] and indices[low] == dst[e] else -1
    return position


@jit
def induce(ptr, indptr, indices, keep):  # type: ignore[no-untyped-def]
    """CSR of the subgraphs induced by the kept vertices, renumbered in order.

    Returns ``(ptr, indptr, entries, renumbered)``; ``entries`` are the kept positions of the old
    ``indices``, ``renumbered[v]`` is the new id of the old vertex v.
    """
    n = len(indptr) - 1
    renumbered = np.full(n, -1, np.int64)
    count = 0
    new_ptr = np.zeros(len(ptr), np.int64)
    for g in range(len(ptr) - 1):
        for v in range(ptr[g], ptr[g + 1]):
            if keep[v]:
                renumbered[v] = count
                count += 1
        new_ptr[g + 1] = count
    new_indptr = np.zeros(count + 1, np.int64)
    total = 0
    for v in range(n):
        if keep[v]:
            for at in range(indptr[v], indptr[v + 1]):
                if keep[indices[at]]:
                    total += 1
            new_indptr[renumbered[v] + 1] = total
    entries = np.empty(total, np.int64)
    to = 0
    for v in range(n):
        if keep[v]:
            for at in range(indptr[v], indptr[v + 1]):
                if keep[indices[at]]:
                    entries[to] = at
                    to += 1
    return new_ptr, new_indptr, entries, renumbered
