"""Tuples (round, node, node), numbered in order of appearance, and the tuples of every class.

Every tuple of every new class is looked up, in an order that is unpredictable for the cache. All
data of a look-up are therefore stored together: a slot is (first node, second node, number and
round, last position in the log of entries).
"""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .colour_hash import table_size
from .hashing import mix
from .lean import lean
from .shelf import enlarge

__all__ = ["MOST_ROUNDS", "count_tuple", "new_tuples", "tuple_room"]

MOST_ROUNDS = 256
"""Maximum number of rounds, since number and round share a word."""
_ROUNDS = np.int64(MOST_ROUNDS)
_FIRST = np.uint64(0xD807AA98A3030242)
_SECOND = np.uint64(0x9BDC06A725C71235)


@jit
def new_tuples():  # type: ignore[no-untyped-def]
    """An empty table: slots, and rows (round, node, node)."""
    return np.full((table_size(8), 4), -1, np.int64), np.empty((8, 3), np.int64)


@lean
def _slot(slots, first, second, number):  # type: ignore[no-untyped-def]
    """The slot of a tuple, or the empty slot where it belongs."""
    mask = np.uint64(len(slots) - 1)
    at = mix(np.uint64(first) * _FIRST + np.uint64(second) * _SECOND + np.uint64(number)) & mask
    while slots[at, 2] >= 0:
        if slots[at, 0] == first and slots[at, 1] == second and slots[at, 2] % _ROUNDS == number:
            break
        at = (at + np.uint64(1)) & mask
    return at


@jit
def tuple_room(table, used, extra, merge):  # type: ignore[no-untyped-def]
    """The table with room for ``extra`` more tuples."""
    slots, rows = table
    if used + extra <= len(rows):
        return table
    rows = enlarge(rows, used, extra)
    if not merge:
        return slots, rows
    wider = np.full((table_size(len(rows)), 4), -1, np.int64)
    for old in range(len(slots)):
        if slots[old, 2] >= 0:
            at = _slot(wider, slots[old, 0], slots[old, 1], slots[old, 2] % _ROUNDS)
            for j in range(4):
                wider[at, j] = slots[old, j]
    return wider, rows


@lean
def count_tuple(table, used, first, second, number, entries, at_end, since, merge):  # type: ignore[no-untyped-def]
    """Count a tuple among the entries (tuple, count) of a class, which begin at ``since``. Returns
    the new number of tuples and the new end of the entries."""
    slots, rows = table
    at = np.uint64(0)
    if merge:
        at = _slot(slots, first, second, number)
        tag = slots[at, 2]
        if tag >= 0:
            place = slots[at, 3]
            if place >= since:
                entries[place, 1] += 1
                return used, at_end
            slots[at, 3] = at_end
            entries[at_end, 0], entries[at_end, 1] = tag // _ROUNDS, 1
            return used, at_end + 1
        slots[at, 0], slots[at, 1] = first, second
        slots[at, 2], slots[at, 3] = used * _ROUNDS + number, at_end
    rows[used, 0], rows[used, 1], rows[used, 2] = number, first, second
    entries[at_end, 0], entries[at_end, 1] = used, 1
    return used + 1, at_end + 1
