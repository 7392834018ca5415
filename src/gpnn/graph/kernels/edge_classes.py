"""Equation 2 with α on edges and d = 1, on spans of the vertices of a set of graphs.

A *node* is a number for an α: learned class c of the previous round is c, start class s is -1 - s.
If w ∈ N[v] (v included) is neither a neighbour of u nor u itself, the second member of the tuple
(α_vw, α_uw) is the start class of a non-edge. It is determined by the colours of u and w, which are
contained in α_vu and α_vw. The multiset that distinguishes (v, u) is therefore hashed as

    Σ_{w ∈ N[v]} g(α_vw)  +  Σ_{w ∈ N[v] ∩ N[u]} (f(α_vw, α_uw) - g(α_vw)),

which needs one sum per vertex and the common neighbours, instead of deg(v) terms per pair.
"""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .colour_hash import CROSS, SELF, WITHIN
from .hashing import mix, scramble

__all__ = [
    "FAR", "add_starts", "class_keys", "close_rows", "distinct_nodes", "far_keys", "graph_classes",
    "learned_pairs", "list_entries", "list_far", "new_nodes", "split_tuples", "start_keys",
    "sum_common", "sum_rows",
]  # fmt: skip

FAR = np.int64(-(2**31))
"""Second member of a tuple whose pair (u, w) is not an edge: FAR + colour of u."""
SHORT = 32
"""Rows up to this length are merged; marking a row would cost a cache miss per entry."""
WORD = np.uint64(2**32 - 1)
LONE = np.uint64(0x428A2F98D728AE23), np.uint64(0x7137449123EF65CD)
LEFT = np.uint64(0xB5C0FBCFEC4D3B2F), np.uint64(0xE9B5DBA58189DBBD)
RIGHT = np.uint64(0x3956C25BF348B539), np.uint64(0x59F111F1B605D019)
BEFORE = np.uint64(0x923F82A4AF194F9B), np.uint64(0xAB1C5ED5DA6D8119)
CLASS = np.uint64(0x550C7DC3D5FFB4E2)


@jit
def close_rows(indptr, indices, low, high, centre, ball):  # type: ignore[no-untyped-def]
    """List the pairs (v, u) with u ∈ N[v], ascending; those of v begin at indptr[v] + v."""
    for v in range(low, high):
        k = indptr[v] + v
        own = False
        for at in range(indptr[v], indptr[v + 1]):
            if not own and indices[at] > v:
                own = True
                centre[k], ball[k] = v, v
                k += 1
            centre[k], ball[k] = v, indices[at]
            k += 1
        if not own:
            centre[k], ball[k] = v, v


@jit
def start_keys(indptr, low, high, part, colour, colours, labels, ball, keys):  # type: ignore[no-untyped-def]
    """Write to ``keys`` what distinguishes the α⁽⁰⁾ of all pairs: colours, kind and label."""
    for v in range(low, high):
        at = indptr[v]
        for k in range(indptr[v] + v, indptr[v + 1] + v + 1):
            u = ball[k]
            kind, label = SELF, 0
            if u != v:
                kind = WITHIN if part[v] == part[u] else CROSS
                label = labels[at] + 1 if len(labels) > 0 else 0
                at += 1
            keys[k, 0] = np.uint64(np.int64(colour[v]) * colours + colour[u])
            keys[k, 1] = np.uint64(label * 4 + kind)


@jit
def learned_pairs(indptr, low, high, part, within, ball, mask):  # type: ignore[no-untyped-def]
    """Mark the pairs of E^δ."""
    for v in range(low, high):
        for k in range(indptr[v] + v, indptr[v + 1] + v + 1):
            mask[k] = ball[k] != v and (within or part[v] != part[ball[k]])


@jit
def _g(a, lane):  # type: ignore[no-untyped-def]
    return mix(np.uint64(np.int64(a)) + LONE[lane])


@jit
def _f(a, b, lane):  # type: ignore[no-untyped-def]
    return mix(np.uint64(np.int64(a)) + LEFT[lane]) * mix(np.uint64(np.int64(b)) + RIGHT[lane])


