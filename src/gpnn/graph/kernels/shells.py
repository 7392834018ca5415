"""Comparisons of the core numbers or parts at the two ends of every edge."""

from __future__ import annotations

import numpy as np

from ._jit import jit

__all__ = ["cross_entries", "degree_inside_core"]


@jit
def degree_inside_core(indptr, indices, core):  # type: ignore[no-untyped-def]
    """The degree of v inside the j-core, where j is the core number of v: the number of neighbours
    with core number ≥ j."""
    n = len(indptr) - 1
    degree = np.zeros(n, np.int32)
    for v in range(n):
        for at in range(indptr[v], indptr[v + 1]):
            if core[indices[at]] >= core[v]:
                degree[v] += 1
    return degree


@jit
def cross_entries(indptr, indices, part):  # type: ignore[no-untyped-def]
    """Mask of the entries of ``indices`` that lead to another part."""
    cross = np.empty(len(indices), np.bool_)
    for v in range(len(indptr) - 1):
        for at in range(indptr[v], indptr[v + 1]):
            cross[at] = part[indices[at]] != part[v]
    return cross
