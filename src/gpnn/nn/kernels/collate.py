"""Loops that collate the graphs of a batch; vertices are ordered by part with a counting sort.

Several replicas may have different graphs in one batch. A part then has the same number of rows in
every replica, the maximum over the replicas; unused rows are padding. Rows of replica r are offset
by r times the rows of one replica. A single replica has no padding.

``mark[r, c]`` is 1 + the row of class c within replica r, or 0 if it does not occur.
"""

from __future__ import annotations

import numpy as np

from ...graph.kernels._jit import jit
from ...graph.kernels.lean import lean

__all__ = [
    "collate_classes",
    "collate_pairs",
    "collate_round",
    "collate_sums",
    "collate_vertices",
    "transpose",
]


@jit
def _rooms(counts):
    """``(room, first)``: rows of every part, the maximum over replicas, and where they begin."""
    replicas, parts = counts.shape
    room, first = np.zeros(parts, np.int64), np.zeros(parts + 1, np.int64)
    for j in range(parts):
        for r in range(replicas):
            room[j] = max(room[j], counts[r, j])
        first[j + 1] = first[j] + room[j]
    return room, first


@jit
def collate_vertices(graphs, bounds, ptr, part, parts):
    """``(starts, rank, ids, owner, first)``: where the vertices of every graph begin, in input
    order; the row of every input vertex; the vertex in the whole set and the graph of every row,
    -1 for padding; where the rows of every part begin.

    ``graphs[bounds[r]:bounds[r + 1]]`` are the graphs of replica r.
    """
    replicas = len(bounds) - 1
    starts = np.zeros(len(graphs) + 1, np.int64)
    counts = np.zeros((replicas, parts), np.int64)
    for r in range(replicas):
        for i in range(bounds[r], bounds[r + 1]):
            low, high = ptr[graphs[i]], ptr[graphs[i] + 1]
            starts[i + 1] = starts[i] + high - low
            for v in range(low, high):
                counts[r, part[v]] += 1
    _, first = _rooms(counts)
    height = first[-1]
    rank = np.empty(starts[-1], np.int64)
    ids, owner = np.full(replicas * height, -1), np.full(replicas * height, -1)
    at = 0
    for r in range(replicas):
        fill = first[:-1] + r * height
        for i in range(bounds[r], bounds[r + 1]):
            for v in range(ptr[graphs[i]], ptr[graphs[i] + 1]):
                row = fill[part[v]]
                fill[part[v]] += 1
                rank[at], ids[row], owner[row] = row, v, i
                at += 1
    return starts, rank, ids, owner, first


@jit
def collate_sums(graphs, ptr, starts, rank, ids, owner, begin, other):
    """``(source, bounds, entry)``: the rows related to every row, where those of every row begin,
    and the entry of each. Vertex v is related to the entries ``begin[v]:begin[v + 1]`` of
    ``other``."""
    n = len(ids)
    bounds = np.zeros(n + 1, np.int64)
    for row in range(n):
        v = ids[row]
        bounds[row + 1] = bounds[row] + (begin[v + 1] - begin[v] if v >= 0 else 0)
    source, entry = np.empty(bounds[-1], np.int64), np.empty(bounds[-1], np.int64)
    at = 0
    for row in range(n):
        v = ids[row]
        if v < 0:
            continue
        shift = starts[owner[row]] - ptr[graphs[owner[row]]]
        for e in range(begin[v], begin[v + 1]):
            source[at], entry[at] = rank[other[e] + shift], e
            at += 1
    return source, bounds, entry


