"""Core numbers and onion layers from one peel per graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._jit import jit

__all__ = ["peel"]

Int = NDArray[np.integer]
SMALL = 512
"""Maximum number of vertices per graph for ``_peel_small``, which does not pack vertices."""


def peel(ptr: Int, indptr: Int, indices: Int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """``(core, layer)`` of every vertex, graph by graph.

    Level k starts with all vertices of the smallest remaining degree, k, which are removed together
    (a layer). Then the vertices whose degree dropped to k are removed (the next layer), until there
    are none. Degrees are not decreased below k, so removed vertices need no mark, and the final
    degree of a vertex is its core number.
    """
    small = np.diff(ptr).max(initial=0) <= SMALL
    core, layer = (_peel_small if small else _peel_large)(ptr, indptr, indices)
    return core, layer


@jit
def _peel_small(ptr, indptr, indices):  # type: ignore[no-untyped-def]
    """Find the vertices that start a level by scanning the graph, which is sequential and fast for
    small graphs; removed vertices have degrees below k. Vertices whose degree drops to k are found
    without an unpredictable branch, which is slower in large graphs; a function that both kernels
    call for a level made both slower."""
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
    front = np.empty(widest + 1, indices.dtype)
    for g in range(len(ptr) - 1):
        low = ptr[g]
        own = degree[low : ptr[g + 1]]
        k = most
        for i in range(len(own)):
            k = min(k, own[i])
        depth = np.int32(0)
        gone = 0
        while gone < len(own):
            end = 0
            for i in range(len(own)):
                front[end] = low + i
                end += own[i] == k
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
                        front[end] = u
                        end += d == k + np.int32(1)
                start = stop
            gone += end
            lowest = most
            for i in range(len(own)):
                d = own[i]
                lowest = min(lowest, d if d > k else most)
            k = lowest
    return degree, layer


@jit
def _peel_large(ptr, indptr, indices):  # type: ignore[no-untyped-def]
    """Find the vertices that start a level by scanning the remaining vertices, packed in place. A
    vertex is scanned at most 2 core(v) + 3 times, so the total is O(|V| + |E|), with sequential
    reads where a bucket queue would swap at random. Unpredictable branches are avoided, and ids are
    unsigned so that indices are not checked for being negative."""
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
