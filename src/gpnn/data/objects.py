"""Graphs in memory as a source: what an estimator is given instead of a file.

=======================  ====================================================================
item                     what is known of its vertices and edges
=======================  ====================================================================
text                     a SMILES: OGB's atom columns, bonds as edge labels (needs RDKit)
PyG ``Data``             ``x``: floats are features, whole numbers are categories, column by
                         column; ``edge_attr`` of whole numbers, one per edge, is a label, any
                         other is left aside
networkx graph           the attribute ``label`` of its vertices and of its edges, where all have
                         a whole number there
``Graphs`` of one graph  ``node_labels`` and ``edge_labels``
matrix, edge array       nothing
=======================  ====================================================================

Where nothing is known of the vertices, the degree is their label. All items are of one row of this
table; ``Graphs`` of many graphs, or a PyG dataset, stand for the list of their graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph.convert import as_graphs, is_a, to_numpy
from ..graph.graphs import Graphs
from .raw import FEATURES, LABELS, Raw, vertex_table

__all__ = ["read_inputs", "read_labels"]


def read_inputs(source: Any) -> Raw:
    """The graphs of a list, without targets."""
    if isinstance(source, Graphs):
        return _raw(source)
    items = _items(source)
    texts = sum(isinstance(item, str) for item in items)
    if texts:
        if texts < len(items):
            raise InputError("SMILES and other graphs are mixed. Give one kind of graph.")
        return _molecules([str(item) for item in items])
    graphs = [_one(item, position) for position, item in enumerate(items)]
    raw = _raw(Graphs.concatenate(graphs))
    if not all(is_a(item, "torch_geometric", "Data") for item in items):
        return raw
    tables = [_table(item, graph.num_nodes) for item, graph in zip(items, graphs, strict=True)]
    known = [table for table in tables if table is not None]
    if not known:
        return raw
    widths = {(table.dtype.kind == "f", table.shape[1]) for table in known}
    if len(known) < len(tables) or len(widths) > 1:
        raise InputError(
            "The x of the Data differ: some are missing, of another width, or whole numbers where "
            "others are floats. Give all graphs the same features."
        )
    nodes = np.concatenate(known)
    kind = FEATURES if nodes.dtype.kind == "f" else LABELS
    if kind == FEATURES and not np.isfinite(nodes).all():
        raise InputError("The vertex features x hold NaN or infinity. Mend them first.")
    return replace(raw, kind=kind, nodes=nodes)


def read_labels(y: Any, count: int) -> NDArray[Any]:
    """The labels of so many graphs as an array, none of them missing."""
    if y is None:
        raise InputError("y is missing: fit needs a label per graph.")
    labels = np.asarray(y)
    if labels.ndim == 0 or len(labels) != count:
        got = "no list" if labels.ndim == 0 else f"{len(labels):,} labels"
        raise InputError(f"X holds {count:,} graphs and y {got}. Give one label per graph.")
    gone = [
        place
        for place, value in enumerate(labels.reshape(count, -1).tolist())
        if any(item is None or item != item for item in value)
    ]
    if gone:
        raise InputError(
            f"y holds NaN or None ({len(gone):,} of {count:,}, the first at {gone[0]}). Leave "
            "these graphs out."
        )
    if labels.dtype.kind == "O" and len({type(item) for item in labels.reshape(-1)}) > 1:
        labels = labels.astype(str)
    return labels


def _items(source: Any) -> list[Any]:
    if isinstance(source, str) or not hasattr(source, "__len__"):
        raise InputError(f"X must be a list of graphs; got a {type(source).__name__}.")
    if is_a(source, "torch_geometric", "Data") or is_a(source, "networkx", "Graph"):
        raise InputError("X must be a list of graphs; got one graph. Give [graph].")
    if isinstance(source, np.ndarray) and source.ndim != 1:
        raise InputError(f"X must be a list of graphs; got an array of shape {source.shape}.")
    items = [source[position] for position in range(len(source))]
    if not items:
        raise InputError("X holds no graphs.")
    return items


def _raw(graphs: Graphs) -> Raw:
    if len(graphs) == 0:
        raise InputError("X holds no graphs.")
    kind, nodes = vertex_table(graphs)
    ids = tuple(map(str, range(len(graphs))))
    return Raw(graphs, kind, nodes, {}, ids, np.arange(len(graphs)))


def _molecules(texts: Sequence[str]) -> Raw:
    from .table import read_molecules

    raw = read_molecules(texts)
    if raw.skipped:
        first = raw.skipped[0]
        raise InputError(
            f"Item {first.row} of X: {first.reason} ({len(raw.skipped):,} such items). Leave them "
            "out, with their labels."
        )
    return raw


def _one(item: Any, position: int) -> Graphs:
    try:
        if is_a(item, "networkx", "Graph"):
            graph = _networkx(item)
        elif is_a(item, "torch_geometric", "Data"):
            graph = _data(item)
        else:
            graph = as_graphs(item)
    except InputError as error:
        raise InputError(f"Item {position} of X: {error}") from None
    if len(graph) != 1:
        raise InputError(f"Item {position} of X holds {len(graph)} graphs. Give one per item.")
    return graph


def _data(data: Any) -> Graphs:
    graph = as_graphs(data)
    if len(graph) != 1:
        return graph
    labels = data.get("edge_attr") if "edge_attr" in data else None
    labels = None if labels is None else to_numpy(labels)
    if labels is None or labels.dtype.kind not in "iu" or labels.size != len(labels):
        return graph
    src, dst = to_numpy(data.edge_index).astype(np.int64)
    return Graphs.from_edges(src, dst, graph.num_nodes, edge_labels=labels.reshape(-1))


def _table(data: Any, n: int) -> NDArray[Any] | None:
    """``x`` as float [n, features] or int [n, columns]."""
    x = data.get("x") if "x" in data else None
    if x is None:
        return None
    table = to_numpy(x)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != n or table.shape[1] == 0:
        raise InputError(f"The x of a Data has shape {list(table.shape)}; {n} rows are needed.")
    return table.astype(np.float32 if table.dtype.kind == "f" else np.int64)


def _networkx(graph: Any) -> Graphs:
    built = as_graphs(graph)
    names = range(built.num_nodes) if built.vertex_names is None else list(graph)
    place = {name: number for number, name in enumerate(names)}
    labels = [graph.nodes[name].get("label") for name in names]
    edges = list(graph.edges(data="label"))
    if edges and all(_whole(label) for *_, label in edges):
        ends = np.array([(place[u], place[v]) for u, v, _ in edges], np.int64)
        built = Graphs.from_edges(
            ends[:, 0].copy(),
            ends[:, 1].copy(),
            built.num_nodes,
            edge_labels=[label for *_, label in edges],
        )
    elif not edges:
        built = replace(built, edge_labels=np.zeros(0, np.int64))
    if labels and all(_whole(label) for label in labels):
        built = replace(built, node_labels=np.array(labels, np.int64))
    return built


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
