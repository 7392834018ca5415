"""α classes of whole sets of graphs, with what every class is made of.

Graph after graph, all rounds of a graph at once. A *node* stands for an α: a learned class counts
from 0 through all rounds, start class s is -1 - s. Equal nodes, equal α; a learned class is
found by a 128-bit hash of its round, its previous node and the multiset of its tuples of nodes.
"""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .hashing import chain, scramble
from .hops import reach
from .palette import CROSS, NONE, SELF, WITHIN
from .shelf import enlarge, find, new_shelf, shelf_room, tally

__all__ = ["CROSS_EDGES", "EDGES", "PAIRS", "ball_counts", "learn"]

CROSS_EDGES, EDGES, PAIRS = 0, 1, 2

STARTS, CLASSES, TUPLES, ENTRIES, START_LOG, CLASS_LOG = range(6)
START_SALT = np.uint64(0x428A2F98D728AE22)
TUPLE_SALT = np.uint64(0x7137449123EF65CD)
CLASS_SALT = np.uint64(0xB5C0FBCFEC4D3B2F)
UNKNOWN = np.int64(-(2**62))


@jit
def ball_counts(ptr, indptr, indices, limit, most):  # type: ignore[no-untyped-def]
    """``(sizes, done)``: |N_limit(v)| of every vertex, given up where a graph's sum passes ``most``.

    ``done`` vertices were counted; all of them unless it was given up.
    """
    widest = 1
    for g in range(len(ptr) - 1):
        widest = max(widest, ptr[g + 1] - ptr[g])
    sizes = np.zeros(ptr[len(ptr) - 1], np.int64)
    depth = np.full(widest, -1, np.int32)
    queue = np.empty(widest, np.int32)
    for g in range(len(ptr) - 1):
        base = ptr[g]
        total = 0
        for v in range(ptr[g + 1] - base):
            found = reach(v, base, indptr, indices, limit, depth, queue)
            for i in range(found):
                depth[queue[i]] = -1
            sizes[base + v] = found
            total += found
            if total > most:
                return sizes, base + v + 1
    return sizes, len(sizes)


@jit
def _start(starts, sizes, first, kind, second, label, hops, entry, merge):  # type: ignore[no-untyped-def]
    """The start class (λ_V(v), kind, λ_V(u), label, hops)."""
    low, high = chain(
        np.uint64(first), np.uint64(second), np.uint64(label), np.uint64(kind + 4 * hops),
        START_SALT,
    )  # fmt: skip
    s = find(starts[0], starts[1], sizes[STARTS], low, high, merge)
    if s == sizes[STARTS]:
        row = starts[2][s]
        row[0], row[1], row[2], row[3], row[4], row[5] = first, kind, second, label, hops, entry
        sizes[STARTS] += 1
    return s


@jit
def _rows(base, indptr, indices, part, which, d, radius, rounds, depth, queue, cursor, row, near, ball, until, hops, entry):  # type: ignore[no-untyped-def]  # fmt: skip
    """Rows N_radius(v), ascending, of one graph: the other end, its distance, its CSR entry or -1,
    and the last round in which the pair is learned.

    Balls are symmetric, so v is appended to the rows of its ball; ``near`` counts N_d.
    """
    n = len(row) - 1
    row[0], near[0] = 0, 0
    for v in range(n):
        found = reach(v, base, indptr, indices, radius, depth, queue)
        row[v + 1] = row[v] + found
        near[v + 1] = near[v]
        for i in range(found):
            near[v + 1] += depth[queue[i]] <= d
            depth[queue[i]] = -1
        cursor[v] = 0
    met = np.zeros(n, np.int64)
    for u in range(n):
        found = reach(u, base, indptr, indices, radius, depth, queue)
        for i in range(found):
            v = queue[i]
            e = row[v] + cursor[v]
            cursor[v] += 1
            ball[e] = u
            hops[e] = depth[v]
            entry[e] = -1
            until[e] = 0
            if depth[v] == 1:
                entry[e] = indptr[base + v] + met[v]
                met[v] += 1
                if which != CROSS_EDGES or part[base + v] != part[base + u]:
                    until[e] = rounds
            if which == PAIRS and depth[v] > 0:
                until[e] = rounds + 1 - (depth[v] + d - 1) // d
            depth[v] = -1


