"""Graphs in memory as a source: the input of an estimator instead of a file.

=======================  ====================================================================
item                     data of its vertices and edges
=======================  ====================================================================
text                     a SMILES: atom columns, bonds as edge labels (needs RDKit)
PyG ``Data``             ``x``: floats are features, whole numbers are categories, column by
                         column; ``edge_attr``: a column of whole numbers and one-hot rows are
                         labels, several columns of whole numbers are joined into one, other
                         floats are features of the edges
networkx graph           the attribute ``label`` of its vertices and of its edges, if all are
                         whole numbers, or all are texts
``Graphs`` of one graph  ``node_labels`` and ``edge_labels``
matrix, edge array       nothing
=======================  ====================================================================

Vertices without data have their degree as label. All items must be of one kind; ``Graphs`` of many
graphs, or a PyG dataset, are read as the list of their graphs. A table of molecules, as a data
frame or a dictionary of columns, has its SMILES in a column of that name; its other numeric columns
can be used as descriptors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AnySet
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import is_a, to_numpy
from ..errors import InputError
from ..graph.attributes import entries_of, labels_of
from ..graph.convert import graph_per_item
from ..graph.graphs import Graphs
from ..graph.readers.smiles import smiles_column
from .raw import FEATURES, LABELS, Raw, vertex_table
from .targets import column as to_column
from .tasks import Task

__all__ = ["read_columns", "read_inputs", "read_labelled", "read_labels", "read_targets"]


def read_inputs(source: Any) -> Raw:
    """The graphs of a list, without targets."""
    if isinstance(source, Graphs):
        return _raw(source)
    columns = read_columns(source)
    at = None if columns is None else smiles_column([list(columns)])
    if columns is not None and at is not None:
        texts = ["" if value is None else str(value) for value in [*columns.values()][at]]
        rest = {name: _words(values) for name, values in columns.items()}
        numbers = {name: own for name, own in rest.items() if own.dtype.kind == "f"}
        return _molecules(texts, numbers)
    items = _items(source)
    given = sum(isinstance(item, str) for item in items)
    if given:
        if given < len(items):
            raise InputError("SMILES and other graphs are mixed. Give one kind of graph.")
        return _molecules([str(item) for item in items])
    graphs = graph_per_item(items, "X")
    data = all(is_a(item, "torch_geometric", "Data") for item in items)
    if not data:
        return _raw(graphs)
    raw = _with_edges(_raw(replace(graphs, node_labels=None, edge_labels=None)), items)
    sizes = np.diff(graphs.ptr).tolist()
    tables = [_table(*one) for one in zip(items, sizes, range(len(items)), strict=True)]
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
        raise InputError("The vertex features x hold NaN or infinity. Fix them first.")
    return replace(raw, kind=kind, nodes=nodes)


def read_columns(source: Any) -> dict[str, list[Any]] | None:
    """The columns of a data frame or dictionary, of equal length; ``None`` for other objects."""
    frame = any(is_a(source, package, "DataFrame") for package in ("pandas", "polars"))
    if not (frame or isinstance(source, Mapping)):
        return None
    names = list(source.columns) if frame else list(source)
    columns = {str(name): list(source[name]) for name in names}
    if len(set(map(len, columns.values()))) > 1 or len(columns) < len(names):
        raise InputError("The columns of a table must be named once each and equally long.")
    return columns


def read_targets(y: Any, count: int) -> dict[str, NDArray[Any]]:
    """The targets of ``count`` graphs, numbers (NaN if missing) or texts ("" if missing), from a
    table with their names, or from rows of cells."""
    columns = read_columns(y)
    if columns is None:
        rows = list(y) if hasattr(y, "__len__") and not isinstance(y, str) else []
        widths = {len(row) if hasattr(row, "__len__") else 0 for row in rows}
        if len(widths) != 1 or widths == {0} or any(isinstance(row, str) for row in rows):
            raise InputError(
                "y must be a table: a data frame, a dictionary of columns, or rows of equally many "
                "cells."
            )
        cells = zip(*rows, strict=True)
        columns = {f"target {k + 1}": list(own) for k, own in enumerate(cells)}
    if not columns:
        raise InputError("y has no column to learn.")
    targets = {name: _words(values) for name, values in columns.items()}
    if (got := len(next(iter(targets.values())))) != count:
        raise InputError(f"X holds {count:,} graphs and y {got:,} rows. Give one row per graph.")
    return targets


def _words(values: Sequence[Any]) -> NDArray[Any]:
    """Convert the cells of a table to a column of numbers or of texts."""
    gone = (value is None or bool(value != value) for value in values)
    return to_column(["" if no else str(own) for own, no in zip(values, gone, strict=True)])


def read_labelled(given: Any) -> Raw:
    """Graphs with their targets, from PyG data with ``y``, or from a pair of graphs and labels."""
    if isinstance(given, tuple) and len(given) == 2 and not is_a(given[0], "torch", "Tensor"):
        graphs, y = given
    else:
        graphs = given
        items = _items(given if hasattr(given, "__len__") else list(given))
        targets = [
            item.get("y") if is_a(item, "torch_geometric", "Data") else None for item in items
        ]
        missing = [position for position, value in enumerate(targets) if value is None]
        if missing:
            raise InputError(
                f"Item {missing[0]} of the dataset has no y. Give PyG data with y, or a pair of "
                "graphs and labels."
            )
        values = [np.atleast_1d(to_numpy(value, "y", text=True)) for value in targets]
        if len(items) == 1 and values[0].shape[:1] == (items[0].num_nodes,):
            return _nodes(items[0], values[0])
        widths = {value.size for value in values}
        if len(widths) > 1:
            raise InputError(f"y has {min(widths)} to {max(widths)} values. Give all as many.")
        y = np.stack([value.reshape(-1) for value in values])
    raw = read_inputs(graphs)
    labels = to_numpy(y, "y", text=True)
    if labels.ndim == 0 or len(labels) != len(raw.graphs):
        raise InputError(f"There are {len(raw.graphs):,} graphs and not as many labels.")
    columns = labels.reshape(len(labels), math.prod(labels.shape[1:]))
    if not columns.shape[1]:
        raise InputError("y holds no labels: its rows are empty.")
    names = ["y"] if columns.shape[1] == 1 else [f"y {k + 1}" for k in range(columns.shape[1])]
    return replace(
        raw, targets={name: _column(v) for name, v in zip(names, columns.T, strict=True)}
    )


def _nodes(data: Any, y: NDArray[Any]) -> Raw:
    """One graph with classes of its vertices; PyG's masks give the split."""
    raw = read_inputs([data])
    n = raw.graphs.num_nodes
    masks = {part: data.get(f"{key}_mask") for part, key in _MASKS.items()}
    split = None
    if all(mask is not None and to_numpy(mask).ndim == 1 for mask in masks.values()):
        split = {part: np.flatnonzero(to_numpy(mask)) for part, mask in masks.items()}
    return replace(
        raw,
        targets={"y": _column(y.reshape(-1))},
        ids=tuple(map(str, range(n))),
        rows=np.arange(n),
        split=split,
        node_level=True,
        task=Task.NODE_CLASSIFICATION,
    )


