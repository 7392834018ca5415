"""Number of cycles of a given length in every graph, by depth-first search."""

from __future__ import annotations

import numpy as np

from ._jit import jit

__all__ = ["count_cycles"]


@jit
def count_cycles(ptr, indptr, indices, length):  # type: ignore[no-untyped-def]
    """Number of cycles with ``length`` vertices, not necessarily induced, in every graph.

    A cycle is found from its smallest vertex, as a path through larger vertices that returns, once
    in each direction. The cost is O(n d^{length - 1}) for degrees up to d.
    """
    counts = np.zeros(len(ptr) - 1, np.int64)
    on_path = np.zeros(len(indptr) - 1, np.uint8)
    path = np.empty(length, np.int64)
    at = np.empty(length, np.int64)
    for graph in range(len(ptr) - 1):
        for first in range(ptr[graph], ptr[graph + 1]):
            path[0], at[0], depth = first, indptr[first], 0
            while depth >= 0:
                v = path[depth]
                if at[depth] == indptr[v + 1]:
                    on_path[v] = 0
                    depth -= 1
                    continue
                u = indices[at[depth]]
                at[depth] += 1
                if depth == length - 1:
                    counts[graph] += u == first
                elif u > first and not on_path[u]:
                    depth += 1
                    path[depth], at[depth] = u, indptr[u]
                    on_path[u] = 1
    return counts // 2
