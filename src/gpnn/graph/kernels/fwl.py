"""2-FWL on all ordered pairs, graph by graph, as matrix products modulo 2^64."""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .colour_hash import (
    FIRST,
    LEFT,
    NONE,
    OWN,
    RIGHT,
    SECOND,
    SELF,
    WITHIN,
    bag,
    count_classes,
    kind_words,
    table_size,
    words,
)  # fmt: skip
from .hashing import chain, scramble
from .record import close_record, note, open_record, seal

__all__ = ["fwl", "pair_words", "row_sums"]


@jit
def pair_words(alpha, left, right):  # type: ignore[no-untyped-def]
    """left[·, v, w] = words of α_vw and right[·, w, u] = words of α_uw, for dense α ([n·n, 2])."""
    n = left.shape[1]
    for v in range(n):
        for u in range(n):
            low, high = alpha[v * n + u, 0], alpha[v * n + u, 1]
            left[0, v, u], left[1, v, u] = scramble(low, high, LEFT)
            right[0, u, v], right[1, u, v] = scramble(low, high, RIGHT)


@jit
def row_sums(v, members, left, right, sums):  # type: ignore[no-untyped-def]
    """sums[·, u] = hash of {{(α_vw, α_uw) : w ∈ members}}, for all u at once."""
    for lane in range(2):
        into = sums[lane]
        for u in range(len(into)):
            into[u] = 0
        for w in members:
            factor = left[lane, v, w]
            row = right[lane, w]
            for u in range(len(into)):
                into[u] += factor * row[u]


@jit
def fwl(ptr, indptr, indices, start, labels, rounds, most):  # type: ignore[no-untyped-def]
    """α_vu ← hash(α_vu, {{(α_vw, α_uw) : w ∈ V}}), starting from self, edge and non-edge colours.

    ``start`` ([n, 2]) holds the vertex colours used in the start colour of a pair, ``labels`` the
    label of every CSR entry, or is empty. The stored colours are those of the pairs (v, v); the
    signatures cover all ordered pairs. ``rounds``, ``most`` and the result are as in ``record``.
    """
    record, widest = open_record(ptr)
    first = np.empty_like(start)
    second = np.empty_like(start)
    words(start, FIRST, first)
    words(start, SECOND, second)
    alpha_space = np.empty((widest * widest, 2), np.uint64)
    left_space = np.empty(2 * widest * widest, np.uint64)
    right_space = np.empty(2 * widest * widest, np.uint64)
    table = np.empty(table_size(widest * widest), np.int64)
    itself = kind_words(SELF, 0, 0)
    apart = kind_words(NONE, 0, 0)
    for g in range(len(ptr) - 1):
        base = ptr[g]
        n = ptr[g + 1] - base
        alpha = alpha_space[: n * n]
        left = left_space[: 2 * n * n].reshape(2, n, n)
        right = right_space[: 2 * n * n].reshape(2, n, n)
        sums = np.empty((2, n), np.uint64)
        members = np.arange(n)
        own = np.empty((n, 2), np.uint64)
        for v in range(n):
            for u in range(n):
                kind = itself if u == v else apart
                alpha[v * n + u, 0] = first[base + v, 0] + second[base + u, 0] + kind[0]
                alpha[v * n + u, 1] = first[base + v, 1] + second[base + u, 1] + kind[1]
            for at in range(indptr[base + v], indptr[base + v + 1]):
                u = indices[at] - base
                kind = kind_words(WITHIN, labels[at] if len(labels) > 0 else 0, 0)
                alpha[v * n + u, 0] = first[base + v, 0] + second[base + u, 0] + kind[0]
                alpha[v * n + u, 1] = first[base + v, 1] + second[base + u, 1] + kind[1]
        r = 0
        while True:
            classes = count_classes(alpha, table)
            for v in range(n):
                own[v, 0], own[v, 1] = alpha[v * n + v, 0], alpha[v * n + v, 1]
            record, more = note(record, g, r, own, bag(alpha), classes, rounds, most)
            if not more:
                break
            r += 1
            pair_words(alpha, left, right)
            for v in range(n):
                row_sums(v, members, left, right, sums)
                for u in range(n):
                    pair = alpha[v * n + u]
                    pair[0], pair[1] = chain(pair[0], pair[1], sums[0, u], sums[1, u], OWN)
        seal(record, g, rounds, (np.uint64(0), np.uint64(0)))
    return close_record(record)
