"""Truncated breadth-first orderings around every vertex."""

from __future__ import annotations

import numpy as np

from ._jit import jit

__all__ = ["bfs_orderings"]


@jit
def bfs_orderings(indptr, indices, depth, width, most):  # type: ignore[no-untyped-def]
    """``(root, slots, whole)``: all orderings of depth ``depth`` for every vertex, [orderings, 1 +
    width + … + width^depth], padded with -1 if an ordering is shorter.

    An ordering begins with its root. Level by level, every vertex of the last level in turn adds
    ``width`` of its neighbours that are not yet included, in any order, or all of them if there are
    fewer. ``whole`` is whether there are at most ``most`` orderings.
    """
    n = len(indptr) - 1
    longest, layer = 1, 1
    for _ in range(depth):
        layer *= width
        longest += layer
    room = 1024
    root = np.empty(room, np.int64)
    slots = np.full((room, longest), -1, np.int64)
    used = 0
    path = np.empty(longest, np.int64)
    level = np.empty(longest, np.int64)
    parent = np.empty(longest, np.int64)  # position of the vertex that added this one
    at = np.empty(longest + 1, np.int64)  # next CSR entry to try at every position
    turn = np.empty(longest + 1, np.int64)  # position of the vertex that adds the next one
    there = np.zeros(n, np.bool_)
    for v in range(n):
        path[0], level[0], parent[0], size = v, 0, -1, 1
        there[v] = True
        turn[1], at[1] = 0, indptr[v]
        while size > 0:
            p = turn[size]
            # advance while the current vertex has added ``width`` vertices or has none left to add
            done = False
            while True:
                if p == size or level[p] == depth:
                    done = True
                    break
                added = 0
                for i in range(size):
                    added += parent[i] == p
                left = False
                if added < width:
                    for e in range(indptr[path[p]], indptr[path[p] + 1]):
                        if not there[indices[e]]:
                            left = True
                            break
                if left:
                    break
                p += 1
                at[size] = indptr[path[p]] if p < size else 0
            if p != turn[size]:
                turn[size] = p
            grown = False
            if done:
                if used == most:
                    return root[:used], slots[:used], False
                if used == room:
                    root = np.concatenate((root, np.empty_like(root)))
                    slots = np.concatenate((slots, np.full_like(slots, -1)))
                    room *= 2
                root[used] = v
                slots[used, :size] = path[:size]
                used += 1
            else:
                e = at[size]
                while e < indptr[path[p] + 1]:
                    u = indices[e]
                    e += 1
                    if not there[u]:
                        at[size] = e
                        path[size], level[size], parent[size] = u, level[p] + 1, p
                        there[u] = True
                        size += 1
                        if size <= longest:
                            turn[size], at[size] = p, indptr[path[p]]
                        grown = True
                        break
            if not grown:
                size -= 1
                there[path[size]] = False
                if size == 0:
                    break
    return root[:used], slots[:used], True


@jit
def slot_edges(slots, indptr, indices):  # type: ignore[no-untyped-def]
    """``(bits, ordering, pair, entry)``: the adjacent pairs of positions i < j of every ordering,
    with pair number j (j - 1) / 2 + i, as bits of an integer, and as a list with CSR entries."""
    bits = np.zeros(len(slots), np.int64)
    ordering, pair = np.empty(1024, np.int64), np.empty(1024, np.int64)
    entry = np.empty(1024, np.int64)
    used = 0
    for o in range(len(slots)):
        for j in range(1, slots.shape[1]):
            for i in range(j):
                u, v = slots[o, i], slots[o, j]
                if v < 0:
                    break
                low, high = indptr[u], indptr[u + 1]
                at = low + np.searchsorted(indices[low:high], v)
                if at < high and indices[at] == v:
                    if used == len(pair):
                        ordering = np.concatenate((ordering, np.empty_like(ordering)))
                        pair = np.concatenate((pair, np.empty_like(pair)))
                        entry = np.concatenate((entry, np.empty_like(entry)))
                    number = j * (j - 1) // 2 + i
                    bits[o] |= np.int64(1) << number
                    ordering[used], pair[used], entry[used] = o, number, at
                    used += 1
    return bits, ordering[:used], pair[:used], entry[:used]
