"""α classes of a set of graphs, computed graph by graph with all rounds of a graph at once."""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .balls import PAIRS, ball_rows
from .equation2 import (
    CLASS_LOG,
    CLASSES,
    ENTRIES,
    START_LOG,
    STARTS,
    TUPLES,
    UNKNOWN,
    at_most,
    key_word,
    learn_round,
    start_pairs,
)
from .shelf import enlarge, new_shelf, shelf_room
from .tuple_table import new_tuples, tuple_room

__all__ = ["learn_classes"]


@jit
def _room(store, sizes, tuples, classes, merge):  # type: ignore[no-untyped-def]
    """Enlarge the store for the given number of further classes and tuples; start classes grow by
    the number of tuples."""
    return (
        shelf_room(store[0], sizes[STARTS], tuples, merge),
        enlarge(store[1], sizes[START_LOG], tuples),
        shelf_room(store[2], sizes[CLASSES], classes, merge),
        enlarge(store[3], sizes[CLASS_LOG], classes),
        tuple_room(store[4], sizes[TUPLES], tuples, merge),
        enlarge(store[5], sizes[ENTRIES], tuples),
    )


@jit
def learn_classes(  # type: ignore[no-untyped-def]
    ptr, indptr, indices, part, colour, labels, which, d, rounds, distances, merge, widest, kept,
    closest, pairs,
):  # fmt: skip
    """Compute all classes of all graphs, as defined in ``gpnn.graph.classes``.

    ``colour`` is the vertex information in a start class, including the part. ``widest`` is the
    largest number of vertices of a graph, ``kept`` the largest total size of stored balls in a
    graph, ``closest`` the largest total size of N_d(v) in a graph, and ``pairs`` the total size of
    N_d(v) over all graphs.

    Returns the start classes (colour, kind, colour, label, hops, CSR entry), the classes (round,
    previous node, part of u, first entry), the tuples (round, node, node), the entries (tuple,
    count), the logs of start classes and of classes (the bounds of every graph, and rows (class,
    count)), the bounds of every graph's pairs, the pairs, and their nodes per round.
    """
    radius = rounds * d if which == PAIRS else d
    limit = radius + d if distances and which == PAIRS else 0
    beyond = d + 1 if distances else 0  # hops from u to w ∈ N_d(v) outside N_d(u), u adjacent to v
    sizes = np.zeros(6, np.int64)
    store = (
        new_shelf(6), np.empty((8, 2), np.int64), new_shelf(4), np.empty((8, 2), np.int64),
        new_tuples(), np.empty((8, 2), np.int64),
    )  # fmt: skip
    start_ptr = np.zeros(len(ptr), np.int64)
    class_ptr = np.zeros(len(ptr), np.int64)
    pair_ptr = np.zeros(len(ptr), np.int64)
    ends = np.empty((2, pairs), np.int64)
    nodes = np.empty((rounds, pairs), np.int64)
    depth = np.full(widest, -1, np.int32)
    queue = np.empty(widest, np.int32)
    cursor = np.empty(widest, np.int64)
    far = np.empty(widest, np.int64)
    left = np.zeros((closest, 2), np.uint64)
    scratch = (
        depth, queue, cursor, np.full(widest, UNKNOWN), far, np.empty(widest, np.int64), left,
        np.zeros((widest, 2), np.uint64),
    )  # fmt: skip
    row_space = np.zeros(widest + 1, np.int64)
    near_space = np.zeros(widest + 1, np.int64)
    ball = np.empty(kept, np.int32)
    until = np.empty(kept, np.int32)
    hops = np.empty(kept, np.int32)
    entry = np.empty(kept, np.int64)
    alpha = np.empty(kept, np.int64)
    new = np.empty(kept, np.int64)
    close = np.empty(closest, np.int64)
    mate = np.empty(closest, np.int32)
    for g in range(len(ptr) - 1):
        base = ptr[g]
        n = ptr[g + 1] - base
        row, near = row_space[: n + 1], near_space[: n + 1]
        graph = (row, near, ball, until, hops, entry, close, mate)
        ball_rows(
            base, indptr, indices, part, which, d, radius, rounds, depth, queue, cursor, far, graph
        )
        store = _room(store, sizes, row[n], n, merge)
        since = (start_ptr[g], class_ptr[g])
        start_pairs(
            base, part, colour, labels, distances, merge, since[0], graph, store[0], store[1],
            sizes, alpha,
        )  # fmt: skip
        at = pair_ptr[g]
        pair_ptr[g + 1] = at + near[n]
        for v in range(n):
            for k in range(near[v], near[v + 1]):
                ends[0, at + k], ends[1, at + k] = base + v, base + mate[k]
        for number in range(1, rounds + 1):
            for e in range(row[n]):
                new[e] = alpha[e]
            for v in range(n):
                cursor[v] = 0
            keys, start_keys = store[2][0], store[0][0]
            if merge:
                for k in range(near[n]):
                    left[k, 0] = key_word(alpha[close[k]], keys, start_keys, 0)
                    left[k, 1] = key_word(alpha[close[k]], keys, start_keys, 1)
            u = 0 * n
            while u < n:
                u = learn_round(
                    u, number, base, indptr, indices, part, colour, limit, beyond, merge, since,
                    graph, scratch, store, sizes, alpha, new,
                )  # fmt: skip
                if u < n:
                    classes, tuples = at_most(u, number, row, near, ball, until)
                    store = _room(store, sizes, tuples, classes, merge)
            alpha, new = new, alpha
            for k in range(near[n]):
                nodes[number - 1, at + k] = alpha[close[k]]
        start_ptr[g + 1] = sizes[START_LOG]
        class_ptr[g + 1] = sizes[CLASS_LOG]
    return (
        store[0][2][: sizes[STARTS]],
        store[2][2][: sizes[CLASSES]],
        store[4][1][: sizes[TUPLES]],
        store[5][: sizes[ENTRIES]],
        (start_ptr, store[1][: sizes[START_LOG]]),
        (class_ptr, store[3][: sizes[CLASS_LOG]]),
        pair_ptr,
        ends,
        nodes,
    )
