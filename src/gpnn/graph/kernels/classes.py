"""α classes of whole sets of graphs, with what every class is made of.

Graph after graph, all rounds of a graph at once. A *node* stands for an α: learned classes count
from 0 through all rounds, start class s is -1 - s. Equal nodes, equal α. A learned class is found
by a 128-bit hash of its round, its node before and the multiset of its tuples of nodes.
"""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .balls import PAIRS, ball_rows, start_kind
from .hashing import mix, scramble
from .hops import reach
from .palette import NONE
from .shelf import enlarge, find, new_shelf, shelf_room, tally

__all__ = ["learn"]

STARTS, CLASSES, TUPLES, ENTRIES, START_LOG, CLASS_LOG = range(6)
START_SALT = np.array([
    [0x428A2F98D728AE23, 0xB5C0FBCFEC4D3B2F, 0x3956C25BF348B539, 0x923F82A4AF194F9B,
     0x72BE5D74F27B896F],
    [0x7137449123EF65CD, 0xE9B5DBA58189DBBD, 0x59F111F1B605D019, 0xAB1C5ED5DA6D8119,
     0x80DEB1FE3B1696B1],
], np.uint64)  # fmt: skip
TUPLE_SALT = np.uint64(0xD807AA98A3030242)
RIGHT_SALT = np.uint64(0x12835B0145706FBE)
OWN_SALT = np.uint64(0x243185BE4EE4B28C)
CLASS_SALT = np.uint64(0x550C7DC3D5FFB4E2)
UNKNOWN = np.int64(-(2**62))


@jit
def _start(keys, slots, rows, sizes, first, kind, second, label, hops, entry, merge):  # type: ignore[no-untyped-def]
    """The start class (part of v, kind, part of u, label, hops)."""
    a, b, c, x = np.uint64(first), np.uint64(second), np.uint64(label), np.uint64(kind + 4 * hops)
    k = START_SALT
    low = mix(k[0, 0] * a + k[0, 1] * b + k[0, 2] * c + k[0, 3] * x + k[0, 4])
    high = mix(k[1, 0] * a + k[1, 1] * b + k[1, 2] * c + k[1, 3] * x + k[1, 4])
    s = find(keys, slots, sizes[STARTS], low, high, merge)
    if s == sizes[STARTS]:
        rows[s, 0], rows[s, 1], rows[s, 2], rows[s, 3] = first, kind, second, label
        rows[s, 4], rows[s, 5] = hops, entry
        sizes[STARTS] += 1
    return s


@jit
def _word(node, keys, start_keys, lane):  # type: ignore[no-untyped-def]
    """A lane of the key of a node."""
    return keys[node, lane] if node >= 0 else start_keys[-1 - node, lane]


@jit
def _begin(base, part, labels, d, distances, merge, since, graph, shelf, log, sizes, alpha):  # type: ignore[no-untyped-def]
    """α⁽⁰⁾ of all pairs kept of a graph; in ``close`` and ``mate``, those of N_d. Returns how many these are."""
    keys, slots, rows, seen = shelf
    row, _, ball, _, hops, entry, close, mate = graph
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
                close[found], mate[found] = e, u
                found += 1
    return found


