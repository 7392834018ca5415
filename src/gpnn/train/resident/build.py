"""A set of graphs as flat tensors, from which batches are assembled.

Items of one graph (vertices, edges) are stored as a list of rows. A batch concatenates the lists of
its graphs and shifts the indices into them. Start classes, classes and tuples of the interactions
are shared by graphs: a batch has each of them once, however many of its graphs have it
(:mod:`gpnn.train.resident.class_rows`), together with the sums over them
(:mod:`gpnn.train.resident.class_sums`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...nn.bases import EDGED
from ...nn.collate_cells import CellIndex
from ...nn.config import GPNNConfig
from ...nn.encode import multi_hot
from ...nn.prepare import Prepared
from .build_interactions import add_interactions
from .tables import Kind, Resident, as_tensor, cell_kind

__all__ = ["build_resident"]

IntArray = NDArray[np.int64]


def build_resident(prepared: Prepared, config: GPNNConfig) -> Resident:
    """Build the flat tensors of a set of graphs, on the CPU."""
    graphs = prepared.graphs
    count, n = len(graphs), graphs.num_nodes
    parts = prepared.parts if config.gpnn else 1
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

    split = prepared.part if config.gpnn else None
    out = Resident(
        count,
        config.structure.layers if config.gpnn else 0,
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
        out.edge_label = _placed(out.kinds["edge"], as_tensor(prepared.edge_label))
        if prepared.edge_features is not None:
            out.edge_features = _placed(out.kinds["edge"], prepared.edge_features)
    if config.gpnn:
        add_interactions(out, prepared)
        out.pairwise = config.combine == "pairwise"
    if prepared.cells is not None:
        _add_cells(out, prepared, prepared.cells, kind)
    x = multi_hot(prepared.x, config.codes) if config.codes else prepared.x
    out.x = _placed(out.kinds["vertex"], x)
    if prepared.walks is not None:
        out.walks = _placed(out.kinds["vertex"], prepared.walks)
    assert prepared.labels is not None
    out.y = prepared.labels
    out.components = as_tensor(prepared.components)
    out.descriptors = prepared.descriptors
    return out


def _add_cells(
    out: Resident, prepared: Prepared, cells: CellIndex, kind: Callable[..., Kind]
) -> None:
    """Add the input of a peer: kinds of rows with their attributes, and sums between them."""
    for name, one in cells.structure.cells.items():
        own = out.kinds[cell_kind(name)] = kind(one.graph, None)
        attributes = {code: as_tensor(values) for code, values in one.codes.items()}
        if one.entry is not None:
            entry, there = np.maximum(one.entry, 0), one.entry >= 0
            attributes["label"] = as_tensor(np.where(there, prepared.edge_label[entry], 0))
            if prepared.edge_features is not None:
                chosen = prepared.edge_features[as_tensor(entry)]
                attributes["features"] = chosen * as_tensor(there).unsqueeze(1)
        out.cells[name] = {key: _placed(own, values) for key, values in attributes.items()}
    for name, link in cells.structure.relations.items():
        weight = None if link.weight is None else as_tensor(link.weight)
        row, column = as_tensor(link.row), as_tensor(link.column)
        key = f"peer {name}"
        ends = (cell_kind(link.rows), cell_kind(link.into))
        out.relate(key, *ends, row, column, link.symmetric, weight)
        out.relations[name] = key if link.symmetric else f"{key} back"


def _placed(kind: Kind, values: Tensor) -> Tensor:
    """Attributes of items in the order of their rows."""
    moved = torch.empty_like(values)
    moved[kind.place] = values
    return moved
