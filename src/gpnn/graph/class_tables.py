"""The α classes of a set of graphs as arrays, and those of a batch picked out of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .graphs import _integers

__all__ = ["InteractionClasses", "RoundTable", "SelectedRound", "Selection"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


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
    """

    size: int
    previous: IntArray
    first: IntArray
    second: IntArray
    entry_ptr: IntArray
    entry_tuple: IntArray
    entry_count: IntArray
    part: IntArray


@dataclass(frozen=True, eq=False, slots=True)
class SelectedRound:
    """The classes of round l that occur in a batch, renumbered; rows are those of the batch.

    Attributes:
        previous, part: as in :class:`RoundTable`, [C].
        first, second: tuples, [T].
        entry_class, entry_tuple, entry_count: class ``entry_class`` (ascending) sums tuple
            ``entry_tuple`` so many times, [E].
        class_weight: pairs of the batch in every class, [C].
        tuple_weight: times every tuple is read over all pairs of the batch, [T].
    """

    previous: IntArray
    first: IntArray
    second: IntArray
    entry_class: IntArray
    entry_tuple: IntArray
    entry_count: FloatArray
    class_weight: FloatArray
    tuple_weight: FloatArray
    part: IntArray


@dataclass(frozen=True, eq=False, slots=True)
class Selection:
    """What a batch of graphs needs, numbered from 0; vertices in the order of the batch.

    Attributes:
        pair_centre, pair_other: the pairs (v, u), u ∈ N_d(v), sorted, [P].
        pair_class: row of every pair in the α table of round l, [L, P]: the learned classes of the
            round, then the start classes.
        start: start classes, [C0, 5].
        start_weight: ordered pairs of the batch with that start class, [C0].
        start_entry: CSR entry in the whole set of the pair, or -1; only where not merged, [C0].
        rounds: what rounds 1 to L compute.
    """

    pair_centre: IntArray
    pair_other: IntArray
    pair_class: IntArray
    start: IntArray
    start_weight: FloatArray
    start_entry: IntArray | None
    rounds: tuple[SelectedRound, ...]


@dataclass(frozen=True, eq=False, slots=True)
class InteractionClasses:
    """All α classes of a set of graphs.

    The α table of round 0 are the C0 start classes; that of round l ≥ 1 the C_l learned classes of
    the round followed by the C0 start classes, because pairs outside E^δ keep their α⁽⁰⁾.

    Attributes:
        interactions, d, rounds, merged: as given to ``interaction_classes``.
        ptr: vertices of graph g are ``ptr[g]:ptr[g+1]``, [G + 1].
        pair_ptr: pairs of graph g are ``pair_ptr[g]:pair_ptr[g+1]``, [G + 1].
        pair_centre, pair_other: all (v, u) with u ∈ N_d(v), v included, sorted, [P].
        pair_class: row of every pair in the α table of round l, at index l - 1, [L, P].
        start: rows (part of v, kind, part of u, label, hops) of all pairs ever read, [C0, 5]; kind
            0 self, 1 within, 2 cross, 3 non-edge; label 0 where there is none, else 1 + label;
            hops 0 unless distances count.
        start_entry: where not merged, the CSR entry of the pair, or -1 if it is no edge, [C0].
        tables: one per round; round l stands at index l - 1.
        class_ptr, class_id, class_count: per round, the learned classes of graph g and how many of
            its pairs are in each.
        start_ptr, start_id, start_count: likewise the start classes; every ordered pair that is
            read in some round counts once.
    """

    interactions: str
    d: int
    rounds: int
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
    start_count: IntArray

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def __repr__(self) -> str:
        sizes = " / ".join(f"{table.size:,}" for table in self.tables)
        kind = "classes" if self.merged else "pairs"
        return f"InteractionClasses({len(self):,} graphs, {self.interactions}, {sizes} {kind})"

    def select(self, graph_ids: Any) -> Selection:
        """The classes of some graphs. A graph asked for twice has its pairs twice, in one class."""
        from .kernels.select import select_classes, select_pairs, select_round, select_rows

        ids = _integers(graph_ids, "graph ids").astype(np.int64, copy=False).reshape(-1)
        if len(ids) and not (ids.min() >= 0 and ids.max() < len(self)):
            bad = ids[(ids < 0) | (ids >= len(self))][0]
            raise InputError(f"There is no graph {bad}: graphs are 0 to {len(self) - 1}.")
        start_mark = np.zeros(len(self.start), np.int32)
        starts, start_weight = select_classes(
            ids, self.start_ptr, self.start_id, self.start_count, start_mark
        )
        centre, other, pair_class = select_pairs(
            ids, self.ptr, self.pair_ptr, self.pair_centre, self.pair_other, self.rounds
        )
        size, used, mark = 0, 0, start_mark
        rounds = []
        for r, table in enumerate(self.tables):
            own = np.zeros(table.size, np.int32)
            chosen, weight = select_classes(
                ids, self.class_ptr[r], self.class_id[r], self.class_count[r], own
            )
            arrays = (
                table.previous, table.first, table.second, table.entry_ptr, table.entry_tuple,
                table.entry_count, table.part,
            )  # fmt: skip
            tuple_mark = np.zeros(len(table.first), np.int32)
            rounds.append(
                SelectedRound(
                    *select_round(chosen, weight, size, used, mark, start_mark, arrays, tuple_mark)
                )
            )
            size, used, mark = table.size, len(chosen), own
            select_rows(
                ids, self.pair_ptr, self.pair_class[r], size, used, mark, start_mark, pair_class[r]
            )
        return Selection(
            centre,
            other,
            pair_class,
            self.start[starts],
            start_weight,
            None if self.start_entry is None else self.start_entry[starts],
            tuple(rounds),
        )
