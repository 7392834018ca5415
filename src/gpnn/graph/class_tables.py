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
    """The classes of round l. A row is one of the α table of round l - 1.

    Attributes:
        size: C, the number of classes.
        previous: row of the class itself, [C].
        first, second: rows of the distinct tuples (α_vw, α_uw), [T] each.
        entry_ptr: entries of class c are ``entry_ptr[c]:entry_ptr[c+1]``, [C + 1].
        entry_tuple, entry_count: which tuples a class sums over w ∈ N_d(v), and how often, [E].
        part: part of u for the pairs (v, u) of the class, [C].
        shared: a sum that the class has in common with others, or -1, [C]. It stands for the start
            classes of non-edges from u in all of Σ_{w ∈ N_d(v)}; entries of the class are then what
            v, u and common neighbours change in it, with counts of either sign.
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

    The α table of round 0 are the C0 start classes; that of round l ≥ 1 the C_l learned classes of
    the round followed by the C0 start classes, because pairs outside E^δ keep their α⁽⁰⁾.

    Attributes:
        structure, merged: as given to ``interaction_classes``.
        ptr: vertices of graph g are ``ptr[g]:ptr[g+1]``, [G + 1].
        pair_ptr: pairs of graph g are ``pair_ptr[g]:pair_ptr[g+1]``, [G + 1].
        pair_centre, pair_other: all (v, u) with u ∈ N_d(v), v included, sorted, [P].
        pair_class: row of every pair in the α table of round l, at index l - 1, [L, P].
        start: rows (part of v, kind, part of u, label of the edge, hops, label of v, label of u) of
            all pairs ever read, [C0, 7]; kind 0 self, 1 within, 2 cross, 3 non-edge; label 0 where
            there is none, else 1 + label; hops 0 unless distances count; labels of vertices 0
            unless they count.
        start_entry: where not merged, the CSR entry of the pair, or -1 if it is no edge, [C0].
        tables: one per round; round l stands at index l - 1.
        class_ptr, class_id, class_count: per round, the learned classes of graph g and how many of
            its pairs are in each.
        start_ptr, start_id: likewise the start classes that are read in some round.
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
        """Whether classes take sums that they share."""
        return any(len(table.shared_tuple) for table in self.tables)

    def __repr__(self) -> str:
        sizes = " / ".join(f"{table.size:,}" for table in self.tables)
        kind = "classes" if self.merged else "pairs"
        which = self.structure.interactions
        return f"InteractionClasses({len(self):,} graphs, {which}, {sizes} {kind})"