_MASKS = {"train": "train", "valid": "val", "test": "test"}


def _column(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind in "iufb" and not (
        values.dtype.kind in "iu" and np.abs(values.astype(np.float64)).max(initial=0) >= 2**53
    ):
        return values.astype(np.float64)
    return np.array([str(value) for value in values.tolist()], dtype=object)


def read_labels(y: Any, count: int) -> NDArray[Any]:
    """The labels of ``count`` graphs as an array; missing labels raise."""
    if y is None:
        raise InputError("y is missing: fit needs a label per graph.")
    labels = to_numpy(y, "y", text=True)
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
        distinct = len(set(labels.reshape(-1).tolist()))
        labels = labels.astype(str)
        if len(set(labels.reshape(-1).tolist())) < distinct:
            raise InputError("y mixes numbers and texts that read the same, such as 1 and '1'.")
    return labels


def _items(source: Any) -> list[Any]:
    unordered = isinstance(source, str | bytes | Mapping | AnySet)
    if unordered or not (hasattr(source, "__len__") and hasattr(source, "__getitem__")):
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


def _molecules(
    texts: Sequence[str], descriptors: Mapping[str, NDArray[np.float64]] | None = None
) -> Raw:
    from .table import read_molecules

    raw = read_molecules(texts, descriptors=descriptors)
    if raw.skipped:
        first = raw.skipped[0]
        raise InputError(
            f"Item {first.row} of X: {first.reason} ({len(raw.skipped):,} such items). Leave them "
            "out, with their labels."
        )
    return raw


def _with_edges(raw: Raw, items: list[Any]) -> Raw:
    """Add the ``edge_attr`` of PyG data: labels, or floats of every CSR entry."""
    given = [_attribute(item, "edge_attr", position) for position, item in enumerate(items)]
    if all(values is None or not len(values) for values in given):
        return raw
    edges = [_attribute(item, "edge_index", position) for position, item in enumerate(items)]
    ends = [np.zeros((2, 0), np.int64) if one is None else one.reshape(2, -1) for one in edges]
    counts = [one.shape[1] for one in ends]
    tables = []
    for position, (values, count) in enumerate(zip(given, counts, strict=True)):
        if values is None and count:
            raise InputError(
                f"Item {position} of X has no edge_attr, but others do. Give all of them one."
            )
        if values is not None and len(values) != count:
            raise InputError(
                f"edge_attr of item {position} of X has {len(values)} rows, and the graph has "
                f"{count} edges."
            )
        if count:
            assert values is not None
            tables.append(values.reshape(count, -1))
    widths = {table.shape[1] for table in tables}
    if len(widths) > 1 or len({table.dtype.kind == "f" for table in tables}) > 1:
        raise InputError("The edge_attr of the Data differ in width or kind. Give all the same.")
    table = np.concatenate(tables)
    shift = np.repeat(raw.graphs.ptr[:-1], counts)
    src, dst = np.concatenate([one.astype(np.int64) for one in ends], axis=1) + shift
    labels, _ = labels_of(table, "edge_attr")
    if labels is None and table.dtype.kind != "f":
        labels = _join(table)
    if labels is None:
        floats = entries_of(raw.graphs, src, dst, table.astype(np.float32))
        if not np.isfinite(floats).all():
            raise InputError("The edge_attr hold NaN or infinity. Fill or drop them first.")
        return replace(raw, edge_features=floats)
    column = entries_of(raw.graphs, src, dst, labels[:, None])[:, 0]
    return replace(raw, graphs=replace(raw.graphs, edge_labels=column))


def _join(table: NDArray[Any]) -> NDArray[np.int64]:
    """Join columns of whole numbers into one number per row."""
    bits = 62 // table.shape[1]
    if table.min(initial=0) < 0 or table.max(initial=0) >= 2**bits:
        raise InputError(
            f"edge_attr holds whole numbers outside 0 to {2**bits - 1}, too large to be joined "
            f"from {table.shape[1]} columns. Number them from 0."
        )
    out = np.zeros(len(table), np.int64)
    for column in table.T.astype(np.int64):
        out = (out << bits) | column
    return out


def _attribute(data: Any, name: str, position: int) -> NDArray[Any] | None:
    value = data.get(name)
    return None if value is None else np.atleast_1d(to_numpy(value, f"{name} of item {position}"))


def _table(data: Any, n: int, position: int) -> NDArray[Any] | None:
    """``x`` as float [n, features] or int [n, columns]."""
    table = _attribute(data, "x", position)
    if table is None:
        return None
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != n or table.shape[1] == 0:
        raise InputError(
            f"x of item {position} has shape {list(table.shape)}; {n} rows are needed."
        )
    if table.dtype.kind != "f":
        return table.astype(np.int64)
    with np.errstate(over="ignore"):
        return table.astype(np.float32)