@jit
def sum_rows(indptr, low, high, node, sums):  # type: ignore[no-untyped-def]
    """Σ_{w ∈ N[v]} g(α_vw)."""
    for v in range(low, high):
        first, second = np.uint64(0), np.uint64(0)
        for k in range(indptr[v] + v, indptr[v + 1] + v + 1):
            first += _g(node[k], 0)
            second += _g(node[k], 1)
        sums[v, 0], sums[v, 1] = first, second


@jit
def sum_common(indptr, low, high, base, most, mask, ball, node, total, common):  # type: ignore[no-untyped-def]
    """Σ_{w ∈ N[v] ∩ N[u]} (f(α_vw, α_uw) - g(α_vw)) for the pairs of E^δ. Both directions of an
    edge are computed at the end of higher degree: the shorter row is scanned, and the longer row is
    marked, or merged with it if it is ``SHORT``. ``common`` is the number of terms."""
    place = np.full(most, -1, np.int32)
    for v in range(low, high):
        begin, end = indptr[v] + v, indptr[v + 1] + v + 1
        marked, short = False, end - begin <= SHORT
        for k in range(begin, end):
            u = ball[k]
            if not mask[k]:
                continue
            length = indptr[u + 1] - indptr[u] + 1
            if length > end - begin or (length == end - begin and u >= v):
                continue
            if not marked and not short:
                marked = True
                for e in range(begin, end):
                    place[ball[e] - base] = e
            a, b, c, d = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
            back, met, at = k, 0, begin
            for e in range(indptr[u] + u, indptr[u + 1] + u + 1):
                w = ball[e]
                if w == v:
                    back = e
                if short:
                    while at < end and ball[at] < w:
                        at += 1
                    if at == end:
                        break
                    own = at if ball[at] == w else -1
                else:
                    own = place[w - base]
                if own < 0:
                    continue
                met += 1
                x, y = node[own], node[e]
                a += _f(x, y, 0) - _g(x, 0)
                b += _f(x, y, 1) - _g(x, 1)
                c += _f(y, x, 0) - _g(y, 0)
                d += _f(y, x, 1) - _g(y, 1)
            total[k, 0], total[k, 1], total[back, 0], total[back, 1] = a, b, c, d
            common[k], common[back] = met, met
        if marked:
            for e in range(begin, end):
                place[ball[e] - base] = -1


@jit
def class_keys(pairs, low, high, centre, node, sums, total, keys):  # type: ignore[no-untyped-def]
    """Keys of α after the round for the learned pairs."""
    for i in range(low, high):
        k = pairs[i]
        v = centre[k]
        own = np.uint64(np.int64(node[k]))
        first = sums[v, 0] + total[k, 0] + mix(own + BEFORE[0])
        second = sums[v, 1] + total[k, 1] + mix(own + BEFORE[1])
        keys[i, 0], keys[i, 1] = scramble(first, second, CLASS)


@jit
def new_nodes(pairs, low, high, number, node):  # type: ignore[no-untyped-def]
    for i in range(low, high):
        node[pairs[i]] = number[i]


@jit
def far_keys(chosen, low, high, centre, ball, colour, sums, keys):  # type: ignore[no-untyped-def]
    """Keys of Σ_{w ∈ N[v]} φ(α_vw, start class of a non-edge from the colour of u)."""
    for i in range(low, high):
        v, c = centre[chosen[i]], np.uint64(colour[ball[chosen[i]]])
        keys[i, 0], keys[i, 1] = scramble(sums[v, 0], sums[v, 1], mix(c))


@jit
def _distinct(node, begin, end, members, counts, slot):  # type: ignore[no-untyped-def]
    """The distinct nodes of a row, their counts, and the index of the node of every pair."""
    order = np.argsort(node[begin:end])
    num_distinct = 0
    for i in order:
        a = node[begin + i]
        if num_distinct == 0 or members[num_distinct - 1] != a:
            members[num_distinct], counts[num_distinct] = a, 0
            num_distinct += 1
        counts[num_distinct - 1] += 1
        slot[i] = num_distinct - 1
    return num_distinct


