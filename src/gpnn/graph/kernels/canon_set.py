"""Canonical labelling of every graph of a set."""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .canon import canonical, new_search
from .cells import new_partition
from .forms import form_hash

__all__ = ["canonical_set", "describe_set"]


@jit
def canonical_set(ptr, indptr, indices, colours, labels, budget, position, root, exact):  # type: ignore[no-untyped-def]
    """Run ``canonical`` on every graph of a set; the last three arguments are outputs.

    ``position``: position in the canonical order of the vertex's graph. ``root``: a representative
    vertex of the orbit.
    """
    most = 0
    for g in range(len(ptr) - 1):
        most = max(most, ptr[g + 1] - ptr[g])
    p = new_partition(most)
    s = new_search(most)
    for g in range(len(ptr) - 1):
        low = ptr[g]
        n = ptr[g + 1] - low
        rows, columns, tags = _local(indptr, indices, labels, low, n)
        exact[g] = canonical(p, s, n, rows, columns, tags, colours[low : low + n], budget)
        for i in range(n):
            position[low + s.best_order[i]] = i
            v = i
            while s.orbit[v] != v:
                v = s.orbit[v]
            root[low + i] = low + v


@jit
def describe_set(ptr, indptr, indices, colours, labels, salt, position, root, orbit, digest):  # type: ignore[no-untyped-def]
    """Number the orbits by their smallest position, and hash the relabelled graphs."""
    order = np.empty(len(position), np.int64)
    number = np.full(len(position), -1, np.int64)
    for g in range(len(ptr) - 1):
        low = ptr[g]
        n = ptr[g + 1] - low
        for v in range(n):
            order[position[low + v]] = v
        orbits = 0
        for i in range(n):
            v = low + order[i]
            if number[root[v]] < 0:
                number[root[v]] = orbits
                orbits += 1
            orbit[v] = number[root[v]]
        rows, columns, tags = _local(indptr, indices, labels, low, n)
        digest[g, 0], digest[g, 1] = form_hash(
            position[low : low + n], order, n, rows, columns, tags, colours[low : low + n], salt
        )


@jit
def _local(indptr, indices, labels, low, n):  # type: ignore[no-untyped-def]
    """CSR and edge labels of one graph, with vertices numbered from 0."""
    first = indptr[low]
    last = indptr[low + n]
    rows = np.empty(n + 1, np.int64)
    for i in range(n + 1):
        rows[i] = indptr[low + i] - first
    columns = np.empty(last - first, np.int64)
    for at in range(first, last):
        columns[at - first] = indices[at] - low
    return rows, columns, labels[first:last] if len(labels) else labels