@jit
def _describe(store, sizes, c, number, previous, part, firsts, seconds, size, merge):  # type: ignore[no-untyped-def]
    """Write down a new class c: its row, and its multiset of tuples as (tuple, count) entries."""
    _, _, classes, _, tuples, entries = store
    line = classes[2][c]
    line[0], line[1], line[2], line[3] = number, previous, part, sizes[ENTRIES]
    ids = np.empty(size, np.int64)
    for k in range(size):
        salt = TUPLE_SALT + np.uint64(number)
        low, high = scramble(np.uint64(firsts[k]), np.uint64(seconds[k]), salt)
        ids[k] = find(tuples[0], tuples[1], sizes[TUPLES], low, high, merge)
        if ids[k] == sizes[TUPLES]:
            line = tuples[2][ids[k]]
            line[0], line[1], line[2] = number, firsts[k], seconds[k]
            sizes[TUPLES] += 1
    ids.sort()
    for k in range(size):
        if k == 0 or ids[k] != ids[k - 1]:
            entries[sizes[ENTRIES], 0] = ids[k]
            entries[sizes[ENTRIES], 1] = 0
            sizes[ENTRIES] += 1
        entries[sizes[ENTRIES] - 1, 1] += 1


@jit
def _capacity(store):  # type: ignore[no-untyped-def]
    starts, start_log, classes, class_log, tuples, entries = store
    return (
        len(starts[2]), len(classes[2]), len(tuples[2]), len(entries), len(start_log),
        len(class_log),
    )


@jit
def _short(sizes, room, size):  # type: ignore[no-untyped-def]
    return (
        sizes[STARTS] + size > room[STARTS]
        or sizes[START_LOG] + size > room[START_LOG]
        or sizes[CLASSES] + 1 > room[CLASSES]
        or sizes[CLASS_LOG] + 1 > room[CLASS_LOG]
        or sizes[TUPLES] + size > room[TUPLES]
        or sizes[ENTRIES] + size > room[ENTRIES]
    )


@jit
def _room(store, sizes, size, merge):  # type: ignore[no-untyped-def]
    """The store, with room for one more class of ``size`` tuples and as many start classes."""
    starts, start_log, classes, class_log, tuples, entries = store
    if (
        sizes[STARTS] + size > len(starts[2])
        or sizes[START_LOG] + size > len(start_log)
        or sizes[CLASSES] + 1 > len(classes[2])
        or sizes[CLASS_LOG] + 1 > len(class_log)
        or sizes[TUPLES] + size > len(tuples[2])
        or sizes[ENTRIES] + size > len(entries)
    ):
        return (
            shelf_room(starts, sizes[STARTS], size, merge),
            enlarge(start_log, sizes[START_LOG], size),
            shelf_room(classes, sizes[CLASSES], 1, merge),
            enlarge(class_log, sizes[CLASS_LOG], 1),
            shelf_room(tuples, sizes[TUPLES], size, merge),
            enlarge(entries, sizes[ENTRIES], size),
        )
    return store


