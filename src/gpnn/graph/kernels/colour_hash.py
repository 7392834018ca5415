"""Hashing of colours, pairs and multisets, shared by all colour refinements.

A colour consists of two uint64 lanes. Random words of a colour are computed by ``scramble``, with a
different salt for each use. A multiset is hashed lane by lane modulo 2^64: a multiset of colours by
the sum of their words, a multiset of pairs (a, b) by the sum of products left(a) · right(b), which
turns the pair updates into matrix products. See ``gpnn.graph.refine`` for the probability of a
collision.
"""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .hashing import chain, scramble

__all__ = [
    "CROSS", "FIRST", "LEFT", "NEIGHBOUR", "NONE", "OWN", "RIGHT", "SECOND", "SELF", "WITHIN",
    "bag", "copy_rows", "count_classes", "hash_rows", "kind_words", "table_size", "words",
]  # fmt: skip

OWN = np.uint64(0x8F3A6C1D52E7B904)
NEIGHBOUR = np.uint64(0x3C6EF372FE94F82B)
LEFT = np.uint64(0xA54FF53A5F1D36F1)
RIGHT = np.uint64(0x510E527FADE682D1)
FIRST = np.uint64(0x9B05688C2B3E6C1F)
SECOND = np.uint64(0x6A09E667F3BCC908)
ROW = np.uint64(0x1F83D9ABFB41BD6B)
KIND = np.uint64(0xBB67AE8584CAA73B)
MEMBER = np.uint64(0x5BE0CD19137E2179)

SELF, WITHIN, CROSS, NONE = 0, 1, 2, 3


@jit
def hash_rows(rows, before):  # type: ignore[no-untyped-def]
    """Colours of integer rows [n, w], each appended to the colours ``before`` ([n, 2])."""
    out = np.empty_like(before)
    for v in range(rows.shape[0]):
        low, high = before[v, 0], before[v, 1]
        for i in range(rows.shape[1]):
            low, high = chain(low, high, np.uint64(rows[v, i]), np.uint64(i + 1), ROW)
        out[v, 0], out[v, 1] = low, high
    return out


@jit
def copy_rows(source, size, into, at):  # type: ignore[no-untyped-def]
    """Copy ``size`` colours to ``into`` from row ``at`` (slice assignment compiles slowly)."""
    for i in range(size):
        into[at + i, 0] = source[i, 0]
        into[at + i, 1] = source[i, 1]


@jit
def words(colours, salt, out):  # type: ignore[no-untyped-def]
    """Random words of all colours ([size, 2]), written to the start of ``out``."""
    for i in range(len(colours)):
        out[i, 0], out[i, 1] = scramble(colours[i, 0], colours[i, 1], salt)


@jit
def kind_words(kind, label, hops):  # type: ignore[no-untyped-def]
    """Random words of the kind, label and distance of a pair.

    The start colour of the pair (v, u) is the sum of FIRST words of λ_V(v), SECOND words of
    λ_V(u) and these words. It is scrambled whenever it is used, so a plain sum suffices.
    """
    return scramble(np.uint64(label), np.uint64(kind + 4 * hops), KIND)


@jit
def bag(colours):  # type: ignore[no-untyped-def]
    """Hash of a multiset of colours ([size, 2]) as one colour."""
    low = np.uint64(0)
    high = np.uint64(0)
    for i in range(len(colours)):
        a, b = scramble(colours[i, 0], colours[i, 1], MEMBER)
        low += a
        high += b
    return low, high


@jit
def bags(colours, ptr):  # type: ignore[no-untyped-def]
    """Hash of the multiset of colours ``ptr[g]:ptr[g+1]`` for every graph g: [graphs, 2]."""
    out = np.empty((len(ptr) - 1, 2), np.uint64)
    for g in range(len(ptr) - 1):
        out[g, 0], out[g, 1] = bag(colours[ptr[g] : ptr[g + 1]])
    return out


@jit
def table_size(size):  # type: ignore[no-untyped-def]
    """Number of slots that ``count_classes`` needs for ``size`` colours: a power of two, at most
    half full."""
    slots = 2
    while slots < 2 * size:
        slots *= 2
    return slots


@jit
def count_classes(colours, table):  # type: ignore[no-untyped-def]
    """Number of distinct colours in [size, 2]; ``table`` is scratch memory of at least
    ``table_size(size)``."""
    slots = table_size(len(colours))
    for i in range(slots):
        table[i] = -1
    mask = np.uint64(slots - 1)
    classes = 0
    for i in range(len(colours)):
        low, high = colours[i, 0], colours[i, 1]
        at = low & mask
        while True:
            other = table[at]
            if other < 0:
                table[at] = i
                classes += 1
                break
            if colours[other, 0] == low and colours[other, 1] == high:
                break
            at = (at + np.uint64(1)) & mask
    return classes
