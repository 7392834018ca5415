"""Connected components by union-find, of whole graphs or within parts."""

from __future__ import annotations

import numpy as np

from ._jit import jit

__all__ = ["components", "count_by_part"]


@jit
def components(indptr, indices, part):  # type: ignore[no-untyped-def]
    """The smallest vertex in the component of every vertex, using only edges within a ``part``."""
    n = len(indptr) - 1
    root = np.arange(n)
    for v in range(n):
        for at in range(indptr[v], indptr[v + 1]):
            u = indices[at]
            if u >= v:
                break
            if part[u] != part[v]:
                continue
            a = v
            while root[a] != a:
                root[a] = root[root[a]]
                a = root[a]
            b = np.int64(u)
            while root[b] != b:
                root[b] = root[root[b]]
                b = root[b]
            if a < b:
                root[b] = a
            else:
                root[a] = b
    for v in range(n):
        root[v] = root[root[v]]
    return root


@jit
def count_by_part(ptr, root, part, parts):  # type: ignore[no-untyped-def]
    """Number of roots of each part in each graph: an array [graphs, parts]."""
    count = np.zeros((len(ptr) - 1, parts), np.int64)
    for g in range(len(ptr) - 1):
        for v in range(ptr[g], ptr[g + 1]):
            if root[v] == v:
                count[g, part[v]] += 1
    return count
