"""TU collections: a folder with ``NAME_A.txt``, ``NAME_graph_indicator.txt`` and their companions.

Vertices and graphs are numbered from 1 in the files. ``_A`` may list an edge several times (as in
IMDB-BINARY): duplicates are dropped and counted. Labels with several columns are numbered by
distinct rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...sizes import check_graphs
from ..graphs import Graphs
from .fields import float_table, integer_table
from .files import read_bytes, where

__all__ = ["TUData", "find_tu", "read_tu", "read_tu_graphs"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TUData:
    """A TU collection.

    Attributes:
        graphs: the graphs, with ``node_labels`` and ``edge_labels`` if the files exist.
        y: graph labels as in the file, shape [graphs].
        graph_attributes: regression targets, shape [graphs, k].
        node_attributes: shape [vertices, k].
    """

    name: str
    graphs: Graphs
    y: Ints | None = None
    graph_attributes: Floats | None = None
    node_attributes: Floats | None = None


def find_tu(folder: Path) -> Path | None:
    """The ``NAME_A.txt`` in the folder, in ``raw`` or one level below."""
    for pattern in ("*_A.txt", "raw/*_A.txt", "*/*_A.txt", "*/raw/*_A.txt"):
        paths = sorted(folder.glob(pattern))
        if len(paths) > 1:
            raise InputError(
                f"{folder} holds {len(paths)} TU collections ({paths[0].name}, …). "
                "Name the folder of one."
            )
        if paths:
            return paths[0]
    return None


def read_tu_graphs(folder: Path) -> Graphs:
    """Read the graphs of a TU folder with their labels."""
    return read_tu(folder, attributes=False).graphs


def read_tu(folder: Path, attributes: bool = True) -> TUData:
    """Read a TU folder; ``attributes=False`` skips the tables of node and graph attributes."""
    adjacency = find_tu(folder)
    if adjacency is None:
        raise InputError(f"{folder} holds no NAME_A.txt, so it is not a TU collection.")
    name = adjacency.name.removesuffix("_A.txt")

    def file(what: str) -> Path:
        return adjacency.with_name(f"{name}_{what}.txt")

    def labels(what: str, rows: int | None) -> Ints | None:
        return _codes(file(what), rows) if file(what).is_file() else None

    def table(what: str, rows: int) -> Floats | None:
        return _table(file(what), rows) if attributes and file(what).is_file() else None

    owner = _indicator(file("graph_indicator"))
    y = labels("graph_labels", None)
    count = int(owner.max(initial=-1)) + 1
    check_graphs(count, len(owner))
    if y is not None and len(y) < count:
        raise InputError(f"{file('graph_labels')} has {len(y)} labels for {count} graphs.")
    count = count if y is None else len(y)
    edges = integer_table(read_bytes(adjacency), adjacency, 2) - 1
    graphs = _build(adjacency, edges, owner, count, labels("node_labels", len(owner)),
                    labels("edge_labels", len(edges)))  # fmt: skip
    return TUData(
        name,
        graphs,
        y,
        table("graph_attributes", count),
        table("node_attributes", len(owner)),
    )


def _build(
    path: Path,
    edges: Ints,
    owner: Ints,
    count: int,
    node_labels: Ints | None,
    edge_labels: Ints | None,
) -> Graphs:
    outside = np.flatnonzero(((edges < 0) | (edges >= len(owner))).any(axis=1))
    if len(outside):
        u, v = edges[outside[0]] + 1
        raise InputError(
            f"{where(path, int(outside[0]))}: the edge {u}, {v} leaves the vertices 1 to "
            f"{len(owner)} of the graph indicator."
        )
    graph, other = owner[edges[:, 0]], owner[edges[:, 1]]
    astray = np.flatnonzero(graph != other)
    if len(astray):
        e = int(astray[0])
        raise InputError(
            f"{where(path, e)}: the edge joins graph {graph[e] + 1} and graph {other[e] + 1}."
        )
    if (np.diff(graph) < 0).any():
        order = np.argsort(graph, kind="stable")
        graph, edges = graph[order], edges[order]
        edge_labels = None if edge_labels is None else edge_labels[order]
    return Graphs.from_edges(
        edges[:, 0].copy(),
        edges[:, 1].copy(),
        np.bincount(owner, minlength=count),
        bounds=np.searchsorted(graph, np.arange(count + 1)),
        node_labels=node_labels,
        edge_labels=edge_labels,
    )


def _indicator(path: Path) -> Ints:
    owner = integer_table(read_bytes(path), path, 1)[:, 0] - 1
    falls = np.flatnonzero(np.diff(owner, prepend=0) < 0)
    if len(falls):
        raise InputError(
            f"{where(path, int(falls[0]))}: graph {owner[falls[0]] + 1} comes after a later one. "
            "The graph indicator must rise from 1."
        )
    return owner


def _codes(path: Path, rows: int | None) -> Ints:
    table = integer_table(read_bytes(path), path)
    _same_length(path, len(table), rows)
    if table.shape[1] == 1:
        return table[:, 0].copy()
    return np.unique(table, axis=0, return_inverse=True)[1].reshape(-1)


def _table(path: Path, rows: int) -> Floats:
    table = float_table(read_bytes(path), path)
    _same_length(path, len(table), rows)
    return table


def _same_length(path: Path, got: int, rows: int | None) -> None:
    if rows is not None and got != rows:
        raise InputError(f"{path} has {got} lines where {rows} are needed: it is truncated.")
