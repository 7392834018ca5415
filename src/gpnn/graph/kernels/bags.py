"""Bags of subgraphs: vertices and edges of every subgraph of every graph."""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .hops import reach

__all__ = ["EDGE_DELETED", "EGO", "NODE_DELETED", "bag_of_subgraphs"]

NODE_DELETED, EDGE_DELETED, EGO = 0, 1, 2


@jit
def bag_of_subgraphs(ptr, indptr, indices, policy, hops, fill, sizes):  # type: ignore[no-untyped-def]
    """``(graph, root, subgraph, vertex, far, row, column, entry)``.

    Per subgraph: its graph, and its root vertex or -1. Per copy of a vertex: subgraph, vertex, and
    distance to the root (0 if there is no root). Per message between copies: both copies, and the
    CSR entry. Without ``fill`` the arrays stay empty and ``sizes`` is set to the numbers of
    subgraphs, copies and messages; pass it in again with ``fill``. A bag that would be empty
    contains the whole graph.
    """
    n = len(indptr) - 1
    room = sizes if fill else np.zeros(3, np.int64)
    graph, root = np.empty(room[0], np.int64), np.empty(room[0], np.int64)
    subgraph, vertex = np.empty(room[1], np.int64), np.empty(room[1], np.int64)
    far = np.empty(room[1], np.int64)
    row, column = np.empty(room[2], np.int64), np.empty(room[2], np.int64)
    entry = np.empty(room[2], np.int64)
    widest = 1
    for g in range(len(ptr) - 1):
        widest = max(widest, ptr[g + 1] - ptr[g])
    depth = np.full(widest, -1, np.int32)
    queue = np.empty(widest, np.int32)
    place = np.full(n, -1, np.int64)
    bags, copies, messages = 0, 0, 0
    for g in range(len(ptr) - 1):
        base, size = ptr[g], ptr[g + 1] - ptr[g]
        first, last = indptr[base], indptr[base + size]
        count = last - first if policy == EDGE_DELETED else size
        made = 0
        for number in range(count + 1):
            gone, cut, there = -1, -1, size
            whole = number == count
            if whole and made > 0:
                break
            if not whole:
                if policy == NODE_DELETED:
                    if size == 1:
                        continue
                    gone = number
                elif policy == EGO:
                    there = reach(number, base, indptr, indices, hops, depth, queue)
                else:
                    cut = first + number
                    source = np.searchsorted(indptr, cut, side="right") - 1
                    if source > indices[cut]:
                        continue
            made += 1
            begin = copies
            for i in range(there):
                v = queue[i] if policy == EGO and not whole else i
                if v == gone:
                    continue
                place[base + v] = copies
                if fill:
                    subgraph[copies], vertex[copies] = bags, base + v
                    far[copies] = depth[v] if policy == EGO and not whole else 0
                copies += 1
            for i in range(there):
                v = queue[i] if policy == EGO and not whole else i
                if v == gone:
                    continue
                for at in range(indptr[base + v], indptr[base + v + 1]):
                    u = indices[at]
                    if place[u] < begin:
                        continue
                    if cut >= 0 and (
                        at == cut or (base + v == indices[cut] and indptr[u] <= cut < indptr[u + 1])
                    ):
                        continue
                    if fill:
                        row[messages], column[messages] = place[base + v], place[u]
                        entry[messages] = at
                    messages += 1
            for i in range(there):
                v = queue[i] if policy == EGO and not whole else i
                place[base + v] = -1
                depth[v] = -1
            if fill:
                graph[bags] = g
                root[bags] = base + number if policy == EGO and not whole else -1
            bags += 1
    sizes[0], sizes[1], sizes[2] = bags, copies, messages
    return graph, root, subgraph, vertex, far, row, column, entry
