"""Core numbers and onion layers from one peel per graph."""

from __future__ import annotations

import numpy as np

from ._jit import jit

__all__ = ["peel"]


@jit
def peel(ptr, indptr, indices):  # type: ignore[no-untyped-def]
    """``(core, layer)`` of every vertex, graph by graph.

    Level k starts with all vertices of the smallest degree left, k, which go at once (a layer);
    then those that fell to k by it (the next layer), until none is left. The vertices that start
    a level are found by scanning those still there, packed in place. A vertex is scanned at most
    2 core(v) + 3 times, so the whole is O(|V| + |E|), with sequential reads where a bucket queue
    would swap at random. Degrees stop falling at k: a removed vertex needs no mark, and its
    degree ends as its core number. What cannot be foretold is computed without a branch, and
    ids are unsigned so that no index is tested for being negative.
    """
    n = len(indptr) - 1
    one = np.uint64(1)
    most = np.int32(2147483647)
    degree = np.empty(n, np.int32)
    layer = np.empty(n, np.int32)
    widest = 0
    for i in range(n):
        degree[i] = indptr[i + 1] - indptr[i]
    for g in range(len(ptr) - 1):
        widest = max(widest, ptr[g + 1] - ptr[g])
    alive = np.empty(widest, indices.dtype)
    front = np.empty(widest + 1, indices.dtype)
    for g in range(len(ptr) - 1):
        left = ptr[g + 1] - ptr[g]
        k = most
        for i in range(left):
            alive[i] = ptr[g] + i
            k = min(k, degree[ptr[g] + i])
        depth = np.int32(0)
        while left > 0:
            stay = 0
            end = 0
            for i in range(left):
                v = np.uint64(alive[i])
                front[end] = v
                end += degree[v] == k
                alive[stay] = v
                stay += degree[v] > k
            left = stay
            start = 0
            while start < end:
                stop = end
                depth += np.int32(1)
                for i in range(start, stop):
                    v = np.uint64(front[i])
                    layer[v] = depth
                    for at in range(indptr[v], indptr[v + one]):
                        u = np.uint64(indices[at])
                        d = degree[u]
                        degree[u] = d - np.int32(d > k)
                        if d == k + np.int32(1):
                            front[end] = u
                            end += 1
                start = stop
            stay = 0
            lowest = most
            for i in range(left):
                v = np.uint64(alive[i])
                d = degree[v]
                alive[stay] = v
                stay += d > k
                lowest = min(lowest, d if d > k else most)
            left = stay
            k = lowest
    return degree, layer