@jit
def _common(v, u, indptr, ball, base, place, ones, others):  # type: ignore[no-untyped-def]
    """The pairs (v, w) and (u, w) for all w ∈ N[v] ∩ N[u]; the row of v is marked in ``place``."""
    count = 0
    begin, end = indptr[v] + v, indptr[v + 1] + v + 1
    start, stop = indptr[u] + u, indptr[u + 1] + u + 1
    if stop - start <= 8 * (end - begin):
        for e in range(start, stop):
            if place[ball[e] - base] >= 0:
                ones[count], others[count] = place[ball[e] - base], e
                count += 1
        return count
    for k in range(begin, end):
        low, high = start, stop
        while low < high:
            middle = (low + high) // 2
            if ball[middle] < ball[k]:
                low = middle + 1
            else:
                high = middle
        if low < stop and ball[low] == ball[k]:
            ones[count], others[count] = k, low
            count += 1
    return count


@jit
def distinct_nodes(chosen, low, high, indptr, centre, node, widest, distinct):  # type: ignore[no-untyped-def]
    """Number of distinct nodes in the row of the pair that represents a class."""
    members, counts = np.empty(widest, np.int64), np.empty(widest, np.int64)
    slot = np.empty(widest, np.int64)
    v, num_distinct = -1, 0
    for i in range(low, high):
        if centre[chosen[i]] != v:
            v = centre[chosen[i]]
            num_distinct = _distinct(
                node, indptr[v] + v, indptr[v + 1] + v + 1, members, counts, slot
            )
        distinct[i] = num_distinct


@jit
def _pack(first, second):  # type: ignore[no-untyped-def]
    return (np.uint64(np.int64(first)) << np.uint64(32)) | (np.uint64(np.int64(second)) & WORD)


@jit
def _runs(packed, count, sign, keys, times, at):  # type: ignore[no-untyped-def]
    """Append each distinct key once, with its count."""
    packed[:count].sort()
    for i in range(count):
        if i == 0 or packed[i] != packed[i - 1]:
            keys[at], times[at] = packed[i], 0
            at += 1
        times[at - 1] += sign
    return at


@jit
def list_entries(  # type: ignore[no-untyped-def]
    chosen, low, high, base, most, indptr, centre, ball, colour, node, shared, widest, room
):
    """``(lengths, keys, times)``: the tuples that the classes sum, and their counts. If the sum
    over N[v] is ``shared``, only the corrections at common neighbours."""
    lengths = np.zeros(high - low, np.int64)
    keys, times = np.empty((room, 1), np.uint64), np.empty(room, np.int32)
    place = np.full(most, -1, np.int32)
    members, counts = np.empty(widest, np.int64), np.empty(widest, np.int64)
    slot, less = np.empty(widest, np.int64), np.zeros(widest, np.int64)
    ones, others = np.empty(widest, np.int64), np.empty(widest, np.int64)
    packed = np.empty(widest, np.uint64)
    v, num_distinct, at = -1, 0, 0
    for i in range(low, high):
        k = chosen[i]
        begin = at
        if centre[k] != v:
            if v >= 0:
                for e in range(indptr[v] + v, indptr[v + 1] + v + 1):
                    place[ball[e] - base] = -1
            v = centre[k]
            for e in range(indptr[v] + v, indptr[v + 1] + v + 1):
                place[ball[e] - base] = e
            num_distinct = _distinct(
                node, indptr[v] + v, indptr[v + 1] + v + 1, members, counts, slot
            )
        u = ball[k]
        far = FAR + colour[u]
        both = _common(v, u, indptr, ball, base, place, ones, others)
        for j in range(both):
            packed[j] = _pack(node[ones[j]], node[others[j]])
        at = _runs(packed, both, 1, keys[:, 0], times, at)
        row = indptr[v] + v
        if shared[i]:
            for j in range(both):
                packed[j] = _pack(node[ones[j]], far)
            at = _runs(packed, both, -1, keys[:, 0], times, at)
        else:
            for j in range(both):
                less[slot[ones[j] - row]] += 1
            for j in range(num_distinct):
                if counts[j] > less[j]:
                    keys[at, 0], times[at] = _pack(members[j], far), counts[j] - less[j]
                    at += 1
            for j in range(both):
                less[slot[ones[j] - row]] = 0
        lengths[i - low] = at - begin
    return lengths, keys[:at], times[:at]


