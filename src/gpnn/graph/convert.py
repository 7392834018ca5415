"""Conversion of all supported inputs to ``Graphs``.

Accepted inputs, and how they are read:

==========================================  =====================================================
``Graphs``                                  returned unchanged
PyG ``Data``, ``Batch``                     ``edge_index``; with ``ptr`` or ``batch`` many graphs
PyG ``InMemoryDataset``, its subsets        the collated storage, without an object per graph
list, tuple, any other map-style dataset    every item is a graph of the kinds in this table
networkx, also directed or multigraphs      node names become ``vertex_names`` unless 0 … n - 1
SciPy sparse matrix or array                its non-zero pattern; must be square
edge array: NumPy, torch, lists             shape [2, m]; also [m, 2] if m ≠ 2
``str``, ``Path``                           a file or folder, see ``gpnn.graph.readers``
==========================================  =====================================================

An array of shape [2, 2] is read as [2, m]: columns are edges. Dense adjacency matrices are not
recognised. Directed edges are symmetrised, self-loops and duplicates dropped, with counts in
``Graphs.normalised``; an edge array that lists every edge once is not treated as directed.

Labels are read from PyG's ``x`` and ``edge_attr`` if they are a column of integers or one-hot rows,
and from the attribute ``label`` of the vertices and edges of a networkx graph if all values are
integers or all are strings (which are hashed to numbers). ``Graphs`` contains no other features.
An :class:`InputNote` reports what is ignored (weights, other labels, directions, self-loops). Torch
and PyG are recognised without being imported; tensors of 64-bit integers are not copied.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import is_a, to_numpy, whole_numbers
from ..errors import InputError
from ..sizes import check_vertices
from .graphs import Graphs
from .readers.files import note, notes_once
from .readers.undirected import undirected

__all__ = ["as_graphs"]

Ints = NDArray[np.int64]

_KINDS = (
    "Graphs, PyG Data, Batch or dataset, a networkx graph, a SciPy sparse matrix, an edge array of "
    "shape [2, m], a path, or a list of these"
)


def as_graphs(source: Any, num_nodes: int | None = None) -> Graphs:
    """Convert any supported input to ``Graphs``.

    Args:
        source: one of the inputs in the table of :mod:`gpnn.graph.convert`.
        num_nodes: number of vertices of the single graph in an edge array, a ``Data`` or an
            edge-list file, if isolated vertices have larger ids than those of the edges.
    """
    if num_nodes is not None:
        _check_num_nodes(num_nodes)
    if isinstance(source, str | Path):
        from .readers import read_graphs

        return read_graphs(source, num_nodes=num_nodes)
    graphs = _convert(source, num_nodes)
    if graphs is not source:
        _tell(graphs)
    return graphs


def _tell(graphs: Graphs) -> None:
    """Report changes that the caller may not expect."""
    changed = graphs.normalised
    every_edge_once = changed.reversed_added == graphs.num_edges
    if changed.self_loops or (changed.reversed_added and not every_edge_once):
        note(f"The graph was made simple and undirected: {changed}.")


def _convert(source: Any, num_nodes: int | None) -> Graphs:
    if is_a(source, "torch_geometric", "BaseData"):
        from .from_pyg import from_data

        return from_data(source, num_nodes)
    if _is_edge_array(source, num_nodes):
        src, dst = _edge_array(source)
        return Graphs.from_edges(
            src, dst, count_vertices(src, dst) if num_nodes is None else num_nodes
        )
    if num_nodes is not None:
        raise InputError(
            f"num_nodes is for one edge array, Data or edge list; a {type(source).__name__} says "
            "itself how many vertices it has."
        )
    if isinstance(source, Graphs):
        return source
    if is_a(source, "networkx", "Graph"):
        return _from_networkx(source)
    if is_a(source, "scipy.sparse", "sparray") or is_a(source, "scipy.sparse", "spmatrix"):
        return _from_scipy(source)
    if is_a(source, "torch_geometric", "InMemoryDataset") or is_a(source, "torch", "Subset"):
        from .from_pyg import from_dataset

        return from_dataset(source)
    if isinstance(source, list | tuple) or is_a(source, "torch", "Dataset"):
        return _from_items([source[i] for i in range(len(source))])
    raise InputError(f"A {type(source).__name__} is not a graph here. Give {_KINDS}.")


def split_rows(array: NDArray[Any]) -> tuple[Ints, Ints]:
    """Sources and targets of an edge array, as contiguous arrays of 64-bit integers."""
    if array.ndim == 2 and array.shape[0] == 2:
        rows = array
    elif array.ndim == 2 and array.shape[1] == 2:
        rows = array.T
    elif array.size == 0 and array.ndim == 1:
        rows = array.reshape(2, 0)
    else:
        hint = ""
        if array.ndim == 2 and array.shape[0] == array.shape[1]:
            hint = " For a dense adjacency matrix pass scipy.sparse.csr_array(matrix)."
        raise InputError(
            f"An edge array has shape [2, m] (or [m, 2]); got {list(array.shape)}.{hint}"
        )
    src, dst = whole_numbers(rows[0], "edge sources"), whole_numbers(rows[1], "edge targets")
    return np.ascontiguousarray(src, np.int64), np.ascontiguousarray(dst, np.int64)


def _check_num_nodes(num_nodes: object) -> None:
    if isinstance(num_nodes, bool) or not isinstance(num_nodes, int | np.integer) or num_nodes < 0:
        raise InputError(f"num_nodes must be a whole number of at least 0, got {num_nodes!r}.")


def _is_edge_array(source: Any, num_nodes: int | None) -> bool:
    """Whether the source is an array, a tensor, or a list of two rows or of pairs of numbers."""
    if isinstance(source, np.ndarray) or is_a(source, "torch", "Tensor"):
        return True
    if not isinstance(source, list | tuple):
        return False
    if not source:
        return num_nodes is not None
    return all(_is_flat(item) for item in source)


def _is_flat(item: Any) -> bool:
    """Whether the item is a row of numbers, or a number (which gives a clear error later)."""
    if isinstance(item, np.ndarray) or is_a(item, "torch", "Tensor"):
        return bool(item.ndim <= 1)
    if isinstance(item, list | tuple):
        return all(isinstance(number, int | float | np.number | None) for number in item[:1])
    return isinstance(item, int | float | np.number)


def _edge_array(source: Any) -> tuple[Ints, Ints]:
    if isinstance(source, list | tuple):
        source = [to_numpy(row) if is_a(row, "torch", "Tensor") else row for row in source]
    return split_rows(to_numpy(source, "The edge array"))


def count_vertices(src: Ints, dst: Ints) -> int:
    """The largest id plus one; negative ids are refused later by ``from_edges``."""
    n = max(0, int(max(src.max(initial=-1), dst.max(initial=-1))) + 1)
    check_vertices(n, len(src))
    return n


@dataclass(frozen=True, slots=True)
class _Named:
    """Vertices of a networkx graph: ids, and names if these differ from the ids."""

    ids: dict[Any, int]
    names: list[str] | None

    @classmethod
    def of(cls, nodes: Sequence[Any]) -> _Named:
        if all(type(v) is int for v in nodes) and set(nodes) == set(range(len(nodes))):
            return cls({v: v for v in nodes}, None)
        return cls({v: i for i, v in enumerate(nodes)}, [str(v) for v in nodes])


def _from_networkx(graph: Any) -> Graphs:
    vertices = _Named.of(list(graph))
    ids = vertices.ids
    ends = np.fromiter((ids[end] for edge in graph.edges() for end in edge[:2]), np.int64).reshape(
        -1, 2
    )
    edge_labels = _whole([value for *_, value in graph.edges(data="label")], "edges")
    built = Graphs.from_edges(
        ends[:, 0].copy(), ends[:, 1].copy(), len(ids), vertex_names=vertices.names,
        edge_labels=edge_labels,
        node_labels=_whole([graph.nodes[v].get("label") for v in ids_in_order(ids)], "vertices"),
    )  # fmt: skip
    weights = sum(value is not None for *_, value in graph.edges(data="weight"))
    if weights:
        note(f"{weights:,} edge weights are ignored: parts follow from structure alone.")
    if graph.is_directed() and built.normalised.reversed_added == built.num_edges:
        note(f"The graph is directed: {built.normalised}.")
    return built if graph.is_directed() else undirected(built)


def ids_in_order(ids: dict[Any, int]) -> list[Any]:
    """Vertices sorted by id."""
    return sorted(ids, key=ids.__getitem__)


def _whole(labels: list[Any], of: str) -> list[int] | None:
    """Labels as numbers if all are integers or all are strings; otherwise ``None``, with a note."""
    given = [label for label in labels if label is not None]
    if given and len(given) == len(labels) and all(isinstance(v, str) for v in given):
        codes = {text: text_code(text) for text in set(given)}
        return [codes[text] for text in given]
    whole = [isinstance(v, int | np.integer) and not isinstance(v, bool) for v in given]
    if given and all(whole) and len(given) == len(labels):
        return given
    if given:
        kinds = "they are neither all whole numbers nor all texts"
        why = "not all of them have one" if len(given) < len(labels) else kinds
        note(f"Labels of {of} are ignored: {why}.")
    return None


def text_code(text: str) -> int:
    """An integer for a string label, the same for equal strings in every graph."""
    return int.from_bytes(hashlib.blake2b(text.encode(errors="replace"), digest_size=7).digest())


def _from_scipy(matrix: Any) -> Graphs:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"An adjacency matrix is square; got shape {tuple(matrix.shape)}.")
    if hasattr(matrix, "check_format"):
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise InputError(f"The sparse matrix is damaged: {error}.") from None
    entries = matrix.tocoo()
    if entries.data.dtype.kind in "fc" and np.isnan(entries.data).any():
        raise InputError("The adjacency matrix holds NaN. Remove these entries or set them to 0.")
    real = entries.data != 0
    src, dst = entries.row[real].astype(np.int64), entries.col[real].astype(np.int64)
    weights = int((entries.data[real] != 1).sum())
    if weights:
        note(f"{weights:,} edge weights are ignored: parts follow from structure alone.")
    check_vertices(int(matrix.shape[0]), len(src))
    return Graphs.from_edges(src, dst, matrix.shape[0])


def _from_items(items: Sequence[Any]) -> Graphs:
    if items and all(is_a(item, "torch_geometric", "Data") for item in items):
        from .from_pyg import from_list

        return from_list(items)
    return Graphs.concatenate(_parts(items, f"{len(items)}"))


def graph_per_item(items: Sequence[Any], of: str) -> Graphs:
    """Convert a list with exactly one graph per item; ``of`` names the list in messages."""
    parts = _parts(items, of)
    several = next((k for k, graph in enumerate(parts) if len(graph) != 1), None)
    if several is not None:
        raise InputError(
            f"Item {several} of {of} holds {len(parts[several])} graphs. Give one per item."
        )
    graphs = Graphs.concatenate(parts)
    _tell(graphs)
    return graphs


def _parts(items: Sequence[Any], of: str) -> list[Graphs]:
    parts = []
    with notes_once():
        for position, item in enumerate(items):
            try:
                parts.append(_convert(item, None))
            except InputError as error:
                raise InputError(f"Item {position} of {of}: {error}") from None
    return parts
