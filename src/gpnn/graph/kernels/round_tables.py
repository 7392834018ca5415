"""The output of the class kernel, separated by round and renumbered within each round."""

from __future__ import annotations

import numpy as np

from ._jit import jit

__all__ = ["class_lists", "number_in_round", "round_table", "table_rows"]


@jit
def number_in_round(rounds, most):  # type: ignore[no-untyped-def]
    """The index of every row among the rows of its round; rounds are 1 to ``most``."""
    out = np.empty(len(rounds), np.int64)
    used = np.zeros(most + 1, np.int64)
    for i in range(len(rounds)):
        out[i] = used[rounds[i]]
        used[rounds[i]] += 1
    return out


@jit
def table_rows(nodes, number, size, out):  # type: ignore[no-untyped-def]
    """Convert nodes to rows of an α table with ``size`` learned classes, then start classes."""
    for i in range(len(nodes)):
        node = nodes[i]
        out[i] = number[node] if node >= 0 else size - 1 - node


@jit
def class_lists(r, ptr, lines, rounds, number):  # type: ignore[no-untyped-def]
    """The classes of round r in every graph and their counts: bounds, classes, counts."""
    total = 0
    for i in range(len(lines)):
        total += rounds[lines[i, 0]] == r
    bounds = np.empty(len(ptr), np.int64)
    ids, counts = np.empty(total, np.int64), np.empty(total, np.int64)
    at = 0
    for g in range(len(ptr) - 1):
        bounds[g] = at
        for i in range(ptr[g], ptr[g + 1]):
            if rounds[lines[i, 0]] == r:
                ids[at], counts[at] = number[lines[i, 0]], lines[i, 1]
                at += 1
    bounds[len(ptr) - 1] = at
    return bounds, ids, counts


@jit
def round_table(r, learned, tuples, entries, number, place, before):  # type: ignore[no-untyped-def]
    """The classes of round r (their rows in the previous table, parts and entries), and the tuples
    of the round. ``before`` is the number of classes learned in the previous round."""
    classes = length = pairs = 0
    last = len(learned)
    for c in range(last):
        if learned[c, 0] == r:
            classes += 1
            length += (learned[c + 1, 3] if c + 1 < last else len(entries)) - learned[c, 3]
    for t in range(len(tuples)):
        pairs += tuples[t, 0] == r
    previous, part = np.empty(classes, np.int64), np.empty(classes, np.int64)
    ptr = np.zeros(classes + 1, np.int64)
    entry_tuple, entry_count = np.empty(length, np.int32), np.empty(length, np.int32)
    k = at = 0
    for c in range(last):
        if learned[c, 0] != r:
            continue
        node = learned[c, 1]
        previous[k] = number[node] if node >= 0 else before - 1 - node
        part[k] = learned[c, 2]
        for e in range(learned[c, 3], learned[c + 1, 3] if c + 1 < last else len(entries)):
            entry_tuple[at], entry_count[at] = place[entries[e, 0]], entries[e, 1]
            at += 1
        k += 1
        ptr[k] = at
    first, second = np.empty(pairs, np.int64), np.empty(pairs, np.int64)
    at = 0
    for t in range(len(tuples)):
        if tuples[t, 0] == r:
            a, b = tuples[t, 1], tuples[t, 2]
            first[at] = number[a] if a >= 0 else before - 1 - a
            second[at] = number[b] if b >= 0 else before - 1 - b
            at += 1
    return previous, part, ptr, entry_tuple, entry_count, first, second