@jit
def transpose(source, bounds, columns, weight):
    """``(row, back, weight)``: the rows of the entries of every column, where they begin, and their
    weights, if any."""
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
def collate_classes(graphs, bounds, ptr, ids, counts, part, part_of, parts, mark, like):
    """``(chosen, weight, first)``: the classes in the graphs of every replica, sorted by part, -1
    for padding; the number of pairs in each; where every part begins. Sets ``mark``."""
    replicas = len(bounds) - 1
    room = 0
    for i in range(len(graphs)):
        room += ptr[graphs[i] + 1] - ptr[graphs[i]]
    met, total = np.empty(room, np.int64), np.empty(room, np.float64)
    ends = np.zeros(replicas + 1, np.int64)
    each = np.zeros((replicas, parts), np.int64)
    used = 0
    for r in range(replicas):
        for k in range(bounds[r], bounds[r + 1]):
            g = graphs[k]
            for i in range(ptr[g], ptr[g + 1]):
                c = ids[i]
                at = mark[r, c] - 1
                if at < 0:
                    at = used - ends[r]
                    used += 1
                    mark[r, c] = at + 1
                    met[ends[r] + at], total[ends[r] + at] = c, 0.0
                    each[r, part_of[part[c]]] += 1
                total[ends[r] + at] += counts[i]
        ends[r + 1] = used
    _, first = _rooms(each)
    height = first[-1]
    chosen = np.full(replicas * height, -1)
    weight = np.zeros(replicas * height, like.dtype)
    for r in range(replicas):
        fill = first[:-1].copy()
        for at in range(ends[r], ends[r + 1]):
            j = part_of[part[met[at]]]
            row = fill[j]
            fill[j] += 1
            chosen[r * height + row], weight[r * height + row] = met[at], total[at]
            mark[r, met[at]] = row + 1
    return chosen, weight, first


@lean
def _local(row, size, used, mark, start_mark):
    """The row within a replica of ``row`` of an α table, which has ``size`` learned classes in all
    and ``used`` in the replica."""
    if row < size:
        return mark[row] - 1
    return used + start_mark[row - size] - 1


