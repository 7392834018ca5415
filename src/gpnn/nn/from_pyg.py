"""Converts PyG data for the network, as separate graphs or as a PyG batch."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..arrays import is_a, to_numpy
from ..errors import InputError
from ..graph.attributes import entries_of, labels_of
from ..graph.convert import as_graphs
from ..graph.graphs import Graphs
from ..graph.partition import Partition, partition, unique_rows
from ..graph.schemes import get_scheme
from ..graph.structure import Structure
from ..graph.vocabulary import UnseenColours, Vocabulary
from .batch import GraphBatch
from .prepare import prepare_graphs

if TYPE_CHECKING:
    from .model import GPNN

__all__ = ["batch_of", "data_options", "read_data"]

IntArray = NDArray[np.int64]
_READ = ("x", "edge_index", "edge_attr", "y", "num_nodes", "batch", "ptr")


@dataclass(frozen=True)
class ReadData:
    """Graphs, and the arguments of :func:`~gpnn.nn.prepare.prepare_graphs` read with them."""

    graphs: Graphs
    fields: dict[str, Any]


def read_data(source: Any, node_level: bool) -> ReadData:
    """Read PyG's ``Data``, ``Batch``, dataset or list of ``Data``."""
    items = _items(source)
    graphs = as_graphs(items) if items else Graphs.concatenate([])
    edges = [_edge_index(item, position) for position, item in enumerate(items)]
    counts = np.array([one.shape[1] for one in edges], np.int64)
    sizes = np.diff(graphs.ptr)
    joined = np.concatenate(edges, axis=1) if edges else np.zeros((2, 0), np.int64)
    attributes = _column(items, "edge_attr", counts, "edges")
    fields: dict[str, Any] = {
        "x": _column(items, "x", sizes, "vertices"),
        "y": _targets(items, sizes, node_level),
        "more": _more(items),
    }
    shift = np.repeat(graphs.ptr[:-1], counts)
    src, dst = joined[0] + shift, joined[1] + shift
    if attributes is not None:
        fields |= _edge_fields(graphs, src, dst, attributes)
    plain = replace(graphs, node_labels=None, edge_labels=None)
    return ReadData(plain, fields)


def data_options(
    source: Any, structure: Structure, node_level: bool, gpnn: bool = True
) -> dict[str, Any]:
    """Arguments of a model for PyG data; see :attr:`~gpnn.nn.prepare.Prepared.options`. Without
    ``gpnn`` the parts of the data are not used."""
    items = _items(source)
    if not items:
        raise InputError("There are no graphs to make a model for. Give the training graphs.")
    if gpnn:
        _check_scheme(items[0], structure)
    read = read_data(items, node_level)
    x, features = read.fields["x"], read.fields.get("edge_features")
    labels, count = read.fields.get("edge_labels"), read.fields.get("label_count")
    floats = x is None or x.is_floating_point()
    if count is None:
        count = 0 if labels is None else int(labels.max(initial=-1)) + 1
    return {
        "structure": structure,
        "vocabulary": Vocabulary.fit(partition(read.graphs, structure.scheme)),
        "features": 0 if x is None or not floats else int(x.shape[1]),
        "codes": () if floats else tuple(int(c.max()) + 1 if len(c) else 1 for c in x.T),
        "edge_labels": count,
        "edge_features": 0 if features is None else int(features.shape[1]),
        "level": "node" if node_level else "graph",
    }


def _check_scheme(data: Any, structure: Structure) -> None:
    """Reject data that the transform ``AddPartition`` partitioned by another scheme."""
    key = getattr(data, "part_scheme", None)
    if key is not None and int(key.flatten()[0]) != get_scheme(structure.scheme).key:
        raise InputError(
            f"The data were partitioned by another scheme than {structure.scheme!r}. Give the "
            "model the scheme of AddPartition: GPNN.for_data(..., scheme=...)."
        )


