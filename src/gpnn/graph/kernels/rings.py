"""Induced rings: chordless cycles."""

from __future__ import annotations

import numpy as np

from ._jit import jit

__all__ = ["induced_rings"]


@jit
def induced_rings(ptr, indptr, indices, longest, most, work):  # type: ignore[no-untyped-def]
    """``(ends, members, done)``: the vertices of every induced cycle of 3 to ``longest`` vertices,
    in cyclic order; those of ring r are ``members[ends[r - 1]:ends[r]]``.

    Paths grow from their smallest vertex s; a vertex adjacent to s closes the ring. ``done`` is the
    number of graphs finished before ``most`` rings or ``work`` steps were exceeded.
    """
    n = len(indptr) - 1
    ends = np.empty(1024, np.int64)
    members = np.empty(8192, np.int64)
    rings, used, steps = 0, 0, 0
    path = np.empty(longest, np.int64)
    at = np.empty(longest, np.int64)  # next CSR entry to try at every position
    touched = np.zeros(n, np.int64)  # number of adjacent vertices on the path, except s
    first = np.full(n, -1, np.int64)  # the last s that the vertex is adjacent to
    for g in range(len(ptr) - 1):
        for s in range(ptr[g], ptr[g + 1]):
            for e in range(indptr[s], indptr[s + 1]):
                first[indices[e]] = s
            path[0], size = s, 1
            at[0] = indptr[s]
            while size > 0:
                last = path[size - 1]
                if at[size - 1] == indptr[last + 1]:
                    size -= 1
                    if size > 0:
                        for e in range(indptr[last], indptr[last + 1]):
                            touched[indices[e]] -= 1
                    continue
                w = indices[at[size - 1]]
                at[size - 1] += 1
                steps += 1
                if steps > work:
                    return ends[:rings], members[:used], g
                if w <= s or (size > 1 and touched[w] != 1):
                    continue
                if size > 1 and first[w] == s:
                    if path[1] < w:
                        if rings == most:
                            return ends[:rings], members[:used], g
                        if rings == len(ends):
                            ends = np.concatenate((ends, np.empty_like(ends)))
                        if used + size + 1 > len(members):
                            members = np.concatenate((members, np.empty_like(members)))
                        members[used : used + size] = path[:size]
                        members[used + size] = w
                        used += size + 1
                        ends[rings] = used
                        rings += 1
                    continue
                if size + 1 < longest:
                    path[size] = w
                    at[size] = indptr[w]
                    size += 1
                    for e in range(indptr[w], indptr[w + 1]):
                        touched[indices[e]] += 1
    return ends[:rings], members[:used], len(ptr) - 1
