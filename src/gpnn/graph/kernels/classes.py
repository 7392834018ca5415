"""α classes of whole sets of graphs, with what every class is made of.

Graph after graph, all rounds of a graph at once. A *node* stands for an α: learned classes count
from 0 through all rounds, start class s is -1 - s. Equal nodes, equal α. A learned class is found
by a 128-bit hash of its round, its node before and the multiset of its tuples of nodes.
"""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .balls import PAIRS, ball_rows, start_kind
from .hashing import chain, scramble
from .hops import reach
from .palette import NONE
from .shelf import enlarge, find, new_shelf, shelf_room, tally

__all__ = ["learn"]

STARTS, CLASSES, TUPLES, ENTRIES, START_LOG, CLASS_LOG = range(6)
START_SALT = np.uint64(0x428A2F98D728AE22)
TUPLE_SALT = np.uint64(0x7137449123EF65CD)
CLASS_SALT = np.uint64(0xB5C0FBCFEC4D3B2F)
UNKNOWN = np.int64(-(2**62))


@jit
def _start(keys, slots, rows, sizes, first, kind, second, label, hops, entry, merge):  # type: ignore[no-untyped-def]
    """The start class (part of v, kind, part of u, label, hops)."""
    number = np.uint64(label)
    low, high = chain(
        np.uint64(first), np.uint64(second), number, np.uint64(kind + 4 * hops), START_SALT
    )
    s = find(keys, slots, sizes[STARTS], low, high, merge)
    if s == sizes[STARTS]:
        rows[s, 0], rows[s, 1], rows[s, 2], rows[s, 3] = first, kind, second, label
        rows[s, 4], rows[s, 5] = hops, entry
        sizes[STARTS] += 1
    return s


@jit
def _begin(base, part, labels, d, distances, merge, since, graph, shelf, log, sizes, alpha):  # type: ignore[no-untyped-def]
    """α⁽⁰⁾ of all pairs kept of a graph; in ``close``, those of N_d. Returns how many these are."""
    keys, slots, rows, seen = shelf
    row, _, ball, _, hops, entry, close = graph
    found = 0
    for v in range(len(row) - 1):
        for e in range(row[v], row[v + 1]):
            u = ball[e]
            kind = start_kind(hops[e], part[base + v], part[base + u])
            label = labels[entry[e]] + 1 if hops[e] == 1 and len(labels) > 0 else 0
            far = hops[e] if distances else 0
            s = _start(
                keys, slots, rows, sizes, part[base + v], kind, part[base + u], label, far,
                entry[e], merge,
            )  # fmt: skip
            tally(seen, log, sizes, START_LOG, since, s)
            alpha[e] = -1 - s
            if hops[e] <= d:
                close[found] = e
                found += 1
    return found


@jit
def _describe(shelf, entries, sizes, number, firsts, seconds, size, merge):  # type: ignore[no-untyped-def]
    """Append the multiset of tuples of a new class, as (tuple, count) entries."""
    keys, slots, rows, seen = shelf
    since = sizes[ENTRIES]
    salt = TUPLE_SALT + np.uint64(number)
    for k in range(size):
        low, high = scramble(np.uint64(firsts[k]), np.uint64(seconds[k]), salt)
        t = find(keys, slots, sizes[TUPLES], low, high, merge)
        if t == sizes[TUPLES]:
            rows[t, 0], rows[t, 1], rows[t, 2] = number, firsts[k], seconds[k]
            sizes[TUPLES] += 1
        tally(seen, entries, sizes, ENTRIES, since, t)


@jit
def _room(store, sizes, size, number, merge):  # type: ignore[no-untyped-def]
    """The store with room for ``number`` classes of ``size`` tuples in all."""
    starts, start_log, classes, class_log, tuples, entries = store
    return (
        shelf_room(starts, sizes[STARTS], size, merge),
        enlarge(start_log, sizes[START_LOG], size),
        shelf_room(classes, sizes[CLASSES], number, merge),
        enlarge(class_log, sizes[CLASS_LOG], number),
        shelf_room(tuples, sizes[TUPLES], size, merge),
        enlarge(entries, sizes[ENTRIES], size),
    )


