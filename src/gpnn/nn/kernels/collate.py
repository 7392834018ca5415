"""Loops that put the graphs of a batch side by side, vertices sorted by part; no sorting by value.

``mark[c]`` is 1 + the row of class c in the batch, 0 where it does not occur.
"""

from __future__ import annotations

import numpy as np

from ...graph.kernels._jit import jit

__all__ = [
    "collate_classes",
    "collate_pairs",
    "collate_round",
    "collate_sums",
    "collate_vertices",
    "transpose",
]


@jit
def collate_vertices(graphs, ptr, part, parts):
    """``(starts, rank, ids, owner, bounds)``: where every graph begins in the order of the input;
    the row of every vertex of the input; the vertex in the whole set and the graph of every row;
    where the rows of every part begin."""
    starts = np.zeros(len(graphs) + 1, np.int64)
    for i in range(len(graphs)):
        starts[i + 1] = starts[i] + ptr[graphs[i] + 1] - ptr[graphs[i]]
    n = starts[-1]
    bounds = np.zeros(parts + 1, np.int64)
    for i in range(len(graphs)):
        for v in range(ptr[graphs[i]], ptr[graphs[i] + 1]):
            bounds[part[v] + 1] += 1
    for j in range(parts):
        bounds[j + 1] += bounds[j]
    fill = bounds[:-1].copy()
    rank, ids, owner = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    at = 0
    for i in range(len(graphs)):
        for v in range(ptr[graphs[i]], ptr[graphs[i] + 1]):
            row = fill[part[v]]
            fill[part[v]] += 1
            rank[at], ids[row], owner[row] = row, v, i
            at += 1
    return starts, rank, ids, owner, bounds


@jit
def collate_sums(graphs, ptr, starts, rank, ids, owner, first, other):
    """``(source, bounds, entry)``: the rows that every row is related to, by the relation in which
    vertex v has the entries ``first[v]:first[v + 1]`` of ``other``; and the entry of each."""
    n = len(ids)
    bounds = np.zeros(n + 1, np.int64)
    for row in range(n):
        bounds[row + 1] = bounds[row] + first[ids[row] + 1] - first[ids[row]]
    source, entry = np.empty(bounds[-1], np.int64), np.empty(bounds[-1], np.int64)
    at = 0
    for row in range(n):
        shift = starts[owner[row]] - ptr[graphs[owner[row]]]
        for e in range(first[ids[row]], first[ids[row] + 1]):
            source[at], entry[at] = rank[other[e] + shift], e
            at += 1
    return source, bounds, entry


@jit
def transpose(source, bounds, columns, weight):
    """``(row, back, weight)``: the rows of the entries of every column, where they begin, and their
    weights, none where there are none."""
    back = np.zeros(columns + 1, np.int64)
    for e in range(len(source)):
        back[source[e] + 1] += 1
    for c in range(columns):
        back[c + 1] += back[c]
    fill = back[:-1].copy()
    row, moved = np.empty(len(source), np.int64), np.empty(len(weight), weight.dtype)
    for i in range(len(bounds) - 1):
        for e in range(bounds[i], bounds[i + 1]):
            at = fill[source[e]]
            fill[source[e]] += 1
            row[at] = i
            if len(weight):
                moved[at] = weight[e]
    return row, back, moved


@jit
def collate_classes(graphs, ptr, ids, counts, part, part_of, parts, mark, like):
    """``(chosen, weight, bounds)``: the classes that some graphs have, sorted by their part; how
    many pairs are in each; where every part begins. Sets the marks."""
    room = 0
    for g in graphs:
        room += ptr[g + 1] - ptr[g]
    room = min(room, len(mark))
    met, total = np.empty(room, np.int64), np.empty(room, np.float64)
    bounds = np.zeros(parts + 1, np.int64)
    used = 0
    for g in graphs:
        for i in range(ptr[g], ptr[g + 1]):
            at = mark[ids[i]] - 1
            if at < 0:
                at = used
                used += 1
                mark[ids[i]] = used
                met[at], total[at] = ids[i], 0.0
                bounds[part_of[part[ids[i]]] + 1] += 1
            total[at] += counts[i]
    for j in range(parts):
        bounds[j + 1] += bounds[j]
    fill = bounds[:-1].copy()
    chosen, weight = np.empty(used, np.int64), np.empty(used, like.dtype)
    for at in range(used):
        j = part_of[part[met[at]]]
        row = fill[j]
        fill[j] += 1
        chosen[row], weight[row] = met[at], total[at]
        mark[met[at]] = row + 1
    return chosen, weight, bounds


@jit
def _local(row, size, used, mark, start_mark):
    """A row of an α table of ``size`` learned classes, ``used`` of them in the batch."""
    if row < size:
        return mark[row] - 1
    return used + start_mark[row - size] - 1


@jit
def collate_round(chosen, weight, size, used, mark, start_mark, table, tuple_mark):
    """What the chosen classes of a round sum: ``(previous, met, ends, tuples, count,
    tuple_weight)``.

    ``size``, ``used`` and ``mark`` are those of the round before; ``met`` holds two rows a tuple.
    """
    before, first, second, entry_ptr, entry_tuple, entry_count = table
    previous, ends = np.empty(len(chosen), np.int64), np.zeros(len(chosen) + 1, np.int64)
    for i in range(len(chosen)):
        ends[i + 1] = ends[i] + entry_ptr[chosen[i] + 1] - entry_ptr[chosen[i]]
    tuples, count = np.empty(ends[-1], np.int64), np.empty(ends[-1], weight.dtype)
    room = min(ends[-1], len(first))
    met, total = np.empty(2 * room, np.int64), np.zeros(room, np.float64)
    seen = at = 0
    for i in range(len(chosen)):
        c = chosen[i]
        previous[i] = _local(before[c], size, used, mark, start_mark)
        for e in range(entry_ptr[c], entry_ptr[c + 1]):
            t = entry_tuple[e]
            k = tuple_mark[t] - 1
            if k < 0:
                k = seen
                seen += 1
                tuple_mark[t] = seen
                met[2 * k] = 2 * _local(first[t], size, used, mark, start_mark)
                met[2 * k + 1] = 2 * _local(second[t], size, used, mark, start_mark) + 1
            tuples[at], count[at] = k, entry_count[e]
            total[k] += weight[i] * entry_count[e]
            at += 1
    return previous, met[: 2 * seen], ends, tuples, count, total[:seen].astype(weight.dtype)


@jit
def collate_pairs(entry, rows, size, used, mark, start_mark):
    """The α table rows of some pairs in one round; ``rows`` are those of the whole set."""
    out = np.empty(len(entry), np.int64)
    for k in range(len(entry)):
        out[k] = _local(rows[entry[k]], size, used, mark, start_mark)
    return out
