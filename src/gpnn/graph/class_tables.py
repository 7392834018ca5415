"""The α classes of a set of graphs as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .structure import Structure

__all__ = ["InteractionClasses", "RoundTable"]

IntArray = NDArray[np.int64]
Narrow = NDArray[np.int32]


@dataclass(frozen=True, eq=False, slots=True)
class RoundTable:
    """The classes of round l. Rows refer to the α table of round l - 1.

    Attributes:
        size: C, the number of classes.
        previous: row of the class itself, [C].
        first, second: rows of the distinct tuples (α_vw, α_uw), [T] each.
        entry_ptr: entries of class c are ``entry_ptr[c]:entry_ptr[c+1]``, [C + 1].
        entry_tuple, entry_count: the tuples a class sums over w ∈ N_d(v), and how often, [E].
        part: part of u for the pairs (v, u) of the class, [C].
        shared: index of a sum that the class shares with others, or -1, [C]. The shared sum runs
            over all w ∈ N_d(v) and uses the start class of a non-edge for (u, w); the entries of
            the class then correct it at v, u and common neighbours, with counts of either sign.
        shared_ptr, shared_tuple, shared_count: the entries of the shared sums.
    """

    size: int
    previous: IntArray
    first: IntArray
    second: IntArray
    entry_ptr: IntArray
    entry_tuple: Narrow
    entry_count: Narrow
    part: IntArray
    shared: IntArray
    shared_ptr: IntArray
    shared_tuple: Narrow
    shared_count: Narrow


@dataclass(frozen=True, eq=False, slots=True)
class InteractionClasses:
    """All α classes of a set of graphs.

    The α table of round 0 consists of the C0 start classes. The table of round l ≥ 1 consists of
    the C_l learned classes of the round, then the C0 start classes, because pairs outside E^δ keep
    their α⁽⁰⁾.

    Attributes:
        structure, merged: as given to ``interaction_classes``.
        ptr: vertices of graph g are ``ptr[g]:ptr[g+1]``, [G + 1].
        pair_ptr: pairs of graph g are ``pair_ptr[g]:pair_ptr[g+1]``, [G + 1].
        pair_centre, pair_other: all (v, u) with u ∈ N_d(v), v included, sorted, [P].
        pair_class: row of every pair in the α table of round l, at index l - 1, [L, P].
        start: rows (part of v, kind, part of u, label of the edge, hops, label of v, label of u) of
            all pairs ever read, [C0, 7]; kind 0 self, 1 within, 2 cross, 3 non-edge; label 0 if
            there is none, else 1 + label; hops 0 unless distances are used; labels of vertices 0
            unless they are used.
        start_entry: if not merged, the CSR entry of the pair, or -1 if it is not an edge, [C0].
        tables: one table per round; round l is at index l - 1.
        class_ptr, class_id, class_count: per round, the learned classes of graph g and the number
            of its pairs in each class.
        start_ptr, start_id: the start classes of graph g that are read in some round.
    """

    structure: Structure
    merged: bool
    ptr: IntArray
    pair_ptr: IntArray
    pair_centre: IntArray
    pair_other: IntArray
    pair_class: IntArray
    start: IntArray
    start_entry: IntArray | None
    tables: tuple[RoundTable, ...]
    class_ptr: tuple[IntArray, ...]
    class_id: tuple[IntArray, ...]
    class_count: tuple[IntArray, ...]
    start_ptr: IntArray
    start_id: IntArray

    def __len__(self) -> int:
        return len(self.ptr) - 1

    @property
    def shares(self) -> bool:
        """Whether any classes share sums."""
        return any(len(table.shared_tuple) for table in self.tables)

    def __repr__(self) -> str:
        sizes = " / ".join(f"{table.size:,}" for table in self.tables)
        kind = "classes" if self.merged else "pairs"
        which = self.structure.interactions
        return f"InteractionClasses({len(self):,} graphs, {which}, {sizes} {kind})"
