"""The interactions of a set of graphs as flat tensors: shared items, and sums over them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ...nn.prepare import Prepared
from .graph_sums import check_numbers
from .tables import Link, Resident, Shared, as_tensor

__all__ = ["add_interactions"]

IntArray = NDArray[np.int64]
Narrow = NDArray[np.int32]


def add_interactions(out: Resident, prepared: Prepared) -> None:
    """Add start classes, classes and tuples of every round, and the sums over them."""
    interactions, part_of = prepared.classes, prepared.part_of_colour
    assert not interactions.shares
    lists = _Lists(out.graphs)
    start = interactions.start.copy()
    start[:, (0, 2)] = part_of[start[:, (0, 2)]]
    starts = lists.add(
        "start",
        start[:, 2],
        out.parts,
        interactions.start_ptr,
        interactions.start_id,
        np.ones_like(interactions.start_id),
    )
    order = np.argsort(starts)
    out.start = as_tensor(start[order])
    if prepared.edge_features is not None:
        assert interactions.start_entry is not None
        entry = interactions.start_entry[order]
        features = prepared.edge_features[torch.from_numpy(np.maximum(entry, 0))]
        out.start_features = features * torch.from_numpy(entry >= 0).unsqueeze(1)
    centre, other = as_tensor(interactions.pair_centre), as_tensor(interactions.pair_other)
    out.relate("near", "vertex", "vertex", centre, other, symmetric=True)
    vertex = out.kinds["vertex"]
    row = vertex.place[centre]
    by_row = torch.argsort(row, stable=True)
    degree = torch.bincount(row, minlength=vertex.rows)
    counts = torch.bincount(vertex.graph[row], minlength=out.graphs)
    table: IntArray = starts
    kinds: tuple[str, ...] = ("start",)
    for number, learned in enumerate(interactions.tables, 1):
        own = f"class {number}", f"tuple {number}"
        ids = (
            interactions.class_ptr[number - 1],
            interactions.class_id[number - 1],
            interactions.class_count[number - 1],
        )
        classes = lists.add(own[0], part_of[learned.part], out.parts, *ids)
        met = _tuples_of_graphs(learned.entry_ptr, learned.entry_tuple, learned.entry_count, *ids)
        tuples = lists.add(own[1], np.zeros(len(learned.first), np.int64), 1, *met)
        by_class, by_tuple = np.argsort(classes), np.argsort(tuples)
        once = np.ones(learned.size, np.int64)
        out.links[f"previous {number}"] = Link(
            own[0], kinds, 1, as_tensor(once), as_tensor(table[learned.previous[by_class]])
        )
        both = np.stack([learned.first, learned.second], 1)[by_tuple]
        out.links[f"met {number}"] = Link(
            own[1], kinds, 2, as_tensor(np.full(len(both), 2)), as_tensor(table[both].ravel()),
            as_tensor(np.tile([0, 1], len(both))),
        )  # fmt: skip
        lengths, entries = _entries_of(learned.entry_ptr, by_class)
        out.links[f"tuples {number}"] = Link(
            own[0], own[1:], 1, as_tensor(lengths), as_tensor(tuples[learned.entry_tuple[entries]]),
            weight=as_tensor(learned.entry_count[entries].astype(np.float32)),
        )  # fmt: skip
        table, kinds = np.concatenate([classes, starts]), (own[0], "start")
        rows = as_tensor(table[interactions.pair_class[number - 1]])[by_row]
        out.links[f"pairs {number}"] = Link("vertex", kinds, 1, degree, rows, counts=counts)
    out.shared = lists.join()


class _Lists:
    """Numbers of shared items, kind by kind, and for every graph the list of its items."""

    def __init__(self, graphs: int) -> None:
        self.graphs = graphs
        self.sizes: dict[str, tuple[int, ...]] = {}
        self.owners: list[IntArray] = []
        self.members: list[IntArray] = []
        self.times: list[IntArray] = []

    def add(
        self,
        kind: str,
        group: IntArray,
        groups: int,
        ptr: IntArray,
        things: IntArray,
        times: IntArray,
    ) -> IntArray:
        """The numbers of the items of a kind, sorted by group; graph g has ``things[ptr[g] :
        ptr[g + 1]]`` with the multiplicities ``times``."""
        before = sum(map(sum, self.sizes.values()))
        number = np.empty(len(group), np.int64)
        number[np.argsort(group, kind="stable")] = np.arange(len(group)) + before
        self.sizes[kind] = tuple(np.bincount(group, minlength=groups).tolist())
        self.owners.append(np.repeat(np.arange(self.graphs), np.diff(ptr)))
        self.members.append(number[things])
        self.times.append(times)
        return number

    def join(self) -> Shared:
        owner = np.concatenate(self.owners)
        order = np.argsort(owner, kind="stable")
        counts = np.bincount(owner, minlength=self.graphs)
        member, times = np.concatenate(self.members)[order], np.concatenate(self.times)[order]
        most = int(np.bincount(member, times).max(initial=0))
        check_numbers(most)  # batches count in int32
        return Shared(
            self.sizes,
            as_tensor(counts),
            as_tensor(np.cumsum(counts) - counts),
            as_tensor(member.astype(np.int32)),
            as_tensor(times.astype(np.int32)),
        )


def _tuples_of_graphs(
    entry_ptr: IntArray, entry_tuple: Narrow, entry_count: Narrow,
    ptr: IntArray, classes: IntArray, count: IntArray,
) -> tuple[IntArray, IntArray, IntArray]:  # fmt: skip
    """``(ptr, tuples, times)``: the tuples that the classes of every graph sum over, and their
    multiplicity over all pairs."""
    lengths, entries = _entries_of(entry_ptr, classes)
    owner = np.repeat(np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)), lengths)
    times = np.repeat(count, lengths) * entry_count[entries]
    width = int(entry_tuple.max(initial=0)) + 1
    keys, at = np.unique(owner * width + entry_tuple[entries], return_inverse=True)
    graph = keys // width
    bounds = np.searchsorted(graph, np.arange(len(ptr)))
    return bounds, keys % width, np.bincount(at, times, len(keys)).astype(np.int64)


def _entries_of(ptr: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """The lengths of the lists of some rows, and their entries, concatenated."""
    lengths = np.diff(ptr)[rows]
    ends = np.cumsum(lengths)
    return lengths, np.arange(int(lengths.sum())) + np.repeat(ptr[rows] - ends + lengths, lengths)
