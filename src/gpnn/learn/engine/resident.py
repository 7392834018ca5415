"""A set of graphs as flat tensors on the device, from which batches are put together.

Everything a network reads of a batch is a list of rows (vertices, edges, start classes, classes and
tuples of every round, graphs) or a list of entries (sums over such rows). Classes are numbered
within their graph here, so every list is the concatenation of the lists of the graphs, and a batch
is put together by adding offsets (:mod:`gpnn.learn.engine.assemble`). Embedding a class once per
graph instead of once per batch gives the same numbers: weights count the pairs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...graph.graphs import Graphs
from ...nn.config import GPNNConfig
from .flat import Kind, Resident, Space
from .numbering import classes_by_graph

__all__ = ["reside"]

IntArray = NDArray[np.int64]
EDGED = ("gine", "gat")


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

    def kind(
        graph: IntArray, group: IntArray | None, weight: NDArray[np.generic] | None = None
    ) -> Kind:
        of, groups = send(graph), 1 if group is None else parts
        inside = torch.zeros_like(of) if group is None else send(group)
        key = of * groups + inside
        order = torch.argsort(key, stable=True)
        counts = torch.bincount(key, minlength=count * groups).view(count, groups)
        first = (counts.flatten().cumsum(0) - counts.flatten()).view(count, groups)
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order), device=device)
        rank = place[order] - first.flatten()[key[order]]
        stands = torch.ones(len(order), device=device) if weight is None else send(weight)
        return Kind(
            groups, counts, first, of[order], inside[order], rank, place, stands[order].float()
        )

    split = part if config.gpnn else None
    out = Resident(
        count,
        config.layers if config.gpnn else 0,
        parts,
        {"vertex": kind(owner, split), "graph": kind(np.arange(count), None)},
    )
    vertex, whole = Space(("vertex",)), Space(("graph",))
    row, column = send(graphs.rows), send(graphs.indices.astype(np.int64))
    out.relate("neighbours", vertex, vertex, row, column)
    out.relate("readout", whole, vertex, send(owner), torch.arange(n, device=device))
    if config.level == "node":
        out.kinds["input"] = kind(owner, None)
        each = torch.arange(n, device=device)
        out.relate("order", Space(("input",)), vertex, each, each)
    if config.base in EDGED:
        out.kinds["edge"] = kind(owner[graphs.rows], None)
        number = torch.arange(len(row), device=device)
        out.relate("gather", Space(("edge",)), vertex, number, column)
        out.relate("collect", vertex, Space(("edge",)), row, number)
        if edge_labels is not None:
            out.edge_label = _placed(out.kinds["edge"], send(edge_labels + 1))
    if config.gpnn:
        _interact(out, graphs, part, colour, config, edge_labels, kind, send)
    out.x = _placed(out.kinds["vertex"], x.to(device))
    out.y = y.to(device)
    out.components = send(components)
    return out


def _interact(
    out: Resident,
    graphs: Graphs,
    part: IntArray,
    colour: IntArray,
    config: GPNNConfig,
    edge_labels: IntArray | None,
    kind: Callable[..., Kind],
    send: Callable[[NDArray[np.generic]], Tensor],
) -> None:
    """Start classes, and classes and tuples of every round, numbered within their graph."""
    colours = int(colour.max(initial=0)) + 1
    part_of = np.zeros(colours, np.int64)
    part_of[colour] = part
    found = classes_by_graph(
        graphs,
        colour + colours * graphs.graph_of,  # no class is shared by two graphs
        edge_labels if config.edge_labels else None,
        interactions=config.interactions,
        d=config.d,
        rounds=config.layers,
        distances=config.distances,
    )
    vertex = Space(("vertex",))
    centre = send(found.pair_centre)
    out.relate("near", vertex, vertex, centre, send(found.pair_other))
    start = found.start.copy()
    graph = start[:, 0] // colours
    start[:, (0, 2)] = part_of[start[:, (0, 2)] % colours]
    out.kinds["start"] = kind(graph, start[:, 2])
    out.start = _placed(out.kinds["start"], send(start))
    table, table_graph = Space(("start",)), graph
    for number, (learned, rows) in enumerate(zip(found.tables, found.pair_class, strict=True), 1):
        weight = found.weight[number - 1]
        of_class = np.repeat(np.arange(learned.size), np.diff(learned.entry_ptr))
        reads = weight[of_class] * learned.entry_count
        met = np.bincount(learned.entry_tuple, reads, len(learned.first))
        owner = learned.part // colours
        classes, tuples = f"class {number}", f"tuple {number}"
        out.kinds[classes] = kind(owner, part_of[learned.part % colours], weight)
        out.kinds[tuples] = kind(table_graph[learned.first], None, met)
        own, pairs = Space((classes,)), Space((tuples,))
        each = np.arange(len(learned.first))
        out.relate(
            f"previous {number}", own, table, send(np.arange(learned.size)), send(learned.previous)
        )
        out.relate(
            f"met {number}",
            pairs,
            Space(table.kinds, 2),
            send(np.concatenate([each, each])),
            send(np.concatenate([2 * learned.first, 2 * learned.second + 1])),
        )
        out.relate(
            f"tuples {number}",
            own,
            pairs,
            send(of_class),
            send(learned.entry_tuple),
            send(learned.entry_count.astype(np.float32)),
        )
        table, table_graph = Space((classes, "start")), np.concatenate([owner, graph])
        out.relate(f"pairs {number}", vertex, table, centre, send(rows))


def _placed(kind: Kind, values: Tensor) -> Tensor:
    """Attributes of items in the order of their rows."""
    moved = torch.empty_like(values)
    moved[kind.place] = values
    return moved
