"""α classes with α on edges and d = 1, for graphs of any size.

The cost depends on the number of edges, triangles and table entries, not on Σ deg². In the sum

    Σ_{w ∈ N[v]} φ(α_vw, α_uw),

the terms with w ∉ N(u) depend on u only through its colour. Classes therefore share one sum over
N[v] where this saves entries, and correct it at u, at v and at common neighbours
(:class:`~gpnn.graph.class_tables.RoundTable`, ``shared``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import sizes as limits
from ..errors import InputError
from .class_tables import InteractionClasses, RoundTable
from .graphs import Graphs
from .kernels import edge_classes as loops
from .kernels.colour_hash import NONE
from .numbering import number_keys
from .structure import Structure
from .threads import on_spans, spans

__all__ = ["edge_classes"]

IntArray = NDArray[np.int64]
Narrow = NDArray[np.int32]

PAIR = 110
"""Bytes per pair while a round is computed."""
ENTRY = 44
"""Bytes per table entry while tuples are numbered."""
MOST_PAIRS, MOST_ENTRIES = 2**30, 2**31
"""Limits of 32-bit numbering."""
GAIN = 2
"""Factor by which sharing a sum must reduce the number of entries to be used."""


@dataclass
class _Starts:
    """The start classes so far: their distinguishing keys, and the number of vertex colours."""

    keys: NDArray[np.uint64]
    colours: int

    @property
    def other(self) -> IntArray:
        return (self.keys[:, 0] % np.uint64(self.colours)).astype(np.int64)

    def of_non_edges(self, wanted: IntArray) -> Narrow:
        """The numbers of the classes (colour of u · colours + colour of w) of non-edges; new
        classes are added."""
        new = np.stack([wanted.astype(np.uint64), np.full(len(wanted), NONE, np.uint64)], 1)
        numbers, first = number_keys(np.concatenate([self.keys, new]))
        self.keys = np.concatenate([self.keys, new])[first]
        return numbers[len(numbers) - len(wanted) :]


@dataclass(frozen=True)
class _Round:
    """One round: its table with tuples given as nodes, and the classes of every graph."""

    table: RoundTable
    lists: tuple[IntArray, IntArray, IntArray]


def edge_classes(
    graphs: Graphs,
    parts: IntArray,
    colours: IntArray,
    width: int,
    labels: IntArray,
    structure: Structure,
) -> InteractionClasses:
    """Like :func:`~gpnn.graph.classes.interaction_classes`, for ``cross`` or ``edges``, d = 1 and
    merged classes. ``colours`` combines part and label of every vertex: part · width + label."""
    n = graphs.num_nodes
    pairs = n + len(graphs.indices)
    request = f"interactions={structure.interactions!r} with d=1 and rounds={structure.layers}"
    _check_count(pairs, MOST_PAIRS, f"{request} on {pairs:,} pairs")
    limits.check_memory(
        (PAIR + 8 * structure.layers) * pairs, f"{request} on {pairs:,} pairs", "Give fewer graphs."
    )
    names, places = np.unique(colours, return_inverse=True)
    colour: Narrow = places.astype(np.int32)
    label_names, label = np.unique(labels, return_inverse=True)
    whole = _Whole.of(graphs, parts, colour, structure.interactions == "edges", request)
    keys = whole.start_keys(len(names), label)
    number, first = number_keys(keys)
    starts = _Starts(keys[first], len(names))
    start = -1 - number
    node, learned_colour, rounds, kept = start, np.empty(0, np.int32), [], []
    for _ in range(structure.layers):
        learned_round, node, learned_colour = whole.learn(node, start, learned_colour, starts)
        rounds.append(learned_round)
        kept.append(node)
    start_ptr, start_id = _starts_of_graphs(whole, number, rounds, len(starts.keys))
    before, tables = 0, []
    rows = np.empty((structure.layers, pairs), np.int64)
    for r, learned_round in enumerate(rounds):
        table = learned_round.table
        tables.append(
            replace(
                table,
                previous=_rows(table.previous, before),
                first=_rows(table.first, before),
                second=_rows(table.second, before),
            )
        )
        before = table.size
        rows[r] = _rows(kept[r], before)
    return InteractionClasses(
        structure=structure,
        merged=True,
        ptr=graphs.ptr,
        pair_ptr=graphs.indptr[graphs.ptr] + graphs.ptr,
        pair_centre=whole.centre.astype(np.int64),
        pair_other=whole.ball.astype(np.int64),
        pair_class=rows,
        start=_start_rows(starts, names, label_names, width, structure.distances),
        start_entry=None,
        tables=tuple(tables),
        class_ptr=tuple(learned_round.lists[0] for learned_round in rounds),
        class_id=tuple(learned_round.lists[1] for learned_round in rounds),
        class_count=tuple(learned_round.lists[2] for learned_round in rounds),
        start_ptr=start_ptr,
        start_id=start_id,
    )


def _check_count(count: int, most: int, what: str) -> None:
    if count >= most:
        raise InputError(f"{what} is more than can be numbered here, {most:,}. Give fewer graphs.")


def _rows(nodes: NDArray[Any], size: int) -> NDArray[Any]:
    """Convert nodes to rows of an α table with ``size`` learned classes."""
    return np.where(nodes >= 0, nodes, size - 1 - nodes)


@dataclass(frozen=True)
class _Whole:
    """The pairs (v, u) with u ∈ N[v] of all graphs, and which of them are learned."""

    graphs: Graphs
    parts: IntArray
    colour: Narrow
    centre: Narrow
    ball: Narrow
    learned: IntArray
    mask: NDArray[np.bool_]
    request: str
    vertices: list[tuple[int, int]]

    @classmethod
    def of(
        cls, graphs: Graphs, parts: IntArray, colour: Narrow, within: bool, request: str
    ) -> _Whole:
        """Build from graphs; ``within``: whether edges within parts are also learned."""
        pairs = graphs.num_nodes + len(graphs.indices)
        centre, ball = np.empty(pairs, np.int32), np.empty(pairs, np.int32)
        mask = np.empty(pairs, np.bool_)

        def fill(a: int, b: int) -> None:
            loops.close_rows(graphs.indptr, graphs.indices, a, b, centre, ball)
            loops.learned_pairs(graphs.indptr, a, b, parts, within, ball, mask)

        vertices = spans(graphs.indptr + np.arange(graphs.num_nodes + 1))
        on_spans(fill, vertices)
        learned = np.flatnonzero(mask)
        return cls(graphs, parts, colour, centre, ball, learned, mask, request, vertices)

    def start_keys(self, colours: int, label: IntArray) -> NDArray[np.uint64]:
        """Keys that distinguish the α⁽⁰⁾ of all pairs."""
        keys = np.empty((len(self.ball), 2), np.uint64)
        indptr = self.graphs.indptr
        on_spans(
            lambda a, b: loops.start_keys(
                indptr, a, b, self.parts, self.colour, colours, label, self.ball, keys
            ),
            self.vertices,
        )
        return keys

    def _class_keys(self, node: Narrow) -> tuple[NDArray[np.uint64], NDArray[np.uint64], Narrow]:
        """Keys of α after the round for the learned pairs; Σ_{w ∈ N[v]} g(α_vw) for every v; and
        the number of common neighbours of every pair."""
        indptr, learned = self.graphs.indptr, self.learned
        sums = np.empty((self.graphs.num_nodes, 2), np.uint64)
        total, common = np.empty((len(node), 2), np.uint64), np.empty(len(node), np.int32)
        keys = np.empty((len(learned), 2), np.uint64)
        on_spans(lambda a, b: loops.sum_rows(indptr, a, b, node, sums), self.vertices)
        on_spans(
            lambda a, b: loops.sum_common(
                indptr, a, b, *self.around(a, b), self.mask, self.ball, node, total, common
            ),
            self.vertices,
        )
        on_spans(
            lambda a, b: loops.class_keys(learned, a, b, self.centre, node, sums, total, keys),
            spans(np.arange(len(learned) + 1)),
        )
        return keys, sums, common

    def around(self, low: int, high: int) -> tuple[int, int]:
        """The first vertex of the graphs that contain vertices ``low:high``, and their total
        number of vertices."""
        ptr = self.graphs.ptr
        base = int(ptr[np.searchsorted(ptr, low, "right") - 1]) if high > low else 0
        return base, int(ptr[np.searchsorted(ptr, high, "left")]) - base if high > low else 0

    def around_pairs(self, chosen: IntArray, low: int, high: int) -> tuple[int, int]:
        if high <= low:
            return 0, 0
        return self.around(int(self.centre[chosen[low]]), int(self.centre[chosen[high - 1]]) + 1)

    def learn(
        self,
        node: Narrow,
        start: Narrow,
        colour: Narrow,
        starts: _Starts,
    ) -> tuple[_Round, Narrow, Narrow]:
        """Compute a round: its table, the nodes after it, and the colour of u for every class.
        ``colour`` holds these colours for the classes of the previous round."""
        learned = self.learned
        keys, sums, common = self._class_keys(node)
        number, first = number_keys(keys)
        chosen = learned[first]
        after = start.copy()
        on_spans(
            lambda a, b: loops.new_nodes(learned, a, b, number, after),
            spans(np.arange(len(learned) + 1)),
        )
        others = self.ball[chosen]
        entries = self._entries(chosen, node, sums, common[chosen].astype(np.int64))
        tuples, at = number_keys(entries.keys)
        size = entries.ptr[-1]
        ends, second = self._tuples(entries.keys[at, 0], colour, starts)
        table = RoundTable(
            size=len(chosen),
            previous=node[chosen].astype(np.int64),
            first=ends,
            second=second,
            entry_ptr=entries.ptr,
            entry_tuple=tuples[:size],
            entry_count=entries.times,
            part=self.parts[others].astype(np.int64),
            shared=entries.shared,
            shared_ptr=entries.far_ptr,
            shared_tuple=tuples[size:],
            shared_count=entries.far_times,
        )
        lists = loops.graph_classes(
            self.graphs.ptr, self.graphs.indptr, self.mask, after, len(chosen)
        )
        return _Round(table, lists), after, self.colour[others]

    def _tuples(
        self, packed: NDArray[np.uint64], colour: Narrow, starts: _Starts
    ) -> tuple[IntArray, IntArray]:
        """Both nodes of every tuple."""
        first, second, missing = (np.empty(len(packed), np.int64) for _ in range(3))
        other = starts.other
        on_spans(
            lambda a, b: loops.split_tuples(
                packed, a, b, colour, other, starts.colours, first, second, missing
            ),
            spans(np.arange(len(packed) + 1)),
        )
        wanted = np.flatnonzero(missing >= 0)
        second[wanted] = -1 - starts.of_non_edges(missing[wanted])
        return first, second

    def _entries(
        self,
        chosen: IntArray,
        node: Narrow,
        sums: NDArray[np.uint64],
        common: IntArray,
    ) -> _Entries:
        """The tuples of the classes represented by the pairs ``chosen``; ``common``: the size of
        N[v] ∩ N[u]."""
        indptr, count = self.graphs.indptr, len(chosen)
        widest = int(np.diff(indptr).max(initial=0)) + 1
        distinct = np.zeros(count, np.int64)
        rows = (indptr, self.centre, self.ball)
        on_spans(
            lambda a, b: loops.distinct_nodes(
                chosen, a, b, indptr, self.centre, node, widest, distinct
            ),
            spans(np.arange(count + 1)),
        )
        group, far = self._shared(chosen, sums, distinct, common)
        shared = group >= 0
        room = np.where(shared, 2 * common, distinct + common)
        many = int(room.sum() + distinct[far].sum())
        _check_count(many, MOST_ENTRIES, f"{self.request}, with {many:,} tuples,")
        limits.check_memory(
            ENTRY * many,
            f"{self.request} on {len(node):,} pairs, with {many:,} tuples in {count:,} classes,",
            "Give fewer layers, use interactions='cross' or a scheme with fewer parts, or train on "
            "samples of the graph: fanout.",
        )
        pieces = spans(np.concatenate(([0], np.cumsum(room))))
        lists = on_spans(
            lambda a, b: loops.list_entries(
                chosen, a, b, *self.around_pairs(chosen, a, b), *rows, self.colour, node, shared,
                widest, int(room[a:b].sum()),
            ),
            pieces,
        )  # fmt: skip
        ptr, keys, times = _joined(lists)
        sizes = distinct[far]
        lists = on_spans(
            lambda a, b: loops.list_far(
                chosen[far], a, b, *rows, self.colour, node, widest, int(sizes[a:b].sum())
            ),
            spans(np.concatenate(([0], np.cumsum(sizes)))),
        )
        far_ptr, far_keys, far_times = _joined(lists)
        return _Entries(ptr, np.concatenate([keys, far_keys]), times, group, far_ptr, far_times)

    def _shared(
        self, chosen: IntArray, sums: NDArray[np.uint64], distinct: IntArray, common: IntArray
    ) -> tuple[IntArray, IntArray]:
        """The shared sum of every class, or -1, and the class that represents every sum. A sum is
        shared if its classes together have far fewer entries with it than without it."""
        far = np.empty((len(chosen), 2), np.uint64)
        on_spans(
            lambda a, b: loops.far_keys(
                chosen, a, b, self.centre, self.ball, self.colour, sums, far
            ),
            spans(np.arange(len(chosen) + 1)),
        )
        group, first = number_keys(far)
        apart = np.bincount(group, distinct + common, len(first))
        together = distinct[first] + 2 * np.bincount(group, common, len(first))
        good = GAIN * together < apart
        rank = np.where(good, np.cumsum(good) - 1, -1)
        return rank[group], first[good]


@dataclass(frozen=True)
class _Entries:
    """Entries of classes and of shared sums; ``keys`` concatenates the tuples of both."""

    ptr: IntArray
    keys: NDArray[np.uint64]
    times: Narrow
    shared: IntArray
    far_ptr: IntArray
    far_times: Narrow


def _joined(
    lists: list[tuple[IntArray, NDArray[Any], NDArray[Any]]],
) -> tuple[IntArray, NDArray[Any], NDArray[Any]]:
    """Concatenate the lists of all spans: bounds, keys, times."""
    lengths = np.concatenate([one[0] for one in lists])
    ptr = np.concatenate(([0], np.cumsum(lengths)))
    return ptr, np.concatenate([one[1] for one in lists]), np.concatenate([one[2] for one in lists])


def _starts_of_graphs(
    whole: _Whole, number: Narrow, rounds: list[_Round], size: int
) -> tuple[IntArray, IntArray]:
    """The start classes of every graph."""
    graphs = whole.graphs
    if len(graphs) == 1:
        return np.array([0, size]), np.arange(size)
    every = np.ones(len(number), np.bool_)
    ptr, ids, _ = loops.graph_classes(graphs.ptr, graphs.indptr, every, number, size)
    for learned_round in rounds:
        table = learned_round.table
        ptr, ids = loops.add_starts(
            ptr, ids, *learned_round.lists[:2], table.second, table.entry_ptr, table.entry_tuple,
            table.shared, (table.shared_ptr, table.shared_tuple), size,
        )  # fmt: skip
    return ptr, ids


def _start_rows(
    starts: _Starts, names: IntArray, label_names: IntArray, width: int, distances: bool
) -> IntArray:
    """Rows (part of v, kind, part of u, label of the edge, hops, label of v, label of u)."""
    out = np.zeros((len(starts.keys), 7), np.int64)
    first, second = np.divmod(starts.keys[:, 0].astype(np.int64), starts.colours)
    label, kind = np.divmod(starts.keys[:, 1].astype(np.int64), 4)
    out[:, 0], out[:, 5] = np.divmod(names[first], width)
    out[:, 2], out[:, 6] = np.divmod(names[second], width)
    out[:, 1] = kind
    known = label > 0
    out[known, 3] = label_names[label[known] - 1] + 1
    if distances:
        out[:, 4] = np.array([0, 1, 1, 2])[kind]
    return out