@jit
def _need(u, number, graph):  # type: ignore[no-untyped-def]
    """``(classes, tuples)`` that the learned pairs (v, u) can add at most."""
    row, near, ball, until, _, _, _ = graph
    classes = 0
    tuples = 0
    for e in range(row[u], row[u + 1]):
        if until[e] >= number:
            classes += 1
            tuples += near[ball[e] + 1] - near[ball[e]]
    return classes, tuples


@jit
def _learn(u, number, base, indptr, indices, part, limit, merge, since, graph, scratch, store, sizes, alpha, new):  # type: ignore[no-untyped-def]  # fmt: skip
    """Round ``number`` on the pairs (v, u), for u from a vertex on while there is room.

    u runs outside, so that one look-up of its pairs serves all (v, u). Rows ascend, hence the
    place of u in row v is the number of times v was met before. Pairs (u, w) that are not kept
    have their start class for ever. They are met in the same order in every round, so where
    classes are not merged the k-th of u is the k-th that round 1 made. ``limit`` is how far they
    may lie, or 0 where distances do not count.
    """
    row, near, ball, until, _, _, close = graph
    depth, queue, cursor, here, far, far_start, firsts, seconds = scratch
    starts, start_log, classes, class_log, tuples, entries = store
    start_keys, start_slots, start_rows, start_seen = starts
    keys, slots, rows, seen = classes
    salt = TUPLE_SALT + np.uint64(number)
    while u < len(row) - 1:
        more, most = _need(u, number, graph)
        if (
            sizes[STARTS] + most > len(start_rows)
            or sizes[START_LOG] + most > len(start_log)
            or sizes[CLASSES] + more > len(rows)
            or sizes[CLASS_LOG] + more > len(class_log)
            or sizes[TUPLES] + most > len(tuples[2])
            or sizes[ENTRIES] + most > len(entries)
        ):
            break
        if number == 1:
            far_start[u] = sizes[STARTS]
        reached = reach(u, base, indptr, indices, limit, depth, queue) if limit > 0 else 0
        for e in range(row[u], row[u + 1]):
            here[ball[e]] = alpha[e]
        met = 0
        for e in range(row[u], row[u + 1]):
            v = ball[e]
            back = row[v] + cursor[v]
            cursor[v] += 1
            if until[e] < number:
                continue
            size = near[v + 1] - near[v]
            low = np.uint64(0)
            high = np.uint64(0)
            for k in range(size):
                f = close[near[v] + k]
                w = ball[f]
                if here[w] == UNKNOWN:
                    s = far_start[u] + met
                    if merge or number == 1:
                        hops = depth[w] if limit > 0 else 0
                        s = _start(
                            start_keys, start_slots, start_rows, sizes, part[base + u], NONE,
                            part[base + w], 0, hops, -1, merge,
                        )  # fmt: skip
                    if number == 1:
                        tally(start_seen, start_log, sizes, START_LOG, since[0], s)
                    here[w] = -1 - s
                    far[met] = w
                    met += 1
                firsts[k], seconds[k] = alpha[f], here[w]
                a, b = scramble(np.uint64(firsts[k]), np.uint64(seconds[k]), salt)
                low += a
                high += b
            low, high = chain(low, high, np.uint64(alpha[back]), np.uint64(number), CLASS_SALT)
            c = find(keys, slots, sizes[CLASSES], low, high, merge)
            if c == sizes[CLASSES]:
                sizes[CLASSES] += 1
                rows[c, 0], rows[c, 1], rows[c, 2] = number, alpha[back], part[base + u]
                rows[c, 3] = sizes[ENTRIES]
                _describe(tuples, entries, sizes, number, firsts, seconds, size, merge)
            tally(seen, class_log, sizes, CLASS_LOG, since[1], c)
            new[back] = c
        for e in range(row[u], row[u + 1]):
            here[ball[e]] = UNKNOWN
        for i in range(met):
            here[far[i]] = UNKNOWN
        for i in range(reached):
            depth[queue[i]] = -1
        u += 1
    return u