@jit
def _describe(shelf, entries, sizes, number, close, mate, alpha, here, merge):  # type: ignore[no-untyped-def]
    """Append the multiset {{(α_vw, α_uw) : w ∈ N_d(v)}} of a new class, as (tuple, count) entries."""
    keys, slots, rows, seen = shelf
    since = sizes[ENTRIES]
    salt = TUPLE_SALT + np.uint64(number)
    for k in range(len(close)):
        first, second = alpha[close[k]], here[mate[k]]
        low, high = scramble(np.uint64(first), np.uint64(second), salt)
        t = find(keys, slots, sizes[TUPLES], low, high, merge)
        if t == sizes[TUPLES]:
            rows[t, 0], rows[t, 1], rows[t, 2] = number, first, second
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
    row, near, ball, until, _, _, _, _ = graph
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
    row, near, ball, until, _, _, close, mate = graph
    depth, queue, cursor, here, far, far_start, right, left = scratch
    starts, start_log, classes, class_log, tuples, entries = store
    start_keys, start_slots, start_rows, start_seen = starts
    keys, slots, rows, seen = classes
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
            w = ball[e]
            here[w] = alpha[e]
            if merge:
                right[w, 0] = mix(_word(alpha[e], keys, start_keys, 0) + RIGHT_SALT)
                right[w, 1] = mix(_word(alpha[e], keys, start_keys, 1) + RIGHT_SALT)
        met = 0
        for e in range(row[u], row[u + 1]):
            v = ball[e]
            back = row[v] + cursor[v]
            cursor[v] += 1
            if until[e] < number:
                continue
            low = np.uint64(0)
            high = np.uint64(0)
            for k in range(near[v], near[v + 1]):
                w = mate[k]
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
                    if merge:
                        right[w, 0] = mix(start_keys[s, 0] + RIGHT_SALT)
                        right[w, 1] = mix(start_keys[s, 1] + RIGHT_SALT)
                low += left[k, 0] * right[w, 0]
                high += left[k, 1] * right[w, 1]
            c = sizes[CLASSES]
            if merge:
                low += mix(_word(alpha[back], keys, start_keys, 0) + OWN_SALT)
                high += mix(_word(alpha[back], keys, start_keys, 1) + OWN_SALT)
                low, high = scramble(low, high, CLASS_SALT)
                c = find(keys, slots, c, low, high, merge)
            if c == sizes[CLASSES]:
                sizes[CLASSES] += 1
                rows[c, 0], rows[c, 1], rows[c, 2] = number, alpha[back], part[base + u]
                rows[c, 3] = sizes[ENTRIES]
                span = slice(near[v], near[v + 1])
                _describe(tuples, entries, sizes, number, close[span], mate[span], alpha, here, merge)
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
    ptr, indptr, indices, part, labels, which, d, rounds, distances, merge, widest, stored, closest,
    pairs,
):
    """All classes of all graphs; see ``gpnn.graph.classes`` for what they are.

    ``widest`` is the largest number of vertices, ``stored`` the largest sum over a graph of the
    sizes of the balls kept, ``closest`` that of N_d(v), ``pairs`` the sum over all graphs of the sizes of N_d(v).
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
    left = np.zeros((closest, 2), np.uint64)
    scratch = (
        depth, queue, cursor, np.full(widest, UNKNOWN), np.empty(widest, np.int64),
        np.empty(widest, np.int64), np.zeros((widest, 2), np.uint64), left,
    )  # fmt: skip
    row_space = np.zeros(widest + 1, np.int64)
    near_space = np.zeros(widest + 1, np.int64)
    ball = np.empty(stored, np.int32)
    until = np.empty(stored, np.int32)
    hops = np.empty(stored, np.int32)
    entry = np.empty(stored, np.int64)
    close = np.empty(closest, np.int64)
    mate = np.empty(closest, np.int32)
    alpha = np.empty(stored, np.int64)
    new = np.empty(stored, np.int64)
    for g in range(graphs):
        base = ptr[g]
        n = ptr[g + 1] - base
        row = row_space[: n + 1]
        graph = (row, near_space[: n + 1], ball, until, hops, entry, close, mate)
        ball_rows(base, indptr, indices, part, which, d, radius, rounds, depth, queue, cursor, graph)
        store = _room(store, sizes, row[n], n, merge)
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
            if merge:
                keys, start_keys = store[2][0], store[0][0]
                for i in range(found):
                    left[i, 0] = _word(alpha[close[i]], keys, start_keys, 0)
                    left[i, 1] = _word(alpha[close[i]], keys, start_keys, 1)
            u = number * 0
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
