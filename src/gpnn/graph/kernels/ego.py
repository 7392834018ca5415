"""Hashes of rooted ego subgraphs, exact by canonical form or fast by refinement alone.

The ego of v is the subgraph induced by the vertices within r hops of v. Every vertex in it is
coloured by its distance to v, so the root has a unique colour. Egos that are identical in
breadth-first order are hashed once: a table maps a 128-bit hash of the traversal to the result.
"""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .canon import canonical, new_search
from .cells import SPLITS, individualise, new_partition, start, undo
from .equitable import refine, target
from .forms import form_hash
from .hashing import chain, mix, scramble

__all__ = ["DONE", "TOO_HARD", "TOO_LARGE", "ego_hashes"]

DONE, TOO_LARGE, TOO_HARD = 0, 1, 2
REMEMBERED = 1 << 20  # maximum number of traversals in the table


@jit
def ego_hashes(ptr, indptr, indices, radius, limit, budget, exact, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` [vertices, 2] (uint64). Returns ``(what, vertex, size)``.

    ``what`` is DONE, or the reason why the ego of ``vertex``, with ``size`` vertices, was refused:
    TOO_LARGE for ``limit``, TOO_HARD for ``budget``. ``exact`` selects the canonical form.
    """
    most = 0
    for g in range(len(ptr) - 1):
        most = max(most, ptr[g + 1] - ptr[g])
    walk = np.empty(most, np.int64)
    distance = np.empty(most, np.int64)
    place = np.empty(most, np.int64)
    rows = np.zeros(most + 1, np.int64)
    columns = np.empty(64, np.int64)
    local = np.full(len(indptr) - 1, -1, np.int64)
    p = new_partition(min(most, limit))
    s = new_search(min(most, limit))
    plain = np.empty(0, np.int64)
    keys = np.zeros((1024, 2), np.uint64)
    values = np.zeros((1024, 2), np.uint64)
    kept = 0
    for root in range(len(indptr) - 1):
        n = _walk(indptr, indices, root, radius, walk, distance, local)
        if n > limit:
            return TOO_LARGE, root, n
        entries = 0
        for i in range(n):
            entries += indptr[walk[i] + 1] - indptr[walk[i]]
        if entries > len(columns):
            columns = np.empty(2 * entries, np.int64)
        _induce(indptr, indices, walk, local, n, rows, columns)
        for i in range(n):
            local[walk[i]] = -1
            place[i] = i
            walk[i] = i
        low, high = form_hash(place, walk, n, rows, columns, plain, distance, np.uint64(0))
        slot = _slot(keys, low, high)
        if keys[slot, 0] == low and keys[slot, 1] == high:
            out[root, 0] = values[slot, 0]
            out[root, 1] = values[slot, 1]
            continue
        if exact:
            if not canonical(p, s, n, rows, columns, plain, distance, budget):
                return TOO_HARD, root, n
            for i in range(n):
                place[s.best_order[i]] = i
            out[root, 0], out[root, 1] = form_hash(
                place, s.best_order, n, rows, columns, plain, distance, np.uint64(1)
            )
        else:
            out[root, 0], out[root, 1] = _refined_hash(p, n, rows, columns, plain, distance)
        if kept < REMEMBERED:
            if 2 * kept >= len(keys):
                keys, values = _grown(keys, values)
                slot = _slot(keys, low, high)
            keys[slot, 0] = low
            keys[slot, 1] = high
            values[slot, 0] = out[root, 0]
            values[slot, 1] = out[root, 1]
            kept += 1
    return DONE, -1, 0


@jit
def _walk(indptr, indices, root, radius, walk, distance, local):  # type: ignore[no-untyped-def]
    """List the vertices within ``radius`` hops in breadth-first order; returns their number."""
    walk[0] = root
    distance[0] = 0
    local[root] = 0
    n = 1
    at = 0
    while at < n and distance[at] < radius:
        v = walk[at]
        for to in range(indptr[v], indptr[v + 1]):
            u = indices[to]
            if local[u] < 0:
                local[u] = n
                walk[n] = u
                distance[n] = distance[at] + 1
                n += 1
        at += 1
    return n


@jit
def _induce(indptr, indices, walk, local, n, rows, columns):  # type: ignore[no-untyped-def]
    to = 0
    for i in range(n):
        v = walk[i]
        for at in range(indptr[v], indptr[v + 1]):
            u = local[indices[at]]
            if u >= 0:
                columns[to] = u
                to += 1
        rows[i + 1] = to


@jit
def _refined_hash(p, n, indptr, indices, labels, distance):  # type: ignore[no-untyped-def]
    """Hash of the multiset over w of the stable 1-WL colouring with w individualised.

    A stable colouring is determined by its cells and by the number of neighbours that a vertex of
    one cell has in another. Individualising a vertex that is alone in its cell adds no information;
    if all pairs of cells are completely joined or not joined at all, no vertex does.
    """
    start(p, n, distance)
    refine(p, indptr, indices, labels)
    low, high = _quotient_hash(p, n, indptr, indices, distance)
    if target(p, indptr, indices, labels) < 0:
        return low, high
    base = p.state[SPLITS]
    sum_low = np.uint64(0)
    sum_high = np.uint64(0)
    for w in range(n):
        c = p.cell[w]
        if p.length[c] > 1:
            individualise(p, w)
            refine(p, indptr, indices, labels)
            a, b = _quotient_hash(p, n, indptr, indices, distance)
            a, b = scramble(a, b, np.uint64(c + 1))
            sum_low += a
            sum_high += b
            undo(p, base)
    return chain(low, high, sum_low, sum_high, np.uint64(1))


@jit
def _quotient_hash(p, n, indptr, indices, distance):  # type: ignore[no-untyped-def]
    low = np.uint64(n)
    high = np.uint64(0)
    c = 0
    while c < n:
        v = p.order[c]
        joined = np.uint64(0)
        for at in range(indptr[v], indptr[v + 1]):
            joined += mix(np.uint64(p.cell[indices[at]] + 1))
        size = (np.uint64(p.length[c]) << np.uint64(32)) + np.uint64(distance[v])
        low, high = chain(low, high, joined, size, np.uint64(2))
        c += p.length[c]
    return low, high


@jit
def _slot(keys, low, high):  # type: ignore[no-untyped-def]
    """The slot of the key in the table, or the free slot where it belongs."""
    last = np.uint64(len(keys) - 1)
    at = low & last
    while keys[at, 0] | keys[at, 1]:
        if keys[at, 0] == low and keys[at, 1] == high:
            break
        at = (at + np.uint64(1)) & last
    return at


@jit
def _grown(keys, values):  # type: ignore[no-untyped-def]
    more = np.zeros((2 * len(keys), 2), np.uint64)
    others = np.zeros((2 * len(keys), 2), np.uint64)
    for at in range(len(keys)):
        if keys[at, 0] | keys[at, 1]:
            to = _slot(more, keys[at, 0], keys[at, 1])
            more[to, 0] = keys[at, 0]
            more[to, 1] = keys[at, 1]
            others[to, 0] = values[at, 0]
            others[to, 1] = values[at, 1]
    return more, others
