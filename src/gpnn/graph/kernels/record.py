"""Results of a refinement, recorded graph by graph and round by round."""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .colour_hash import copy_rows
from .hashing import chain

__all__ = ["close_record", "note", "open_record", "seal"]

DIGEST = np.uint64(0xCBBB9D5DC1059ED8)
USED, SIGNED, BEFORE, FAILED = 0, 1, 2, 3


@jit
def open_record(ptr):  # type: ignore[no-untyped-def]
    """``(record, widest)``: an empty record, and the number of vertices of the largest graph, at
    least 1.

    The record is ``(colours, signatures, recorded, stable, digest, state)``. ``colours`` and
    ``signatures`` grow; ``recorded[g]`` is the last round stored for graph g, ``stable[g]`` the
    first round whose classes the next round did not split, or -1.
    """
    number = len(ptr) - 1
    widest = 1
    for g in range(number):
        widest = max(widest, ptr[g + 1] - ptr[g])
    state = np.zeros(4, np.int64)
    state[FAILED] = -1
    return (
        np.empty((2 * ptr[number] + 1, 2), np.uint64),
        np.empty((2 * number + 1, 2), np.uint64),
        np.zeros(number, np.int64),
        np.full(number, -1, np.int64),
        np.zeros((number, 2), np.uint64),
        state,
    ), widest


@jit
def _room(store, used, size):  # type: ignore[no-untyped-def]
    """``store``, or a longer copy if ``size`` more rows do not fit after the used rows."""
    if used + size <= len(store):
        return store
    longer = np.empty((2 * (used + size), 2), np.uint64)
    copy_rows(store, used, longer, 0)
    return longer


@jit
def _cut(store, used):  # type: ignore[no-untyped-def]
    out = np.empty((used, 2), np.uint64)
    copy_rows(store, used, out, 0)
    return out


@jit
def note(record, g, r, colours, signature, classes, rounds, most):  # type: ignore[no-untyped-def]
    """Store round r of graph g; returns ``(record, more)``, where ``more`` is whether another round
    follows.

    ``classes`` is the number of classes of everything that the next round reads. ``rounds`` ≥ 0
    runs exactly this number of rounds; otherwise a graph ends one round after it became stable. If
    the total number of colours exceeds ``most``, the record is marked as failed at g.
    """
    store, signatures, recorded, stable, digest, state = record
    if state[FAILED] >= 0:
        return record, False
    store = _room(store, state[USED], len(colours))
    copy_rows(colours, len(colours), store, state[USED])
    signatures = _room(signatures, state[SIGNED], 1)
    signatures[state[SIGNED], 0], signatures[state[SIGNED], 1] = signature
    state[USED] += len(colours)
    state[SIGNED] += 1
    if r == 0:
        state[BEFORE] = -1
    if stable[g] < 0 and classes == state[BEFORE]:
        stable[g] = r - 1
    state[BEFORE] = classes
    recorded[g] = r
    if state[USED] > most:
        state[FAILED] = g
    more = state[FAILED] < 0 and (r < rounds if rounds >= 0 else stable[g] < 0)
    return (store, signatures, recorded, stable, digest, state), more


@jit
def seal(record, g, rounds, pairs):  # type: ignore[no-untyped-def]
    """Compute the digest of graph g from its last signature, the round, whether the number of
    rounds was given, and pair colours if any."""
    _, signatures, recorded, _, digest, state = record
    low, high = signatures[state[SIGNED] - 1, 0], signatures[state[SIGNED] - 1, 1]
    low, high = chain(low, high, np.uint64(recorded[g]), np.uint64(rounds >= 0), DIGEST)
    digest[g, 0], digest[g, 1] = chain(low, high, pairs[0], pairs[1], DIGEST)


@jit
def close_record(record):  # type: ignore[no-untyped-def]
    """``(colours, signatures, recorded, stable, digest, failed)``, with arrays cut to size."""
    store, signatures, recorded, stable, digest, state = record
    store = _cut(store, state[USED])
    return store, _cut(signatures, state[SIGNED]), recorded, stable, digest, state[FAILED]