@jit
def collate_round(chosen, weight, size, used, rows, mark, start_mark, table, tuple_mark):
    """The sums of the chosen classes of a round: ``(previous, previous_ends, met, met_ends, tuples,
    ends, count, tuple_weight, takes, take_ends, far, far_ends, far_count)``; the last five are the
    shared sum that a class adds, and the tuples of every shared sum.

    ``size``, ``used``, ``rows`` and ``mark`` are those of the previous round; ``met`` holds two
    rows per tuple.
    """
    (
        before, first, second, entry_ptr, entry_tuple, entry_count, shared, far_ptr, far_tuple,
        far_times,
    ) = table  # fmt: skip
    replicas = len(mark)
    height = len(chosen) // replicas
    previous_ends, ends = np.zeros(len(chosen) + 1, np.int64), np.zeros(len(chosen) + 1, np.int64)
    take_ends = np.zeros(len(chosen) + 1, np.int64)
    shared_mark = np.zeros((replicas, len(far_ptr) - 1), np.int32)
    kept, room = np.zeros(replicas + 1, np.int64), 0
    for i in range(len(chosen)):
        c, r = chosen[i], i // height
        previous_ends[i + 1] = previous_ends[i] + (c >= 0)
        ends[i + 1] = ends[i] + (entry_ptr[c + 1] - entry_ptr[c] if c >= 0 else 0)
        take_ends[i + 1] = take_ends[i] + (c >= 0 and shared[c] >= 0)
        if c >= 0 and shared[c] >= 0 and shared_mark[r, shared[c]] == 0:
            kept[r + 1] += 1
            shared_mark[r, shared[c]] = kept[r + 1]
            room += far_ptr[shared[c] + 1] - far_ptr[shared[c]]
    tall = kept.max()
    previous = np.empty(previous_ends[-1], np.int64)
    tuples, count = np.empty(ends[-1], np.int64), np.empty(ends[-1], weight.dtype)
    takes, far_ends = np.empty(take_ends[-1], np.int64), np.zeros(replicas * tall + 1, np.int64)
    far, far_count = np.empty(room, np.int64), np.empty(room, weight.dtype)
    sums, times = np.full(replicas * tall, -1), np.zeros(replicas * tall, np.float64)
    most = ends[-1] + room
    used_tuple = np.empty(most, np.int64)  # in order of appearance
    total, number = np.zeros(most, np.float64), np.zeros(replicas + 1, np.int64)
    num_tuples = num_entries = num_previous = num_takes = num_far = 0
    for r in range(replicas):
        own_mark, own_start = mark[r], start_mark[r]
        for i in range(r * height, (r + 1) * height):
            c = chosen[i]
            if c < 0:
                continue
            previous[num_previous] = r * rows + _local(before[c], size, used, own_mark, own_start)
            num_previous += 1
            if shared[c] >= 0:
                row = r * tall + shared_mark[r, shared[c]] - 1
                takes[num_takes], sums[row] = row, shared[c]
                times[row] += weight[i]
                num_takes += 1
            for e in range(entry_ptr[c], entry_ptr[c + 1]):
                k = tuple_mark[r, entry_tuple[e]] - 1
                if k < 0:
                    k = num_tuples - number[r]
                    tuple_mark[r, entry_tuple[e]], used_tuple[num_tuples] = k + 1, entry_tuple[e]
                    num_tuples += 1
                tuples[num_entries], count[num_entries] = k, entry_count[e]
                total[number[r] + k] += weight[i] * entry_count[e]
                num_entries += 1
        for row in range(r * tall, (r + 1) * tall):
            s = sums[row]
            if s >= 0:
                for e in range(far_ptr[s], far_ptr[s + 1]):
                    k = tuple_mark[r, far_tuple[e]] - 1
                    if k < 0:
                        k = num_tuples - number[r]
                        tuple_mark[r, far_tuple[e]], used_tuple[num_tuples] = k + 1, far_tuple[e]
                        num_tuples += 1
                    far[num_far], far_count[num_far] = k, far_times[e]
                    total[number[r] + k] += times[row] * far_times[e]
                    num_far += 1
            far_ends[row + 1] = num_far
        number[r + 1] = num_tuples
    most = 0
    for r in range(replicas):
        most = max(most, number[r + 1] - number[r])
    met, met_ends = np.empty(2 * num_tuples, np.int64), np.zeros(replicas * most + 1, np.int64)
    tuple_weight = np.zeros(replicas * most, weight.dtype)
    for r in range(replicas):
        own_mark, own_start = mark[r], start_mark[r]
        for k in range(most):
            row, place = r * most + k, number[r] + k
            real = place < number[r + 1]
            met_ends[row + 1] = met_ends[row] + 2 * real
            if real:
                t = used_tuple[place]
                left = r * rows + _local(first[t], size, used, own_mark, own_start)
                right = r * rows + _local(second[t], size, used, own_mark, own_start)
                met[2 * place], met[2 * place + 1] = 2 * left, 2 * right + 1
                tuple_weight[row] = total[place]
        for i in range(ends[r * height], ends[(r + 1) * height]):
            tuples[i] += r * most
        for i in range(far_ends[r * tall], far_ends[(r + 1) * tall]):
            far[i] += r * most
    return (
        previous, previous_ends, met, met_ends, tuples, ends, count, tuple_weight, takes, take_ends,
        far, far_ends, far_count,
    )  # fmt: skip


@jit
def collate_pairs(entry, bounds, pair_row, size, used, rows, mark, start_mark):
    """The α table rows of some pairs in one round; ``pair_row`` holds those in the whole set."""
    replicas = len(mark)
    height = (len(bounds) - 1) // replicas
    out = np.empty(len(entry), np.int64)
    for r in range(replicas):
        own_mark, own_start = mark[r], start_mark[r]
        for k in range(bounds[r * height], bounds[(r + 1) * height]):
            out[k] = r * rows + _local(pair_row[entry[k]], size, used, own_mark, own_start)
    return out
