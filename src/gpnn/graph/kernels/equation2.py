"""Equation 2 on the pairs of one graph, where α is a node that represents a class.

A *node* is a number for an α: learned classes are numbered from 0 over all rounds, start class s is
-1 - s. Equal nodes mean equal α. A learned class is identified by a 128-bit key computed from the
keys of its nodes: key(α_vu) and the sum over w of key(α_vw) · mix(key(α_uw)), lane by lane modulo
2^64.
"""

from __future__ import annotations

import numpy as np

from .colour_hash import CROSS, NONE, SELF, WITHIN
from .hashing import mix, scramble
from .hops import reach
from .lean import lean
from .shelf import find, tally
from .tuple_table import count_tuple

__all__ = [
    "CLASSES", "CLASS_LOG", "ENTRIES", "STARTS", "START_LOG", "TUPLES", "UNKNOWN",
    "at_most", "key_word", "learn_round", "start_pairs",
]  # fmt: skip

STARTS, CLASSES, TUPLES, ENTRIES, START_LOG, CLASS_LOG = range(6)
UNKNOWN = np.int64(-(2**62))

LOW = np.array(
    [0x428A2F98D728AE23, 0xB5C0FBCFEC4D3B2F, 0x3956C25BF348B539, 0x923F82A4AF194F9B], np.uint64
)
HIGH = np.array(
    [0x7137449123EF65CD, 0xE9B5DBA58189DBBD, 0x59F111F1B605D019, 0xAB1C5ED5DA6D8119], np.uint64
)
SALT = np.uint64(0x72BE5D74F27B896F)
SECOND = np.uint64(0x12835B0145706FBE)
BEFORE = np.uint64(0x243185BE4EE4B28C)
CLASS = np.uint64(0x550C7DC3D5FFB4E2)


@lean
def _start(keys, slots, rows, sizes, first, kind, second, label, hops, entry, merge):  # type: ignore[no-untyped-def]
    """The start class (colour of v, kind, colour of u, label, hops)."""
    a, b, c, d = np.uint64(first), np.uint64(second), np.uint64(label), np.uint64(kind + 4 * hops)
    low = mix(LOW[0] * a + LOW[1] * b + LOW[2] * c + LOW[3] * d + SALT)
    high = mix(HIGH[0] * a + HIGH[1] * b + HIGH[2] * c + HIGH[3] * d + SALT)
    s = find(keys, slots, sizes[STARTS], low, high, merge)
    if s == sizes[STARTS]:
        rows[s, 0], rows[s, 1], rows[s, 2], rows[s, 3] = first, kind, second, label
        rows[s, 4], rows[s, 5] = hops, entry
        sizes[STARTS] += 1
    return s


@lean
def start_pairs(  # type: ignore[no-untyped-def]
    base, part, colour, labels, distances, merge, since, graph, shelf, log, sizes, alpha
):
    """Compute α⁽⁰⁾ of all stored pairs of a graph."""
    keys, slots, rows, seen = shelf
    row, _, ball, _, hops, entry, _, _ = graph
    for v in range(len(row) - 1):
        for e in range(row[v], row[v + 1]):
            mine, yours = colour[base + v], colour[base + ball[e]]
            kind = NONE if hops[e] > 1 else SELF if hops[e] == 0 else WITHIN
            if kind == WITHIN and part[base + v] != part[base + ball[e]]:
                kind = CROSS
            label = labels[entry[e]] + 1 if hops[e] == 1 and len(labels) > 0 else 0
            far = hops[e] if distances else 0
            s = _start(keys, slots, rows, sizes, mine, kind, yours, label, far, entry[e], merge)
            tally(seen, log, sizes, START_LOG, since, s)
            alpha[e] = -1 - s


@lean
def key_word(node, keys, start_keys, lane):  # type: ignore[no-untyped-def]
    """One lane of the key of a node."""
    return keys[node, lane] if node >= 0 else start_keys[-1 - node, lane]