def batch_of(data: Any, model: GPNN) -> GraphBatch:
    """Convert a PyG batch or a single graph for a model, with the model's structure and parts.

    Colours from the transform ``AddPartition`` are used if present, otherwise computed.
    """
    if not is_a(data, "torch_geometric", "BaseData"):
        raise InputError(
            f"A GPNN reads batches of prepared graphs, or PyG's Data and Batch; got a "
            f"{type(data).__name__}. Make batches with prepare(dataset).batches(size=32), or with "
            "PyG's DataLoader."
        )
    config, device = model.config, model.part_colours.device
    vocabulary = model.vocabulary
    if vocabulary is None and config.gpnn:
        raise InputError(
            "The model has no vocabulary of colours, so the parts of this batch cannot be "
            "matched with them. Make it with GPNN(..., **ready.options)."
        )
    with _said_once(model):
        graphs = as_graphs(data)
        fields: dict[str, Any] = {"x": None if data.x is None else _tensor(data.x, "x")}
        attributes = data.edge_attr
        if attributes is not None and (config.edge_labels or config.edge_features):
            src, dst = _edge_index(data)
            floats = bool(config.edge_features)
            fields |= _edge_fields(graphs, src, dst, _tensor(attributes, "edge_attr"), floats)
        plain = replace(graphs, node_labels=None, edge_labels=None)
        if model.training:
            warnings.simplefilter("ignore", UnseenColours)
        structure = config.structure if config.gpnn else config.structure.base_alone
        ready = prepare_graphs(
            plain,
            structure,
            vocabulary if config.gpnn else None,
            cut=_given_partition(data, plain, structure.scheme) if config.gpnn else None,
            node_level=config.level == "node",
            peer=None if config.peer is None else str(config.peer),
            peer_structure=None if config.peer is None else config.peer.build(plain, config.edged),
            **fields,
        )
    batch = ready.batch()
    kind = next(model.parameters()).dtype
    return batch.to(device, kind)