@jit
def learn(  # type: ignore[no-untyped-def]
    ptr, indptr, indices, part, labels, which, d, rounds, distances, merge, widest, stored, pairs
):
    """All classes of all graphs; see ``gpnn.graph.classes`` for what they are.

    ``widest`` is the largest number of vertices, ``stored`` the largest sum over a graph of the
    sizes of the balls kept, ``pairs`` the sum over all graphs of the sizes of N_d(v).
    """
    radius = rounds * d if which == PAIRS else d
    limit = radius + (d if which == PAIRS else 1)
    sizes = np.zeros(6, np.int64)
    empty = np.empty((16, 2), np.int64)
    store = (
        new_shelf(6), empty, new_shelf(4), empty.copy(), new_shelf(3), empty.copy(),
    )  # fmt: skip
    graphs = len(ptr) - 1
    start_ptr = np.zeros(graphs + 1, np.int64)
    class_ptr = np.zeros(graphs + 1, np.int64)
    pair_ptr = np.zeros(graphs + 1, np.int64)
    centre = np.empty(pairs, np.int64)
    other = np.empty(pairs, np.int64)
    out = np.empty((rounds, pairs), np.int64)
    depth = np.full(widest, -1, np.int32)
    queue = np.empty(widest, np.int32)
    cursor = np.empty(widest, np.int64)
    far = np.empty(widest, np.int64)
    far_start = np.empty(widest, np.int64)
    here = np.full(widest, UNKNOWN, np.int64)
    firsts = np.empty(widest, np.int64)
    seconds = np.empty(widest, np.int64)
    ball = np.empty(stored, np.int32)
    until = np.empty(stored, np.int32)
    hops = np.empty(stored, np.int32)
    entry = np.empty(stored, np.int64)
    alpha = np.empty(stored, np.int64)
    new = np.empty(stored, np.int64)
    close = np.empty(stored, np.int64)
    for g in range(graphs):
        base = ptr[g]
        n = ptr[g + 1] - base
        row = np.empty(n + 1, np.int64)
        near = np.empty(n + 1, np.int64)
        _rows(base, indptr, indices, part, which, d, radius, rounds, depth, queue, cursor, row, near, ball, until, hops, entry)  # fmt: skip
        store = _room(store, sizes, row[n], merge)
        at = pair_ptr[g]
        k = 0
        for v in range(n):
            for e in range(row[v], row[v + 1]):
                u = ball[e]
                kind = NONE
                label = 0
                if hops[e] == 0:
                    kind = SELF
                elif hops[e] == 1:
                    kind = WITHIN if part[base + v] == part[base + u] else CROSS
                    label = labels[entry[e]] + 1 if len(labels) > 0 else 0
                s = _start(
                    store[0], sizes, part[base + v], kind, part[base + u], label,
                    hops[e] if distances else 0, entry[e], merge,
                )  # fmt: skip
                tally(store[0][3], store[1], sizes, START_LOG, start_ptr[g], s)
                alpha[e] = -1 - s
                if hops[e] <= d:
                    close[k] = e
                    centre[at + k] = base + v
                    other[at + k] = base + u
                    k += 1
        pair_ptr[g + 1] = at + k
        starts, start_log, classes, class_log, tuples, entries = store
        class_keys, class_slots, _, class_seen = classes
        room = _capacity(store)
        for number in range(1, rounds + 1):
            for e in range(row[n]):
                new[e] = alpha[e]
            for v in range(n):
                cursor[v] = 0
            for u in range(n):
                if number == 1:
                    far_start[u] = sizes[STARTS]
                met = 0
                found = 0
                if distances:
                    found = reach(u, base, indptr, indices, limit, depth, queue)
                for e in range(row[u], row[u + 1]):
                    here[ball[e]] = alpha[e]
                for e in range(row[u], row[u + 1]):
                    v = ball[e]
                    back = row[v] + cursor[v]
                    cursor[v] += 1
                    if until[e] < number:
                        continue
                    size = near[v + 1] - near[v]
                    if _short(sizes, room, size):
                        store = _room(store, sizes, size, merge)
                        starts, start_log, classes, class_log, tuples, entries = store
                        class_keys, class_slots, _, class_seen = classes
                        room = _capacity(store)
                    low = np.uint64(0)
                    high = np.uint64(0)
                    for i in range(size):
                        f = close[near[v] + i]
                        w = ball[f]
                        if here[w] == UNKNOWN:
                            s = far_start[u] + met
                            if merge or number == 1:
                                s = _start(
                                    starts, sizes, part[base + u], NONE, part[base + w], 0,
                                    depth[w] if distances else 0, -1, merge,
                                )  # fmt: skip
                            if number == 1:
                                tally(starts[3], start_log, sizes, START_LOG, start_ptr[g], s)
                            here[w] = -1 - s
                            far[met] = w
                            met += 1
                        firsts[i] = alpha[f]
                        seconds[i] = here[w]
                        a, b = scramble(
                            np.uint64(firsts[i]),
                            np.uint64(seconds[i]),
                            TUPLE_SALT + np.uint64(number),
                        )
                        low += a
                        high += b
                    low, high = chain(
                        low, high, np.uint64(alpha[back]), np.uint64(number), CLASS_SALT
                    )
                    c = find(class_keys, class_slots, sizes[CLASSES], low, high, merge)
                    if c == sizes[CLASSES]:
                        sizes[CLASSES] += 1
                        _describe(
                            store, sizes, c, number, alpha[back], part[base + u], firsts, seconds,
                            size, merge,
                        )  # fmt: skip
                    tally(class_seen, class_log, sizes, CLASS_LOG, class_ptr[g], c)
                    new[back] = c
                for e in range(row[u], row[u + 1]):
                    here[ball[e]] = UNKNOWN
                for i in range(met):
                    here[far[i]] = UNKNOWN
                for i in range(found):
                    depth[queue[i]] = -1
            alpha, new = new, alpha
            for i in range(k):
                out[number - 1, at + i] = alpha[close[i]]
        start_ptr[g + 1] = sizes[START_LOG]
        class_ptr[g + 1] = sizes[CLASS_LOG]
    starts, start_log, classes, class_log, tuples, entries = store
    return (
        starts[2][: sizes[STARTS]], (start_ptr, start_log[: sizes[START_LOG]]),
        classes[2][: sizes[CLASSES]], (class_ptr, class_log[: sizes[CLASS_LOG]]),
        tuples[2][: sizes[TUPLES]], entries[: sizes[ENTRIES]], pair_ptr, centre, other, out,
    )  # fmt: skip
