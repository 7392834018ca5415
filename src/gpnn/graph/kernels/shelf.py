"""A growing table of rows, numbered in order of appearance and looked up by 128-bit key.

A shelf is ``(keys, slots, rows, seen)``: the key of every row, an open-addressing table of row
numbers, the rows themselves, and the last position of every row in a log (see ``tally``).
"""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .colour_hash import table_size
from .lean import lean

__all__ = ["enlarge", "find", "new_shelf", "shelf_room", "tally"]


@jit
def new_shelf(width):  # type: ignore[no-untyped-def]
    """An empty shelf for rows of ``width`` integers."""
    return (
        np.empty((8, 2), np.uint64),
        np.full(table_size(8), -1, np.int64),
        np.empty((8, width), np.int64),
        np.full(8, -1, np.int64),
    )


@lean
def find(keys, slots, used, low, high, merge):  # type: ignore[no-untyped-def]
    """The row with this key; if there is none, the key is stored at ``used``, which is returned.
    Without ``merge`` the result is always ``used``."""
    if not merge:
        return used
    mask = np.uint64(len(slots) - 1)
    at = low & mask
    while slots[at] >= 0:
        if keys[slots[at], 0] == low and keys[slots[at], 1] == high:
            return slots[at]
        at = (at + np.uint64(1)) & mask
    slots[at] = used
    keys[used, 0], keys[used, 1] = low, high
    return used


@jit
def enlarge(rows, used, extra):  # type: ignore[no-untyped-def]
    """``rows``, or a copy at least twice as long if ``extra`` more rows do not fit."""
    if used + extra <= len(rows):
        return rows
    longer = np.empty((2 * (used + extra), rows.shape[1]), rows.dtype)
    for i in range(used):
        for j in range(rows.shape[1]):
            longer[i, j] = rows[i, j]
    return longer


@jit
def shelf_room(shelf, used, extra, merge):  # type: ignore[no-untyped-def]
    """The shelf with room for ``extra`` more rows."""
    keys, slots, rows, seen = shelf
    if used + extra <= len(rows):
        return shelf
    rows = enlarge(rows, used, extra)
    longer = np.full(len(rows), -1, np.int64)
    for i in range(used):
        longer[i] = seen[i]
    if not merge:
        return keys, slots, rows, longer
    wider = np.empty((len(rows), 2), np.uint64)
    for i in range(used):
        wider[i, 0], wider[i, 1] = keys[i, 0], keys[i, 1]
    table = np.full(table_size(len(rows)), -1, np.int64)
    mask = np.uint64(len(table) - 1)
    for i in range(used):
        at = wider[i, 0] & mask
        while table[at] >= 0:
            at = (at + np.uint64(1)) & mask
        table[at] = i
    return wider, table, rows, longer


@lean
def tally(seen, log, sizes, which, since, i):  # type: ignore[no-untyped-def]
    """Count row i in the part of the log that begins at ``since``; log rows are (row, count)."""
    at = seen[i]
    if at < since:
        at = sizes[which]
        sizes[which] += 1
        seen[i] = at
        log[at, 0] = i
        log[at, 1] = 0
    log[at, 1] += 1