@jit
def learn(  # type: ignore[no-untyped-def]
    ptr, indptr, indices, part, labels, which, d, rounds, distances, merge, widest, stored, pairs
):
    """All classes of all graphs; see ``gpnn.graph.classes`` for what they are.

    ``widest`` is the largest number of vertices, ``stored`` the largest sum over a graph of the
    sizes of the balls kept, ``pairs`` the sum over all graphs of the sizes of N_d(v).
    """
    radius = rounds * d if which == PAIRS else d
    limit = (radius + (d if which == PAIRS else 1)) if distances else 0
    sizes = np.zeros(6, np.int64)
    store = (
        new_shelf(6), np.empty((8, 2), np.int64), new_shelf(4), np.empty((8, 2), np.int64),
        new_shelf(3), np.empty((8, 2), np.int64),
    )  # fmt: skip
    graphs = len(ptr) - 1
    start_ptr = np.zeros(graphs + 1, np.int64)
    class_ptr = np.zeros(graphs + 1, np.int64)
    pair_ptr = np.zeros(graphs + 1, np.int64)
    ends = np.empty((2, pairs), np.int64)
    nodes = np.empty((rounds, pairs), np.int64)
    depth = np.full(widest, -1, np.int32)
    queue = np.empty(widest, np.int32)
    cursor = np.empty(widest, np.int64)
    scratch = (
        depth, queue, cursor, np.full(widest, UNKNOWN), np.empty(widest, np.int64),
        np.empty(widest, np.int64), np.empty(widest, np.int64), np.empty(widest, np.int64),
    )  # fmt: skip
    row_space = np.zeros(widest + 1, np.int64)
    near_space = np.zeros(widest + 1, np.int64)
    ball = np.empty(stored, np.int32)
    until = np.empty(stored, np.int32)
    hops = np.empty(stored, np.int32)
    entry = np.empty(stored, np.int64)
    close = np.empty(stored, np.int64)
    alpha = np.empty(stored, np.int64)
    new = np.empty(stored, np.int64)
    for g in range(graphs):
        base = ptr[g]
        n = ptr[g + 1] - base
        row = row_space[: n + 1]
        graph = (row, near_space[: n + 1], ball, until, hops, entry, close)
        ball_rows(base, indptr, indices, part, which, d, radius, rounds, depth, queue, cursor, graph)
        store = _room(store, sizes, row[n], 0, merge)
        found = _begin(
            base, part, labels, d, distances, merge, start_ptr[g], graph, store[0], store[1],
            sizes, alpha,
        )  # fmt: skip
        at = pair_ptr[g]
        pair_ptr[g + 1] = at + found
        for v in range(n):
            for i in range(near_space[v], near_space[v + 1]):
                ends[0, at + i], ends[1, at + i] = base + v, base + ball[close[i]]
        since = (start_ptr[g], class_ptr[g])
        for number in range(1, rounds + 1):
            for e in range(row[n]):
                new[e] = alpha[e]
            for v in range(n):
                cursor[v] = 0
            u = 0
            while u < n:
                u = _learn(
                    u, number, base, indptr, indices, part, limit, merge, since, graph, scratch,
                    store, sizes, alpha, new,
                )  # fmt: skip
                if u < n:
                    more, most = _need(u, number, graph)
                    store = _room(store, sizes, most, more, merge)
            alpha, new = new, alpha
            for i in range(found):
                nodes[number - 1, at + i] = alpha[close[i]]
        start_ptr[g + 1] = sizes[START_LOG]
        class_ptr[g + 1] = sizes[CLASS_LOG]
    starts, start_log, classes, class_log, tuples, entries = store
    return (
        starts[2][: sizes[STARTS]], (start_ptr, start_log[: sizes[START_LOG]]),
        classes[2][: sizes[CLASSES]], (class_ptr, class_log[: sizes[CLASS_LOG]]),
        tuples[2][: sizes[TUPLES]], entries[: sizes[ENTRIES]], pair_ptr, ends, nodes,
    )  # fmt: skip
