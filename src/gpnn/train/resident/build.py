"""A set of graphs as flat tensors, from which batches are put together.

What belongs to one graph (vertices, edges) is a list of rows; those of a batch are the lists of its
graphs one after another, and what points into them is shifted. Start classes, classes and tuples of
the interactions are shared by graphs: a batch has each of them once, however many of its graphs
have it (:mod:`gpnn.train.resident.class_rows`), with what they sum
(:mod:`gpnn.train.resident.class_sums`).
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...data.structure_cache import cached_classes
from ...graph.graphs import Graphs
from ...nn.config import GPNNConfig
from .build_interactions import lay_interactions
from .tables import Kind, Resident, as_tensor

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
) -> Resident:
    """Lay a set of graphs out, on the CPU.

    Args:
        part: index of the part of every vertex in the model's vocabulary; ``colour``: the same
            before the vocabulary, which decides what is a cross edge.
        x: vertex features as floats, or multi-hot codes; ``y``: labels of graphs or vertices.
        components: connected components, [graphs, parts].
    """
    count, n = len(graphs), graphs.num_nodes
    parts = config.parts if config.gpnn else 1
    owner = graphs.graph_of

    def kind(graph: IntArray, group: IntArray | None) -> Kind:
        of, groups = as_tensor(graph), 1 if group is None else parts
        inside = torch.zeros_like(of) if group is None else as_tensor(group)
        key = of * groups + inside
        order = torch.argsort(key, stable=True)
        counts = torch.bincount(key, minlength=count * groups).view(count, groups)
        first = (counts.flatten().cumsum(0) - counts.flatten()).view(count, groups)
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order))
        rank = place[order] - first.flatten()[key[order]]
        return Kind(groups, counts, first, of[order], inside[order], rank, place)

    split = part if config.gpnn else None
    out = Resident(
        count,
        config.layers if config.gpnn else 0,
        parts,
        {"vertex": kind(owner, split), "graph": kind(np.arange(count), None)},
    )
    row, column = as_tensor(graphs.rows), as_tensor(graphs.indices.astype(np.int64))
    out.relate("neighbours", "vertex", "vertex", row, column, symmetric=True)
    out.relate("readout", "graph", "vertex", as_tensor(owner), torch.arange(n))
    if config.level == "node":
        out.kinds["input"] = kind(owner, None)
        each = torch.arange(n)
        out.relate("order", "input", "vertex", each, each)
    if config.base in EDGED:
        out.kinds["edge"] = kind(owner[graphs.rows], None)
        number = torch.arange(len(row))
        out.relate("gather", "edge", "vertex", number, column)
        out.relate("collect", "vertex", "edge", row, number)
        if edge_labels is not None:
            out.edge_label = _placed(out.kinds["edge"], as_tensor(edge_labels + 1))
    if config.gpnn:
        found = cached_classes(
            graphs, colour, config.interactions, config.d, config.layers,
            edge_labels if config.edge_labels else None, config.distances,
        )  # fmt: skip
        part_of = np.zeros(int(colour.max(initial=0)) + 1, np.int64)
        part_of[colour] = part
        lay_interactions(out, found, part_of)
    out.x = _placed(out.kinds["vertex"], x)
    out.y = y
    out.components = as_tensor(components)
    return out


def _placed(kind: Kind, values: Tensor) -> Tensor:
    """Attributes of items in the order of their rows."""
    moved = torch.empty_like(values)
    moved[kind.place] = values
    return moved
