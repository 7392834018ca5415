"""The exact GPNN refinement with α learned on all ordered pairs (``pairs``), dense per graph."""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .colour_hash import (
    CROSS,
    FIRST,
    LEFT,
    NONE,
    OWN,
    SECOND,
    SELF,
    WITHIN,
    bag,
    copy_rows,
    count_classes,
    kind_words,
    table_size,
    words,
)  # fmt: skip
from .fwl import pair_words, row_sums
from .hashing import chain, scramble
from .hops import reach
from .interaction import same, vertex_words
from .record import close_record, note, open_record, seal

__all__ = ["refine_pairs"]


@jit
def _start(  # type: ignore[no-untyped-def]
    base, indptr, indices, part, ends, labels, d, distances, row, ball, component, alpha,
    depth, queue,
):  # fmt: skip
    """Compute N_d(v), the component of v, and α⁽⁰⁾ of every pair within a component."""
    first, second = ends
    n = len(row) - 1
    for i in range(n * n):
        alpha[i, 0], alpha[i, 1] = 0, 0
    for v in range(n):
        component_size = reach(v, base, indptr, indices, n, depth, queue)
        degree = indptr[base + v + 1] - indptr[base + v]
        row[v + 1] = row[v]
        component[v] = v
        for i in range(component_size):
            u = queue[i]
            component[v] = min(component[v], u)
            kind = SELF if i == 0 else NONE
            label = 0
            if 0 < i <= degree:
                kind = WITHIN if same(part[base + v], part[base + u]) else CROSS
                label = labels[indptr[base + v] + i - 1] if len(labels) > 0 else 0
            low, high = kind_words(kind, label, depth[u] if distances else 0)
            alpha[v * n + u, 0] = first[base + v, 0] + second[base + u, 0] + low
            alpha[v * n + u, 1] = first[base + v, 1] + second[base + u, 1] + high
            if depth[u] <= d:
                ball[row[v + 1]] = u
                row[v + 1] += 1
            depth[u] = -1


@jit
def refine_pairs(  # type: ignore[no-untyped-def]
    ptr, indptr, indices, part, start, labels, d, distances, balls, rounds, most
):
    """Steps 1 to 3 with α on all ordered pairs; arguments and result as in ``refine_edges``.

    Pairs between two components are left out: if (v, u) is within a component, so are the pairs
    (v, w) and (u, w) with w ∈ N_d(v) that it reads. No γ therefore depends on other pairs.
    """
    record, widest = open_record(ptr)
    ends = (np.empty_like(part), np.empty_like(part))
    words(part, FIRST, ends[0])
    words(part, SECOND, ends[1])
    gamma_space = np.empty((widest, 2), np.uint64)
    scratch = np.empty((widest, 2), np.uint64)
    word = np.empty((widest, 2), np.uint64)
    alpha_space = np.empty((widest * widest, 2), np.uint64)
    left_space = np.empty(2 * widest * widest, np.uint64)
    right_space = np.empty(2 * widest * widest, np.uint64)
    table = np.empty(table_size(widest * widest), np.int64)
    ball = np.empty(balls, np.int32)
    row_space = np.zeros(widest + 1, np.int64)
    component = np.empty(widest, np.int32)
    depth = np.full(widest, -1, np.int32)
    queue = np.empty(widest, np.int32)
    for g in range(len(ptr) - 1):
        base = ptr[g]
        n = ptr[g + 1] - base
        row = row_space[: n + 1]
        alpha = alpha_space[: n * n]
        left = left_space[: 2 * n * n].reshape(2, n, n)
        right = right_space[: 2 * n * n].reshape(2, n, n)
        sums = np.empty((2, n), np.uint64)
        gamma = gamma_space[:n]
        copy_rows(start[base:], n, gamma, 0)
        _start(
            base, indptr, indices, part, ends, labels, d, distances, row, ball, component, alpha,
            depth, queue,
        )  # fmt: skip
        r = 0
        while True:
            classes = count_classes(gamma, table) + count_classes(alpha, table)
            record, more = note(record, g, r, gamma, bag(gamma), classes, rounds, most)
            if not more:
                break
            r += 1
            vertex_words(base, indptr, indices, gamma, part, scratch, word)
            pair_words(alpha, left, right)
            for v in range(n):
                near = ball[row[v] : row[v + 1]]
                row_sums(v, near, left, right, sums)
                for u in range(n):
                    if u != v and component[u] == component[v]:
                        pair = alpha[v * n + u]
                        pair[0], pair[1] = chain(pair[0], pair[1], sums[0, u], sums[1, u], OWN)
                low = np.uint64(0)
                high = np.uint64(0)
                for u in near:
                    a, b = scramble(alpha[v * n + u, 0], alpha[v * n + u, 1], LEFT)
                    low += word[u, 0] * a
                    high += word[u, 1] * b
                gamma[v, 0], gamma[v, 1] = scramble(low, high, OWN)
        learned = (np.uint64(0), np.uint64(0))
        if rounds < 0:
            learned = bag(alpha)
        seal(record, g, rounds, learned)
    return close_record(record)