@lean
def at_most(u, number, row, near, ball, until):  # type: ignore[no-untyped-def]
    """Maximum numbers ``(classes, tuples)`` that the pairs (v, u) learned in a round can add."""
    classes = 0
    tuples = 0
    for e in range(row[u], row[u + 1]):
        if until[e] >= number:
            classes += 1
            tuples += near[ball[e] + 1] - near[ball[e]]
    return classes, tuples


@lean
def _describe(table, entries, sizes, number, first, last, close, mate, alpha, here, merge):  # type: ignore[no-untyped-def]
    """Append {{(α_vw, α_uw) : w ∈ N_d(v)}} for a new class as entries (tuple, count)."""
    since = sizes[ENTRIES]
    used, at_end = sizes[TUPLES], since
    for k in range(first, last):
        used, at_end = count_tuple(
            table, used, alpha[close[k]], here[mate[k]], number, entries, at_end, since, merge
        )
    sizes[TUPLES], sizes[ENTRIES] = used, at_end


@lean
def learn_round(  # type: ignore[no-untyped-def]
    u, number, base, indptr, indices, part, colour, limit, beyond, merge, since, graph, scratch,
    store, sizes, alpha, new,
):  # fmt: skip
    """Compute round ``number`` for the pairs (v, u), starting at vertex u; returns the first u that
    does not fit in the store.

    The outer loop is over u, so that one look-up of α_u· serves all (v, u). Rows are ascending, so
    the position of u in row v is the number of times v was visited before. Pairs (u, w) that are
    not stored keep their start class. They are visited in the same order in every round, so if
    classes are not merged, the k-th such pair of u is the k-th one created in round 1. ``limit`` is
    the maximum distance of these pairs if it must be computed. Otherwise it is 0 and their distance
    is ``beyond``, which is 0 if distances are not used.
    """
    row, near, ball, until, _, _, close, mate = graph
    depth, queue, cursor, here, far, far_start, left, right = scratch
    starts, start_log, classes, class_log, tuples, entries = store
    start_keys, start_slots, start_rows, start_seen = starts
    keys, slots, rows, seen = classes
    tuple_room = len(tuples[1])
    while u < len(row) - 1:
        more, most = at_most(u, number, row, near, ball, until)
        if (
            sizes[STARTS] + most > len(start_rows)
            or sizes[START_LOG] + most > len(start_log)
            or sizes[CLASSES] + more > len(rows)
            or sizes[CLASS_LOG] + more > len(class_log)
            or sizes[TUPLES] + most > tuple_room
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
                right[w, 0] = mix(key_word(alpha[e], keys, start_keys, 0) + SECOND)
                right[w, 1] = mix(key_word(alpha[e], keys, start_keys, 1) + SECOND)
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
                        hops = depth[w] if limit > 0 else beyond
                        s = _start(
                            start_keys, start_slots, start_rows, sizes, colour[base + u], NONE,
                            colour[base + w], 0, hops, -1, merge,
                        )  # fmt: skip
                    if number == 1:
                        tally(start_seen, start_log, sizes, START_LOG, since[0], s)
                    here[w] = -1 - s
                    far[met] = w
                    met += 1
                    if merge:
                        right[w, 0] = mix(start_keys[s, 0] + SECOND)
                        right[w, 1] = mix(start_keys[s, 1] + SECOND)
                low += left[k, 0] * right[w, 0]
                high += left[k, 1] * right[w, 1]
            c = sizes[CLASSES]
            if merge:
                low += mix(key_word(alpha[back], keys, start_keys, 0) + BEFORE)
                high += mix(key_word(alpha[back], keys, start_keys, 1) + BEFORE)
                low, high = scramble(low, high, CLASS)
                c = find(keys, slots, c, low, high, merge)
            if c == sizes[CLASSES]:
                sizes[CLASSES] += 1
                rows[c, 0], rows[c, 1], rows[c, 2] = number, alpha[back], part[base + u]
                rows[c, 3] = sizes[ENTRIES]
                _describe(
                    tuples, entries, sizes, number, near[v], near[v + 1], close, mate, alpha, here,
                    merge,
                )  # fmt: skip
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
