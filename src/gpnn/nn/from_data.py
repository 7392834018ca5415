"""From PyG data straight to what the model reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from ..errors import InputError
from ..graph.graphs import Graphs
from ..graph.kernels.csr import edge_positions
from .prepare import Prepared, prepare

__all__ = ["prepare_data"]


def prepare_data(
    source: Data | Iterable[Data], node_level: bool = False, **options: Any
) -> Prepared:
    """PyG's ``Data``, ``Batch``, dataset or list of ``Data``, prepared for a GPNN.

    ========== ===================================================================================
    attribute  what becomes of it
    ========== ===================================================================================
    x          node features: floats as they are, integers as codes
    edge_attr  integers (one column) and one-hot rows become labels, which the class look-up takes
               in; other floats have no classes, so the direct path is taken
    y          labels of graphs, or of vertices with ``node_level``
    ========== ===================================================================================

    Args:
        options: of :func:`~gpnn.nn.prepare.prepare`: scheme, interactions, d, distances and layers;
            for graphs that come later also ``vocabulary``, that of the graphs trained on.

    >>> ready = prepare_data(dataset, scheme="core", layers=2)  # doctest: +SKIP
    >>> model = GPNN(base="gin", outputs=2, **ready.options)  # doctest: +SKIP
    """
    items = source.to_data_list() if isinstance(source, Batch) else source
    items = [items] if isinstance(items, Data) else list(items)
    for position, item in enumerate(items):
        if not isinstance(item, Data) or item.edge_index is None:
            raise InputError(f"Item {position} is no PyG Data with an edge_index.")
    edges = [item.edge_index.cpu() for item in items]
    counts = [int(one.shape[1]) for one in edges]
    joined = torch.cat(edges, dim=1).numpy() if edges else np.zeros((2, 0), np.int64)
    attributes = _column(items, "edge_attr")
    labels = None if attributes is None else _labels(attributes)
    graphs = Graphs.from_edges(
        joined[0],
        joined[1],
        np.array([int(item.num_nodes or 0) for item in items], np.int64),
        bounds=np.concatenate(([0], np.cumsum(counts, dtype=np.int64))),
        local=True,
        edge_labels=None if labels is None else labels.numpy(),
    )
    features = None
    if attributes is not None and labels is None:
        shift = np.repeat(graphs.ptr[:-1], counts)
        features = _per_entry(graphs, joined[0] + shift, joined[1] + shift, attributes)
    return prepare(
        replace(graphs, edge_labels=None),
        x=_column(items, "x"),
        edge_labels=graphs.edge_labels,
        edge_features=features,
        y=_column(items, "y"),
        node_level=node_level,
        **options,
    )


def _column(items: list[Data], name: str) -> Tensor | None:
    """An attribute of all items under each other; ``None`` where none has it."""
    values: list[Any] = [getattr(item, name, None) for item in items]
    if all(value is None for value in values):
        return None
    if any(value is None for value in values):
        missing = next(i for i, value in enumerate(values) if value is None)
        raise InputError(
            f"Item {missing} has no {name}, but others do. Give all of them one or none."
        )
    return torch.cat([value.cpu() if value.dim() else value.cpu()[None] for value in values])


def _labels(attributes: Tensor) -> Tensor | None:
    """Edge attributes as one integer label each, where they are that."""
    if attributes.dim() == 2 and attributes.shape[1] == 1 and not attributes.is_floating_point():
        attributes = attributes[:, 0]
    if attributes.dim() == 1:
        return None if attributes.is_floating_point() else attributes.long()
    ones = (attributes == 1).sum(1)
    if bool((ones == 1).all()) and bool(
        ((attributes == 0).sum(1) == attributes.shape[1] - 1).all()
    ):
        return attributes.argmax(1)
    return None


def _per_entry(graphs: Graphs, src: np.ndarray, dst: np.ndarray, attributes: Tensor) -> Tensor:
    """Float attributes at the CSR entries of their edges, both directions alike."""
    values = attributes.float().reshape(len(attributes), -1)
    out = torch.zeros(len(graphs.indices), values.shape[1])
    pairs = [
        edge_positions(graphs.indptr, graphs.indices, *ends) for ends in ((dst, src), (src, dst))
    ]
    real = torch.from_numpy(pairs[0] >= 0)
    for position in pairs:
        out[torch.from_numpy(position)[real]] = values[real]
    for position in pairs:
        wrong = (out[torch.from_numpy(position)[real]] != values[real]).any(1)
        if bool(wrong.any()):
            e = int(torch.nonzero(real)[torch.nonzero(wrong)[0, 0], 0])
            raise InputError(
                f"The two directions of edge {e} have different features. Graphs are undirected "
                "here: give both directions the same."
            )
    return out
