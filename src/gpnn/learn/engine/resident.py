"""A set of graphs as flat tensors on the device, from which batches are put together.

What belongs to one graph (vertices, edges) is a list of rows; those of a batch are the lists of its
graphs one after another, and what points into them is shifted. Start classes, classes and tuples of
the interactions are shared by graphs: a batch has each of them once, however many of its graphs
have it (:mod:`gpnn.learn.engine.shared`), with what they sum (:mod:`gpnn.learn.engine.links`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...graph.class_tables import InteractionClasses
from ...graph.graphs import Graphs
from ...nn.config import GPNNConfig
from ..computed import cached_classes
from .entries import check_numbers
from .flat import Kind, Link, Resident, Shared

__all__ = ["reside"]

IntArray = NDArray[np.int64]
Send = Callable[[NDArray[np.generic]], Tensor]
EDGED = ("gine", "gat")
_START: tuple[str, ...] = ("start",)


def reside(
    graphs: Graphs,
    part: IntArray,
    colour: IntArray,
    config: GPNNConfig,
    x: Tensor,
    y: Tensor,
    components: IntArray,
    edge_labels: IntArray | None,
    device: torch.device,
) -> Resident:
    """Lay a set of graphs out on the device.

    Args:
        part: index of the part of every vertex in the model's vocabulary; ``colour``: the same
            before the vocabulary, which decides what is a cross edge.
        x: vertex features as floats, or multi-hot codes; ``y``: labels of graphs or vertices.
        components: connected components, [graphs, parts].
    """
    count, n = len(graphs), graphs.num_nodes
    parts = config.parts if config.gpnn else 1
    owner = graphs.graph_of

    def send(array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    def kind(graph: IntArray, group: IntArray | None) -> Kind:
        of, groups = send(graph), 1 if group is None else parts
        inside = torch.zeros_like(of) if group is None else send(group)
        key = of * groups + inside
        order = torch.argsort(key, stable=True)
        counts = torch.bincount(key, minlength=count * groups).view(count, groups)
        first = (counts.flatten().cumsum(0) - counts.flatten()).view(count, groups)
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order), device=device)
        rank = place[order] - first.flatten()[key[order]]
        return Kind(groups, counts, first, of[order], inside[order], rank, place)

    split = part if config.gpnn else None
    out = Resident(
        count,
        config.layers if config.gpnn else 0,
        parts,
        {"vertex": kind(owner, split), "graph": kind(np.arange(count), None)},
    )
    row, column = send(graphs.rows), send(graphs.indices.astype(np.int64))
    out.relate("neighbours", "vertex", "vertex", row, column, symmetric=True)
    out.relate("readout", "graph", "vertex", send(owner), torch.arange(n, device=device))
    if config.level == "node":
        out.kinds["input"] = kind(owner, None)
        each = torch.arange(n, device=device)
        out.relate("order", "input", "vertex", each, each)
    if config.base in EDGED:
        out.kinds["edge"] = kind(owner[graphs.rows], None)
        number = torch.arange(len(row), device=device)
        out.relate("gather", "edge", "vertex", number, column)
        out.relate("collect", "vertex", "edge", row, number)
        if edge_labels is not None:
            out.edge_label = _placed(out.kinds["edge"], send(edge_labels + 1))
    if config.gpnn:
        found = cached_classes(
            graphs, colour, config.interactions, config.d, config.layers,
            edge_labels if config.edge_labels else None, config.distances,
        )  # fmt: skip
        part_of = np.zeros(int(colour.max(initial=0)) + 1, np.int64)
        part_of[colour] = part
        _interact(out, found, part_of, send)
    out.x = _placed(out.kinds["vertex"], x.to(device))
    out.y = y.to(device)
    out.components = send(components)
    return out


def _interact(out: Resident, found: InteractionClasses, part_of: IntArray, send: Send) -> None:
    """Start classes, and classes and tuples of every round, and what is summed over them."""
    lists = _Lists(out.graphs)
    start = found.start.copy()
    start[:, (0, 2)] = part_of[start[:, (0, 2)]]
    starts = lists.add(
        "start", start[:, 2], out.parts, found.start_ptr, found.start_id, found.start_count
    )
    out.start = send(start[np.argsort(starts)])
    centre, other = send(found.pair_centre), send(found.pair_other)
    out.relate("near", "vertex", "vertex", centre, other, symmetric=True)
    vertex = out.kinds["vertex"]
    row = vertex.place[centre]
    order = torch.argsort(row, stable=True)
    degree = torch.bincount(row, minlength=vertex.rows)
    counts = torch.bincount(vertex.graph[row], minlength=out.graphs)
    none = torch.zeros(len(row), dtype=torch.int64, device=row.device)
    table, kinds = starts, _START
    for number, learned in enumerate(found.tables, 1):
        own = f"class {number}", f"tuple {number}"
        ids = found.class_ptr[number - 1], found.class_id[number - 1], found.class_count[number - 1]
        classes = lists.add(own[0], part_of[learned.part], out.parts, *ids)
        met = _tuples_of_graphs(learned.entry_ptr, learned.entry_tuple, learned.entry_count, *ids)
        tuples = lists.add(own[1], np.zeros(len(learned.first), np.int64), 1, *met)
        by_class, by_tuple = np.argsort(classes), np.argsort(tuples)
        once = np.ones(learned.size, np.int64)
        out.links[f"previous {number}"] = Link(
            own[0], kinds, 1, send(once), send(table[learned.previous[by_class]]), send(0 * once)
        )
        both = np.stack([learned.first, learned.second], 1)[by_tuple]
        out.links[f"met {number}"] = Link(
            own[1], kinds, 2, send(np.full(len(both), 2)), send(table[both].ravel()),
            send(np.tile([0, 1], len(both))),
        )  # fmt: skip
        lengths, entries = _sorted_lists(learned.entry_ptr, by_class)
        out.links[f"tuples {number}"] = Link(
            own[0], own[1:], 1, send(lengths), send(tuples[learned.entry_tuple[entries]]),
            send(np.zeros(len(entries), np.int64)),
            send(learned.entry_count[entries].astype(np.float32)),
        )  # fmt: skip
        table, kinds = np.concatenate([classes, starts]), (own[0], "start")
        rows = send(table[found.pair_class[number - 1]])[order]
        out.links[f"pairs {number}"] = Link("vertex", kinds, 1, degree, rows, none, counts=counts)
    out.shared = lists.join(send)


class _Lists:
    """Numbers for shared things, kind after kind, and the lists of the graphs that have them."""

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
        """The numbers of the things of a kind, sorted by group; graph g has ``things[ptr[g] :
        ptr[g + 1]]``, each as often as ``times`` says."""
        before = sum(map(sum, self.sizes.values()))
        number = np.empty(len(group), np.int64)
        number[np.argsort(group, kind="stable")] = np.arange(len(group)) + before
        self.sizes[kind] = tuple(np.bincount(group, minlength=groups).tolist())
        self.owners.append(np.repeat(np.arange(self.graphs), np.diff(ptr)))
        self.members.append(number[things])
        self.times.append(times)
        return number

    def join(self, send: Send) -> Shared:
        owner = np.concatenate(self.owners)
        order = np.argsort(owner, kind="stable")
        counts = np.bincount(owner, minlength=self.graphs)
        member, times = np.concatenate(self.members)[order], np.concatenate(self.times)[order]
        most = int(np.bincount(member, times).max(initial=0))
        check_numbers(most)  # batches count in int32
        return Shared(
            self.sizes,
            send(counts),
            send(np.cumsum(counts) - counts),
            send(member.astype(np.int32)),
            send(times.astype(np.int32)),
        )


def _tuples_of_graphs(
    entry_ptr: IntArray, entry_tuple: IntArray, entry_count: IntArray,
    ptr: IntArray, classes: IntArray, count: IntArray,
) -> tuple[IntArray, IntArray, IntArray]:  # fmt: skip
    """``(ptr, tuples, times)``: the tuples that the classes of every graph sum, and how often over
    all pairs."""
    lengths, entries = _sorted_lists(entry_ptr, classes)
    owner = np.repeat(np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)), lengths)
    times = np.repeat(count, lengths) * entry_count[entries]
    width = int(entry_tuple.max(initial=0)) + 1
    keys, at = np.unique(owner * width + entry_tuple[entries], return_inverse=True)
    graph = keys // width
    bounds = np.searchsorted(graph, np.arange(len(ptr)))
    return bounds, keys % width, np.bincount(at, times, len(keys)).astype(np.int64)


def _sorted_lists(ptr: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """The lengths of the lists of some rows, and their entries one after another."""
    lengths = np.diff(ptr)[rows]
    ends = np.cumsum(lengths)
    return lengths, np.arange(int(lengths.sum())) + np.repeat(ptr[rows] - ends + lengths, lengths)


def _placed(kind: Kind, values: Tensor) -> Tensor:
    """Attributes of items in the order of their rows."""
    moved = torch.empty_like(values)
    moved[kind.place] = values
    return moved
