"""Refinement of an ordered partition until it is equitable.

A partition is *equitable* if any two vertices of a cell have the same number of neighbours in every
cell (for every edge label). Refinement splits cells until this holds, like 1-WL, but keeps the
cells in an order that depends on structure only: two isomorphic graphs with corresponding
individualised vertices end with corresponding cells at the same positions.
"""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .cells import HEAD, SIZE, SPLITS, WAITING, WORK, enqueue, move, sort_by_score
from .hashing import mix

__all__ = ["refine", "target"]


@jit
def refine(p, indptr, indices, labels):  # type: ignore[no-untyped-def]
    """Split until equitable; returns an invariant hash of all splits.

    ``labels`` has one label per entry of ``indices``, or length 0. A hash collision can only fail
    to distinguish two histories; no exact result depends on the hash.
    """
    n = p.state[SIZE]
    trace = np.uint64(n)
    while p.state[WAITING] > 0:
        by = p.queue[p.state[HEAD]]
        p.state[HEAD] = p.state[HEAD] + 1 if p.state[HEAD] + 1 < n else 0
        p.state[WAITING] -= 1
        p.queued[by] = False
        if p.state[SPLITS] == n - 1:
            continue
        count = p.length[by]
        for i in range(count):
            p.members[i] = p.order[by + i]
        cells = 0
        single = np.uint64(by)
        for i in range(count):
            v = p.members[i]
            p.state[WORK] += indptr[v + 1] - indptr[v]
            for at in range(indptr[v], indptr[v + 1]):
                u = indices[at]
                c = p.cell[u]
                w = _weight(labels[at]) if len(labels) else 1
                if p.length[c] == 1:
                    single += mix(np.uint64(c) + (np.uint64(w) << np.uint64(20)))
                    continue
                if p.score[u] == 0:
                    if p.hits[c] == 0:
                        p.touched[cells] = c
                        cells += 1
                    p.hits[c] += 1
                    move(p, u, c + p.length[c] - p.hits[c])
                p.score[u] += w
        trace = mix(trace ^ single)
        _sort_cells(p, cells)
        for i in range(cells):
            trace = _split(p, p.touched[i], trace)
    return trace


@jit
def target(p, indptr, indices, labels):  # type: ignore[no-untyped-def]
    """The cell to branch on: the first among the smallest cells that are partly joined to a cell.

    If every two cells (and every cell with itself) are completely joined or not joined at all, with
    one label, all orders within the cells are equivalent. The result is then -1, a leaf.
    """
    best = -1
    size = p.state[SIZE] + 1
    p.state[WORK] += p.state[SIZE]
    c = 0
    while c < p.state[SIZE]:
        length = p.length[c]
        if 1 < length < size and _partly_joined(p, c, indptr, indices, labels):
            best = c
            size = length
        c += length
    return best


@jit
def _partly_joined(p, c, indptr, indices, labels):  # type: ignore[no-untyped-def]
    partly = False
    for i in range(c, c + (p.length[c] if len(labels) else 1)):
        v = p.order[i]
        p.state[WORK] += indptr[v + 1] - indptr[v]
        for at in range(indptr[v], indptr[v + 1]):
            d = p.cell[indices[at]]
            if p.length[d] > 1:
                p.hits[d] += 1
                if len(labels):
                    if p.hits[d] == 1:
                        p.members[d] = at
                    elif labels[at] != labels[p.members[d]]:
                        partly = True
        for at in range(indptr[v], indptr[v + 1]):
            d = p.cell[indices[at]]
            if p.hits[d] > 0:
                if p.hits[d] != p.length[d] - (1 if d == c else 0):
                    partly = True
                p.hits[d] = 0
        if partly:
            break
    return partly


@jit
def _split(p, c, trace):  # type: ignore[no-untyped-def]
    """Split cell c, whose touched members are last, by ascending score."""
    high = c + p.length[c]
    low = high - p.hits[c]
    p.hits[c] = 0
    sort_by_score(p, low, high)
    end = high
    for b in range(high - 1, low - 1, -1):
        score = p.score[p.order[b]]
        if b > low and p.score[p.order[b - 1]] == score:
            continue
        trace = mix(trace ^ mix(np.uint64(score) + (np.uint64(b) << np.uint64(44))))
        p.length[b] = end - b
        if b > c:
            for i in range(b, end):
                p.cell[p.order[i]] = b
            p.splits[p.state[SPLITS]] = b
            p.state[SPLITS] += 1
        end = b
    for i in range(low, high):
        p.score[p.order[i]] = 0
    if low > c:
        p.length[c] = low - c
    if p.length[c] == high - c:
        return trace
    spare = -1
    if not p.queued[c]:
        spare = c
        b = c
        while b < high:
            if p.length[b] > p.length[spare]:
                spare = b
            b += p.length[b]
    b = c
    while b < high:
        if b != spare and not p.queued[b]:
            enqueue(p, b)
        b += p.length[b]
    return trace


@jit
def _weight(label):  # type: ignore[no-untyped-def]
    """A positive number for an edge label, small enough to be summed over 2^23 edges."""
    return np.int64(mix(np.uint64(label)) >> np.uint64(24)) | 1


@jit
def _sort_cells(p, cells):  # type: ignore[no-untyped-def]
    gap = 1
    while 3 * gap < cells:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, cells):
            c = p.touched[i]
            j = i - gap
            while j >= 0 and p.touched[j] > c:
                p.touched[j + gap] = p.touched[j]
                j -= gap
            p.touched[j + gap] = c
        gap //= 3
