"""Ordered partitions of a small graph's vertices, with splits that can be undone.

Cells are contiguous runs of one array. Splits are logged, so that a search can undo them in time
linear in the number of vertices they moved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import jit

__all__ = [
    "HEAD",
    "SIZE",
    "SPLITS",
    "WAITING",
    "WORK",
    "Partition",
    "enqueue",
    "individualise",
    "move",
    "new_partition",
    "sort_by_score",
    "start",
    "undo",
]

HEAD, WAITING, SPLITS, WORK, SIZE = 0, 1, 2, 3, 4  # places in Partition.state


class Partition(NamedTuple):
    """An ordered partition; cells are runs of ``order``, identified by their start."""

    order: NDArray[np.int64]  # vertices, cell by cell
    place: NDArray[np.int64]  # position of a vertex in order
    cell: NDArray[np.int64]  # start of a vertex's cell
    length: NDArray[np.int64]  # length of the cell that starts here
    splits: NDArray[np.int64]  # log: start of each cell split off
    queue: NDArray[np.int64]  # ring buffer of pending splitter cells
    queued: NDArray[np.bool_]
    members: NDArray[np.int64]  # scratch
    touched: NDArray[np.int64]  # scratch: cells with a neighbour of the splitter
    hits: NDArray[np.int64]  # scratch, by cell; zero between calls
    score: NDArray[np.int64]  # scratch, by vertex; zero between calls
    state: NDArray[np.int64]


@jit
def new_partition(most):  # type: ignore[no-untyped-def]
    """Allocate a partition for graphs of up to ``most`` vertices."""
    return Partition(
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.zeros(most, np.bool_),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.zeros(most, np.int64),
        np.zeros(most, np.int64),
        np.zeros(5, np.int64),
    )


@jit
def start(p, n, colours):  # type: ignore[no-untyped-def]
    """Initialise the cells by ascending colour, and queue all of them as splitters."""
    p.state[HEAD] = 0
    p.state[WAITING] = 0
    p.state[SPLITS] = 0
    p.state[WORK] = 0
    p.state[SIZE] = n
    for v in range(n):
        p.order[v] = v
        p.score[v] = colours[v]
    sort_by_score(p, 0, n)
    first = 0
    for i in range(n):
        v = p.order[i]
        p.place[v] = i
        if i == 0 or p.score[v] != p.score[p.order[i - 1]]:
            first = i
            p.length[i] = 0
            if i > 0:
                p.splits[p.state[SPLITS]] = i
                p.state[SPLITS] += 1
            enqueue(p, i)
        p.cell[v] = first
        p.length[first] += 1
    for v in range(n):
        p.score[v] = 0


@jit
def individualise(p, v):  # type: ignore[no-untyped-def]
    """Make v a separate cell, at the last position of its old cell, and queue it."""
    c = p.cell[v]
    last = c + p.length[c] - 1
    move(p, v, last)
    p.length[c] -= 1
    p.length[last] = 1
    p.cell[v] = last
    p.splits[p.state[SPLITS]] = last
    p.state[SPLITS] += 1
    enqueue(p, last)


@jit
def undo(p, splits):  # type: ignore[no-untyped-def]
    """Undo the latest splits until ``splits`` are left; the queue must be empty."""
    for at in range(p.state[SPLITS] - 1, splits - 1, -1):
        b = p.splits[at]
        c = p.cell[p.order[b - 1]]
        p.length[c] += p.length[b]
        for i in range(b, b + p.length[b]):
            p.cell[p.order[i]] = c
    p.state[SPLITS] = splits


@jit
def move(p, v, to):  # type: ignore[no-untyped-def]
    """Swap v with the vertex at position ``to``."""
    here = p.place[v]
    other = p.order[to]
    p.order[here] = other
    p.place[other] = here
    p.order[to] = v
    p.place[v] = to


@jit
def enqueue(p, c):  # type: ignore[no-untyped-def]
    at = p.state[HEAD] + p.state[WAITING]
    if at >= p.state[SIZE]:
        at -= p.state[SIZE]
    p.queue[at] = c
    p.queued[c] = True
    p.state[WAITING] += 1


@jit
def sort_by_score(p, low, high):  # type: ignore[no-untyped-def]
    """Shell sort: most runs are short, and it compiles quickly."""
    gap = 1
    while 3 * gap < high - low:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(low + gap, high):
            v = p.order[i]
            score = p.score[v]
            j = i - gap
            while j >= low and p.score[p.order[j]] > score:
                p.order[j + gap] = p.order[j]
                j -= gap
            p.order[j + gap] = v
        gap //= 3
    for i in range(low, high):
        p.place[p.order[i]] = i