@jit
def list_far(chosen, low, high, indptr, centre, ball, colour, node, widest, room):  # type: ignore[no-untyped-def]
    """``(lengths, keys, times)`` for the shared sums over N[v]."""
    lengths = np.zeros(high - low, np.int64)
    keys, times = np.empty((room, 1), np.uint64), np.empty(room, np.int32)
    members, counts = np.empty(widest, np.int64), np.empty(widest, np.int64)
    slot = np.empty(widest, np.int64)
    at = 0
    for i in range(low, high):
        v = centre[chosen[i]]
        num_distinct = _distinct(node, indptr[v] + v, indptr[v + 1] + v + 1, members, counts, slot)
        for j in range(num_distinct):
            keys[at, 0] = _pack(members[j], FAR + colour[ball[chosen[i]]])
            times[at] = counts[j]
            at += 1
        lengths[i - low] = num_distinct
    return lengths, keys[:at], times[:at]


@jit
def split_tuples(keys, low, high, learned_colour, start_colour, colours, first, second, missing):  # type: ignore[no-untyped-def]
    """Both nodes of every tuple. For non-edges the second node is not resolved, and ``missing`` is
    its key."""
    for i in range(low, high):
        a = np.int32(keys[i] >> np.uint64(32))
        b = np.int32(keys[i] & WORD)
        first[i], second[i], missing[i] = a, b, -1
        if b < FAR // 2:
            w = learned_colour[a] if a >= 0 else start_colour[-1 - a]
            missing[i] = (np.int64(b) - FAR) * colours + w


@jit
def graph_classes(ptr, indptr, mask, node, size):  # type: ignore[no-untyped-def]
    """``(ptr, ids, counts)``: the classes of every graph, and the number of its pairs in each."""
    seen = np.full(size, -1, np.int64)
    bounds = np.zeros(len(ptr), np.int64)
    room = 0
    for k in range(len(node)):
        room += mask[k]
    ids, counts = np.empty(room, np.int64), np.zeros(room, np.int64)
    used = 0
    for g in range(len(ptr) - 1):
        since = used
        for k in range(indptr[ptr[g]] + ptr[g], indptr[ptr[g + 1]] + ptr[g + 1]):
            if mask[k]:
                at = seen[node[k]]
                if at < since:
                    at = used
                    used += 1
                    seen[node[k]] = at
                    ids[at] = node[k]
                counts[at] += 1
        bounds[g + 1] = used
    return bounds, ids[:used].copy(), counts[:used].copy()


@jit
def add_starts(ptr, ids, class_ptr, class_id, second, entry_ptr, entry_tuple, shared, far, size):  # type: ignore[no-untyped-def]
    """``(ptr, ids)``: the start classes of every graph, extended by those in the tuples that its
    classes sum. ``second`` holds the second nodes of tuples, ``far`` the bounds and tuples of
    shared sums."""
    far_ptr, far_tuple = far
    seen = np.full(size, -1, np.int64)
    bounds = np.zeros(len(ptr), np.int64)
    out = np.empty(len(ids) + size, np.int64)
    used = 0
    for g in range(len(ptr) - 1):
        since = used
        if used + size > len(out):
            longer = np.empty(2 * (used + size), np.int64)
            longer[:used] = out[:used]
            out = longer
        for i in range(ptr[g], ptr[g + 1]):
            used = _note(ids[i], seen, out, since, used)
        for i in range(class_ptr[g], class_ptr[g + 1]):
            c = class_id[i]
            for e in range(entry_ptr[c], entry_ptr[c + 1]):
                used = _note(-1 - second[entry_tuple[e]], seen, out, since, used)
            if shared[c] >= 0:
                for e in range(far_ptr[shared[c]], far_ptr[shared[c] + 1]):
                    used = _note(-1 - second[far_tuple[e]], seen, out, since, used)
        bounds[g + 1] = used
    return bounds, out[:used].copy()


@jit
def _note(s, seen, ids, since, used):  # type: ignore[no-untyped-def]
    if s >= 0 and seen[s] < since:
        seen[s] = used
        ids[used] = s
        return used + 1
    return used
