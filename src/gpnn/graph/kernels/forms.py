"""Hashes of a graph relabelled in a given order."""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .hashing import chain, mix, scramble

__all__ = ["edge_hash", "form_hash"]


@jit
def edge_hash(place, n, indptr, indices, labels):  # type: ignore[no-untyped-def]
    """64-bit hash of the relabelled edges, independent of the order in which they are listed."""
    total = np.uint64(0)
    for v in range(n):
        for at in range(indptr[v], indptr[v + 1]):
            u = indices[at]
            if place[u] < place[v]:
                edge = (np.uint64(place[v]) << np.uint64(32)) + np.uint64(place[u])
                label = mix(np.uint64(labels[at])) if len(labels) else np.uint64(0)
                total += mix(mix(edge) + label)
    return total


@jit
def form_hash(place, order, n, indptr, indices, labels, colours, salt):  # type: ignore[no-untyped-def]
    """128-bit hash of the relabelled graph: size, colours in order, edges with labels."""
    low = np.uint64(0)
    high = np.uint64(0)
    for v in range(n):
        for at in range(indptr[v], indptr[v + 1]):
            u = indices[at]
            if place[u] < place[v]:
                edge = (np.uint64(place[v]) << np.uint64(32)) + np.uint64(place[u])
                label = np.uint64(labels[at]) if len(labels) else np.uint64(0)
                a, b = scramble(edge, label, np.uint64(1))
                low += a
                high += b
    shape = (np.uint64(n) << np.uint64(1)) + np.uint64(len(labels) > 0)
    low, high = chain(low, high, shape, salt, np.uint64(2))
    for i in range(n):
        low, high = chain(low, high, np.uint64(i), np.uint64(colours[order[i]]), np.uint64(3))
    return low, high
