"""Samples neighbourhoods of vertices from a graph in CSR, and marks the classes that they read."""

from __future__ import annotations

import numpy as np

from ...graph.kernels._jit import jit
from ...graph.kernels.hashing import mix

__all__ = ["draw_block", "needed_rows"]


@jit
def draw_block(indptr, indices, roots, fanout, seed, place):
    """``(vertices, ends, bounds, drawn, entry)``: the vertices of a block in order of discovery,
    the first ``ends[h]`` of which are within h draws of the roots. The neighbours drawn for vertex
    i are ``drawn[bounds[i] : bounds[i + 1]]``, as positions in the block; the same range of
    ``entry`` holds their CSR entries.

    For a vertex first reached after h draws, ``fanout[h]`` neighbours are drawn without replacement
    by Floyd's method (all if it has no more, or if ``fanout[h]`` is -1); none for the outermost
    vertices. ``place`` must be -1 everywhere on entry, and is again on return.
    """
    room, most = len(roots), len(indptr) - 1
    vertices = np.empty(most, np.int64)
    ends = np.zeros(len(fanout) + 1, np.int64)
    for i in range(len(roots)):
        vertices[i] = roots[i]
        place[roots[i]] = i
    ends[0] = used = room
    bounds = np.zeros(most + 1, np.int64)
    drawn, entry = np.empty(1024, np.int64), np.empty(1024, np.int64)
    state, at, since = mix(np.uint64(seed)), 0, 0
    for h in range(len(fanout)):
        for i in range(since, ends[h]):
            v = vertices[i]
            low, degree = indptr[v], indptr[v + 1] - indptr[v]
            count = degree if fanout[h] < 0 else min(degree, fanout[h])
            if at + count > len(drawn):
                longer, wider = (
                    np.empty(2 * (at + count), np.int64),
                    np.empty(2 * (at + count), np.int64),
                )
                longer[:at], wider[:at] = drawn[:at], entry[:at]
                drawn, entry = longer, wider
            for k in range(count):
                e = low + k
                if count < degree:
                    state = mix(state + np.uint64(0x9E3779B97F4A7C15))
                    top = degree - count + k
                    e = low + np.int64(state % np.uint64(top + 1))
                    for j in range(at, at + k):
                        if entry[j] == e:
                            e = low + top
                            break
                entry[at + k] = e
            entry[at : at + count].sort()
            for k in range(at, at + count):
                u = indices[entry[k]]
                if place[u] < 0:
                    place[u] = used
                    vertices[used] = u
                    used += 1
                drawn[k] = place[u]
            at += count
            bounds[i + 1] = at
        since = ends[h]
        ends[h + 1] = used
    for i in range(since, used):
        bounds[i + 1] = at
    for i in range(used):
        place[vertices[i]] = -1
    return vertices[:used].copy(), ends, bounds[: used + 1].copy(), drawn[:at], entry[:at]


@jit
def needed_rows(
    chosen, previous, first, second, entry_ptr, entry_tuple, shared, far_ptr, far_tuple, mark
):
    """Set ``mark`` at the rows of the previous α table that the chosen classes depend on."""
    for i in range(len(chosen)):
        c = chosen[i]
        mark[previous[c]] = 1
        for e in range(entry_ptr[c], entry_ptr[c + 1]):
            mark[first[entry_tuple[e]]] = 1
            mark[second[entry_tuple[e]]] = 1
        s = shared[c]
        if s >= 0:
            for e in range(far_ptr[s], far_ptr[s + 1]):
                mark[first[far_tuple[e]]] = 1
                mark[second[far_tuple[e]]] = 1
