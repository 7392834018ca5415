"""The exact GPNN refinement with α learned on cross edges or on all edges (``cross``, ``edges``).

The cost is near-linear, since α changes on edges only. The colours of the pairs (v, w) with
w ∈ N_d(v), which steps 2 and 3 read, are stored. The other pairs of step 2, (u, w) with u a
neighbour of v and w ∈ N_d(v), always keep their λ_E, which is computed when needed.
"""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .colour_hash import (
    CROSS,
    FIRST,
    LEFT,
    NEIGHBOUR,
    NONE,
    OWN,
    RIGHT,
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
from .hashing import chain, scramble
from .hops import reach
from .record import close_record, note, open_record, seal

__all__ = ["refine_edges", "same", "vertex_words"]


@jit
def same(a, b):  # type: ignore[no-untyped-def]
    """Whether two colours (rows of two lanes) are equal."""
    return a[0] == b[0] and a[1] == b[1]


@jit
def vertex_words(base, indptr, indices, gamma, part, scratch, word):  # type: ignore[no-untyped-def]
    """Step 1, β_v = hash(γ_v, {{γ_u : u ∈ N_1(v) \\ v}}); ``word`` gets words of (λ_V(v), β_v).

    λ_V(v) is combined with β_v because the set over colours j of (j, {{(β_u, α_vu) : λ_V(u) = j}})
    in step 3 and the multiset of triples (λ_V(u), β_u, α_vu) determine each other: one sum over
    N_d(v) of words of (λ_V(u), β_u) times words of α_vu covers all parts.
    """
    words(gamma, NEIGHBOUR, scratch)
    for v in range(len(gamma)):
        low = np.uint64(0)
        high = np.uint64(0)
        for at in range(indptr[base + v], indptr[base + v + 1]):
            u = indices[at] - base
            low += scratch[u, 0]
            high += scratch[u, 1]
        low, high = chain(gamma[v, 0], gamma[v, 1], low, high, OWN)
        word[v, 0], word[v, 1] = chain(part[base + v, 0], part[base + v, 1], low, high, RIGHT)


@jit
def _start(base, indptr, indices, part, ends, labels, d, distances, row, ball, alpha, depth):  # type: ignore[no-untyped-def]
    """Compute N_d(v) for every v (v first, then its neighbours in order), and α⁽⁰⁾ of its pairs."""
    first, second = ends
    for v in range(len(row) - 1):
        at = row[v]
        ball_size = reach(v, base, indptr, indices, d, depth, ball[at:])
        row[v + 1] = at + ball_size
        degree = indptr[base + v + 1] - indptr[base + v]
        for i in range(ball_size):
            u = ball[at + i]
            kind = SELF if i == 0 else NONE
            label = 0
            if 0 < i <= degree:
                kind = WITHIN if same(part[base + v], part[base + u]) else CROSS
                label = labels[indptr[base + v] + i - 1] if len(labels) > 0 else 0
            low, high = kind_words(kind, label, depth[u] if distances else 0)
            alpha[at + i, 0] = first[base + v, 0] + second[base + u, 0] + low
            alpha[at + i, 1] = first[base + v, 1] + second[base + u, 1] + high
        for i in range(ball_size):
            depth[ball[at + i]] = -1


@jit
def _interact(  # type: ignore[no-untyped-def]
    base, indptr, indices, part, ends, within, limit, apart, row, ball, alpha, left, right,
    depth, queue, entry, cursor,
):  # fmt: skip
    """Step 2 on the learned edges; α is read through its ``left`` and ``right`` words.

    The outer loop is over u, so that one search around u serves every edge (v, u). Rows are
    ascending, so the position of u in row v is the number of times v was visited before. ``apart``
    holds the kind words of a non-edge by distance, with ``limit`` = d + 1; if distances are not
    used, ``limit`` is 1 and row 0 applies to all non-edges.
    """
    first, second = ends
    for v in range(len(cursor)):
        cursor[v] = 0
    for u in range(len(row) - 1):
        ball_size = reach(u, base, indptr, indices, limit, depth, queue)
        degree = indptr[base + u + 1] - indptr[base + u]
        for i in range(degree + 1):
            entry[queue[i]] = row[u] + i
        for i in range(1, degree + 1):
            v = queue[i]
            cursor[v] += 1
            if not within and same(part[base + u], part[base + v]):
                continue
            low = np.uint64(0)
            high = np.uint64(0)
            for at in range(row[v], row[v + 1]):
                w = ball[at]
                if 0 <= depth[w] <= 1:
                    a, b = right[entry[w], 0], right[entry[w], 1]
                else:
                    kind = apart[max(depth[w], 0)]
                    a = first[base + u, 0] + second[base + w, 0] + kind[0]
                    b = first[base + u, 1] + second[base + w, 1] + kind[1]
                    a, b = scramble(a, b, RIGHT)
                low += left[at, 0] * a
                high += left[at, 1] * b
            pair = alpha[row[v] + cursor[v]]
            pair[0], pair[1] = chain(pair[0], pair[1], low, high, OWN)
        for i in range(ball_size):
            depth[queue[i]] = -1


@jit
def refine_edges(  # type: ignore[no-untyped-def]
    ptr, indptr, indices, part, start, labels, within, d, distances, balls, rounds, most
):
    """Steps 1 to 3 with α on cross edges and, if ``within``, also on edges within parts.

    ``part`` ([n, 2]) holds the colours λ_V, ``start`` the colours γ⁽⁰⁾, ``labels`` the label of
    every CSR entry, or is empty; ``balls`` is the largest total size of N_d(v) in a graph.
    ``rounds``, ``most`` and the result are as in ``record``.
    """
    record, widest = open_record(ptr)
    ends = (np.empty_like(part), np.empty_like(part))
    words(part, FIRST, ends[0])
    words(part, SECOND, ends[1])
    limit = d + 1 if distances else 1
    apart = np.empty((limit + 1, 2), np.uint64)
    for hops in range(limit + 1):
        apart[hops, 0], apart[hops, 1] = kind_words(NONE, 0, hops if distances else 0)
    gamma_space = np.empty((widest, 2), np.uint64)
    scratch = np.empty((widest, 2), np.uint64)
    word = np.empty((widest, 2), np.uint64)
    alpha_space = np.empty((balls, 2), np.uint64)
    left = np.empty((balls, 2), np.uint64)
    right = np.empty((balls, 2), np.uint64)
    table = np.empty(table_size(max(balls, widest)), np.int64)
    ball = np.empty(balls, np.int32)
    row_space = np.zeros(widest + 1, np.int64)
    depth = np.full(widest, -1, np.int32)
    queue = np.empty(widest, np.int32)
    entry = np.empty(widest, np.int64)
    cursor = np.empty(widest, np.int64)
    for g in range(len(ptr) - 1):
        base = ptr[g]
        n = ptr[g + 1] - base
        row = row_space[: n + 1]
        gamma = gamma_space[:n]
        copy_rows(start[base:], n, gamma, 0)
        _start(
            base, indptr, indices, part, ends, labels, d, distances, row, ball, alpha_space, depth
        )
        alpha = alpha_space[: row[n]]
        words(alpha, LEFT, left)
        words(alpha, RIGHT, right)
        r = 0
        while True:
            classes = count_classes(gamma, table) + count_classes(alpha, table)
            record, more = note(record, g, r, gamma, bag(gamma), classes, rounds, most)
            if not more:
                break
            r += 1
            vertex_words(base, indptr, indices, gamma, part, scratch, word)
            _interact(
                base, indptr, indices, part, ends, within, limit, apart, row, ball, alpha,
                left, right, depth, queue, entry, cursor[:n],
            )  # fmt: skip
            for v in range(n):
                low = np.uint64(0)
                high = np.uint64(0)
                edges = row[v] + 1 + indptr[base + v + 1] - indptr[base + v]
                words(alpha[row[v] : edges], LEFT, left[row[v] :])
                words(alpha[row[v] : edges], RIGHT, right[row[v] :])
                for at in range(row[v], row[v + 1]):
                    low += word[ball[at], 0] * left[at, 0]
                    high += word[ball[at], 1] * left[at, 1]
                gamma[v, 0], gamma[v, 1] = scramble(low, high, OWN)
        seal(record, g, rounds, (np.uint64(0), np.uint64(0)))
    return close_record(record)