@contextmanager
def _said_once(model: GPNN) -> Iterator[None]:
    """Show every category of warning about the batches of a model once, not for every batch."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        yield
    for item in noted:
        if item.category not in model.noted:
            model.noted.add(item.category)
            warnings.warn(f"{item.message} (Said once.)", item.category, stacklevel=5)


def _given_partition(data: Any, graphs: Graphs, scheme: str) -> Partition | None:
    """The partition that the transform stored in the data, or ``None``."""
    colours, key = data.get("part_colour"), data.get("part_scheme")
    if colours is None or key is None:
        return None
    rule = get_scheme(scheme)
    if bool((key != rule.key).any()):
        raise InputError(
            f"The data were partitioned by another scheme than the model's, '{rule.name}'. Use "
            f"AddPartition('{rule.name}')."
        )
    rows = colours.detach().cpu().numpy()
    parts, part = unique_rows(rows)
    return Partition(graphs, rule, rows, parts, part.astype(np.int32))


def _items(source: Any) -> list[Any]:
    if is_a(source, "torch_geometric", "HeteroData"):
        raise InputError(
            "Graphs here have one kind of vertex and edge. Turn HeteroData into one with "
            "data.to_homogeneous()."
        )
    if is_a(source, "torch_geometric", "Batch"):
        source = source.to_data_list()
    items = [source] if is_a(source, "torch_geometric", "Data") else _listed(source)
    for position, item in enumerate(items):
        if is_a(item, "torch_geometric", "HeteroData"):
            raise InputError(
                f"Item {position} is HeteroData, and graphs here have one kind of vertex and edge. "
                "Use data.to_homogeneous()."
            )
        if not is_a(item, "torch_geometric", "Data") or item.edge_index is None:
            raise InputError(f"Item {position} is not PyG Data with an edge_index.")
    return items


def _listed(source: Any) -> list[Any]:
    if hasattr(source, "__len__") and hasattr(source, "__getitem__"):
        return [source[k] for k in range(len(source))]
    return list(source)


def _edge_index(item: Any, position: int = 0) -> IntArray:
    index = to_numpy(item.edge_index, f"edge_index of item {position}")
    if index.ndim != 2 or len(index) != 2:
        raise InputError(
            f"edge_index of item {position} must have shape [2, m]; got {list(index.shape)}."
        )
    return index.astype(np.int64, copy=False)


def _tensor(value: Any, what: str) -> Tensor:
    """Numbers of any kind as a tensor of floats or integers."""
    array = to_numpy(value, what)
    if array.dtype.kind in "ub":
        array = array.astype(np.int64)
    return torch.from_numpy(np.ascontiguousarray(array))


def _values(items: list[Any], name: str) -> list[Tensor] | None:
    """An attribute of all items; ``None`` if none has it."""
    values: list[Any] = [item.get(name) for item in items]
    if all(value is None for value in values):
        return None
    if any(value is None for value in values):
        missing = next(k for k, value in enumerate(values) if value is None)
        raise InputError(
            f"Item {missing} has no {name}, but others do. Give all of them one or none."
        )
    return [_tensor(value, f"{name} of item {k}") for k, value in enumerate(values)]


def _column(items: list[Any], name: str, lengths: IntArray, of: str) -> Tensor | None:
    """An attribute of all items, concatenated, after checking its length in every graph."""
    values = _values(items, name)
    if values is None:
        return None
    for position, (value, length) in enumerate(zip(values, lengths.tolist(), strict=True)):
        rows = len(value) if value.dim() else 1
        if rows != length:
            raise InputError(
                f"{name} of item {position} has {rows} rows, and the graph has {length} {of}."
            )
    values = [value.unsqueeze(1) if value.dim() == 1 else value for value in values]
    widths = {tuple(value.shape[1:]) for value in values}
    if len(widths) > 1:
        raise InputError(f"{name} differs in width from graph to graph: {sorted(widths)}.")
    if len({value.is_floating_point() for value in values}) > 1:
        raise InputError(f"{name} holds floats in some graphs and whole numbers in others.")
    return torch.cat(values)


def _targets(items: list[Any], sizes: IntArray, node_level: bool) -> Tensor | None:
    values = _values(items, "y")
    if values is None:
        return None
    if node_level:
        for position, (value, size) in enumerate(zip(values, sizes.tolist(), strict=True)):
            count = len(value) if value.dim() else 1
            if count != size:
                raise InputError(
                    f"y of item {position} has {count} rows, and the graph has {size} "
                    "vertices. For labels of graphs leave out node_level."
                )
        return torch.cat(values)
    rows = [value.reshape(1) if not value.dim() else value for value in values]
    for position, row in enumerate(rows):
        if len(row) != 1:
            raise InputError(
                f"y of item {position} has {len(row)} rows where a graph has one label. Use shape "
                "[1, k] for k targets, or node_level=True for labels of vertices."
            )
    widths = {tuple(row.shape[1:]) for row in rows}
    if len(widths) > 1 or len({row.is_floating_point() for row in rows}) > 1:
        raise InputError("y differs in width or kind from graph to graph. Give all the same.")
    return torch.cat(rows)


def _more(items: list[Any]) -> dict[str, list[Any]]:
    """Further attributes that every item has."""
    if not items:
        return {}
    names = sorted(set(items[0].keys()) - set(_READ))
    names = [name for name in names if all(name in item for item in items)]
    return {name: [item[name] for item in items] for name in names}


def _edge_fields(
    graphs: Graphs, src: IntArray, dst: IntArray, attributes: Tensor, floats: bool = False
) -> dict[str, Any]:
    """Attributes of given edges as labels or features of CSR entries; with ``floats`` they are
    always features."""
    values = attributes.numpy()
    labels, count = (None, None) if floats else labels_of(values, "edge_attr")
    if labels is not None:
        column = entries_of(graphs, src, dst, labels[:, None])
        return {"edge_labels": column[:, 0], "label_count": count}
    if not floats and values.dtype.kind != "f":
        raise InputError(
            f"edge_attr has {values.shape[1]} columns of whole numbers. Join them into one label "
            "per edge, or give floats."
        )
    table = values.reshape(len(values), math.prod(values.shape[1:])).astype(np.float32)
    return {"edge_features": torch.from_numpy(entries_of(graphs, src, dst, table))}
