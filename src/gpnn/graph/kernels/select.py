"""The α classes of a batch of graphs, renumbered: marker arrays, no sorting.

``mark[c]`` is 1 + the place of class c in the batch, 0 where it does not occur.
"""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .lean import lean

__all__ = ["select_classes", "select_pairs", "select_round", "select_rows"]


@jit
def select_classes(graphs, ptr, ids, counts, mark):  # type: ignore[no-untyped-def]
    """``(chosen, weight)``: the classes of some graphs, and how many pairs are in each."""
    room = 0
    for g in graphs:
        room += ptr[g + 1] - ptr[g]
    room = min(room, len(mark))
    chosen = np.empty(room, np.int64)
    weight = np.empty(room, np.float64)
    used = 0
    for g in graphs:
        for i in range(ptr[g], ptr[g + 1]):
            at = mark[ids[i]] - 1
            if at < 0:
                at = used
                used += 1
                mark[ids[i]] = used
                chosen[at] = ids[i]
                weight[at] = 0.0
            weight[at] += counts[i]
    return chosen[:used], weight[:used]


@lean
def _local(row, size, used, mark, start_mark):  # type: ignore[no-untyped-def]
    """A row of an α table of ``size`` learned classes, ``used`` of them in the batch."""
    if row < size:
        return mark[row] - 1
    return used + start_mark[row - size] - 1


@jit
def select_round(chosen, weight, size, used, mark, start_mark, table, tuple_mark):  # type: ignore[no-untyped-def]
    """The fields of ``SelectedRound`` for the ``chosen`` classes.

    ``size``, ``used`` and ``mark`` are those of the round before.
    """
    previous, first, second, entry_ptr, entry_tuple, entry_count, part = table
    entries = 0
    for c in chosen:
        entries += entry_ptr[c + 1] - entry_ptr[c]
    before = np.empty(len(chosen), np.int64)
    parts = np.empty(len(chosen), np.int64)
    entry_class = np.empty(entries, np.int64)
    place = np.empty(entries, np.int64)
    count = np.empty(entries, np.float64)
    left = np.empty(min(entries, len(first)), np.int64)
    right = np.empty(len(left), np.int64)
    tuple_weight = np.zeros(len(left), np.float64)
    tuples = 0
    k = 0
    for i in range(len(chosen)):
        c = chosen[i]
        before[i] = _local(previous[c], size, used, mark, start_mark)
        parts[i] = part[c]
        for e in range(entry_ptr[c], entry_ptr[c + 1]):
            t = entry_tuple[e]
            at = tuple_mark[t] - 1
            if at < 0:
                at = tuples
                tuples += 1
                tuple_mark[t] = tuples
                left[at] = _local(first[t], size, used, mark, start_mark)
                right[at] = _local(second[t], size, used, mark, start_mark)
            entry_class[k] = i
            place[k] = at
            count[k] = entry_count[e]
            tuple_weight[at] += weight[i] * entry_count[e]
            k += 1
    left, right, tuple_weight = left[:tuples], right[:tuples], tuple_weight[:tuples]
    return before, left, right, entry_class, place, count, weight, tuple_weight, parts


@jit
def select_pairs(graphs, ptr, pair_ptr, centre, other, rounds):  # type: ignore[no-untyped-def]
    """``(centre, other, out)``: the pairs of some graphs, vertices numbered through the batch.

    ``out`` is an empty array [rounds, pairs].
    """
    size = 0
    for g in graphs:
        size += pair_ptr[g + 1] - pair_ptr[g]
    out = np.empty((2, size), np.int64)
    k = 0
    base = 0
    for g in graphs:
        shift = base - ptr[g]
        for i in range(pair_ptr[g], pair_ptr[g + 1]):
            out[0, k] = centre[i] + shift
            out[1, k] = other[i] + shift
            k += 1
        base += ptr[g + 1] - ptr[g]
    return out[0], out[1], np.empty((rounds, size), np.int64)


@jit
def select_rows(graphs, pair_ptr, rows, size, used, mark, start_mark, out):  # type: ignore[no-untyped-def]
    """The α table rows of all pairs of some graphs in one round."""
    k = 0
    for g in graphs:
        for i in range(pair_ptr[g], pair_ptr[g + 1]):
            out[k] = _local(rows[i], size, used, mark, start_mark)
            k += 1
