"""Conversion of PyG objects, read through their attributes without importing torch or PyG.

The number of vertices is determined as in PyG: ``num_nodes``, else the length of a node-level
attribute, else the largest id plus one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import is_a, to_numpy, whole_numbers
from ..errors import InputError
from ..sizes import check_graphs, check_vertices
from .attributes import labels_of
from .convert import as_graphs, count_vertices, split_rows
from .graphs import Graphs
from .readers.files import note

__all__ = ["from_data", "from_dataset", "from_list"]

Ints = NDArray[np.int64]

_NODE_KEYS = ("x", "feat", "pos", "batch", "node_type", "n_id", "tf")


def from_data(data: Any, num_nodes: int | None = None) -> Graphs:
    """Convert a ``Data``; many graphs if it has ``ptr`` or ``batch`` (as ``Batch`` does)."""
    src, dst = _edges(data)
    sizes = _batch_sizes(data)
    _tell_unread([data])
    labels = _attribute(data, "edge_attr", len(src))
    if sizes is None:
        n = num_nodes if num_nodes is not None else _num_nodes(data)
        return _build(src, dst, n, None, _attribute(data, "x", n), labels)
    if num_nodes is not None:
        raise InputError("num_nodes is for one graph; this is a batch, which knows its own.")
    total = int(sizes.sum())
    if src.size and (min(src.min(), dst.min()) < 0 or max(src.max(), dst.max()) >= total):
        raise InputError(
            f"The batch has {total} vertices, but its edges name "
            f"{min(src.min(), dst.min())} to {max(src.max(), dst.max())}."
        )
    owner = np.repeat(np.arange(len(sizes)), sizes)[src]
    if (np.diff(owner) < 0).any():
        order = np.argsort(owner, kind="stable")
        src, dst, owner = src[order], dst[order], owner[order]
        labels = None if labels is None else labels[order]
    bounds = np.searchsorted(owner, np.arange(len(sizes) + 1))
    return _build(src, dst, sizes, bounds, _attribute(data, "x", total), labels, local=False)


def from_list(items: Sequence[Any]) -> Graphs:
    """Convert a list of ``Data``; the arrays are concatenated before graphs are built."""
    if any(_batch_sizes(item) is not None for item in items):
        return Graphs.concatenate([from_data(item) for item in items])
    _tell_unread(items)
    place = [f" of item {position}" for position in range(len(items))]
    ends = [_edges(*one) for one in zip(items, place, strict=True)]
    counts = [len(src) for src, _ in ends]
    sizes = np.array([_num_nodes(*one) for one in zip(items, place, strict=True)], np.int64)

    def joined(name: str, lengths: Sequence[int]) -> Ints | None:
        arrays = [_raw(item, name, n, at)
                  for item, n, at in zip(items, lengths, place, strict=True)]  # fmt: skip
        given = [values for values in arrays if values is not None]
        if len(given) < len(items) or len({values.shape[1:] for values in given}) > 1:
            return None
        return labels_of(np.concatenate(given), name)[0]

    return _build(
        np.concatenate([src for src, _ in ends]),
        np.concatenate([dst for _, dst in ends]),
        sizes,
        np.concatenate(([0], np.cumsum(counts))),
        joined("x", sizes.tolist()),
        joined("edge_attr", counts),
    )


def from_dataset(dataset: Any) -> Graphs:
    """Convert an ``InMemoryDataset`` or a ``Subset`` of it from its collated storage, in order.

    A dataset with a ``transform`` is read item by item, since its graphs are created on access.
    """
    base, picked = _unwrap(dataset)
    if base is None or base.transform is not None or base._data is None:
        return as_graphs([dataset[i] for i in range(len(dataset))])
    if base.slices is None:
        return Graphs.concatenate([from_data(base._data)] * len(picked))
    return _collated(base._data, base.slices, picked)


def _unwrap(dataset: Any) -> tuple[Any, Ints]:
    """The in-memory dataset below any levels of ``Subset``, and the indices of its graphs."""
    if is_a(dataset, "torch_geometric", "InMemoryDataset"):
        return dataset, np.fromiter(dataset.indices(), np.int64)
    if is_a(dataset, "torch", "Subset"):
        base, numbers = _unwrap(dataset.dataset)
        chosen = whole_numbers(dataset.indices, "numbers of the subset")
        return base, numbers[chosen] if base is not None else numbers
    return None, np.zeros(0, np.int64)


def _collated(data: Any, slices: Any, picked: Ints) -> Graphs:
    if is_a(data, "torch_geometric", "HeteroData"):
        raise _hetero()
    if "edge_index" not in slices:
        raise _no_edge_index(data)
    _tell_unread([data])
    bounds = whole_numbers(slices["edge_index"], "slices of edge_index")
    src, dst = _edges(data)
    sizes = _sizes(data, slices)
    if sizes is None:
        sizes = _largest(src, dst, bounds) + 1
    check_vertices(int(sizes.max(initial=0)), len(src))
    for name, rows in (("x", sizes), ("edge_attr", np.diff(bounds))):
        if name in slices and data.get(name) is not None:
            wrong = np.flatnonzero(_steps(slices[name]) != rows)
            if len(wrong):
                g = int(wrong[0])
                raise _wrong_length(name, f" of graph {g}", int(_steps(slices[name])[g]), rows[g])
    first, counts = bounds[picked], np.diff(bounds)[picked]
    stops = np.cumsum(counts)
    if not len(picked) or (np.diff(picked) == 1).all():
        span = slice(int(first[0]), int(first[0] + stops[-1])) if len(picked) else slice(0, 0)
        taken: Any = span
    else:
        taken = np.repeat(first - stops + counts, counts) + np.arange(int(counts.sum()))
    edge_labels = _attribute(data, "edge_attr", len(src))
    node_labels = _attribute(data, "x", int(sizes.sum()))
    if node_labels is not None:
        ends = np.cumsum(sizes[picked])
        lead = (np.cumsum(sizes) - sizes)[picked] - ends + sizes[picked]
        node_labels = node_labels[np.repeat(lead, sizes[picked]) + np.arange(int(ends[-1:].sum()))]
    return _build(
        src[taken],
        dst[taken],
        sizes[picked],
        np.concatenate(([0], stops)),
        node_labels,
        None if edge_labels is None else edge_labels[taken],
    )


def _raw(data: Any, name: str, count: int, place: str = "") -> NDArray[Any] | None:
    """An attribute with one row per vertex or edge, or None."""
    value = data.get(name)
    if value is None:
        return None
    array = to_numpy(value, f"{name}{place}")
    if array.ndim == 0 or len(array) != count:
        raise _wrong_length(name, place, len(array) if array.ndim else 1, count)
    return array


def _wrong_length(name: str, place: str, got: int, count: int) -> InputError:
    of = "edges" if name == "edge_attr" else "vertices"
    return InputError(f"{name}{place} has {got} rows, and the graph has {count} {of}.")


def _tell_unread(items: Sequence[Any]) -> None:
    weighted = sum(item.get("edge_weight") is not None for item in items)
    if weighted:
        note(
            "edge_weight is not read: parts follow from structure alone. Give weights that a "
            "network should read as edge_attr."
        )


def _attribute(data: Any, name: str, count: int) -> Ints | None:
    """An attribute as labels, or None if it is not a label."""
    array = _raw(data, name, count)
    if array is None or array.ndim > 2:
        return None
    return labels_of(array, name)[0]


def _build(
    src: NDArray[Any],
    dst: NDArray[Any],
    sizes: Any,
    bounds: Ints | None,
    node_labels: Ints | None,
    edge_labels: Ints | None,
    local: bool = True,
) -> Graphs:
    """Build the graphs, with edge labels if they agree in both directions of every edge."""
    given: dict[str, Any] = {"bounds": bounds, "local": local if bounds is not None else False}
    try:
        return Graphs.from_edges(
            src, dst, sizes, node_labels=node_labels, edge_labels=edge_labels, **given
        )
    except InputError:
        if edge_labels is None:
            raise
        built = Graphs.from_edges(src, dst, sizes, node_labels=node_labels, **given)
    note("Labels of edges are ignored: the two directions of an edge differ.")
    return built


def _sizes(data: Any, slices: Any) -> Ints | None:
    """Number of vertices of every graph in collated storage, or None if only edges are stored."""
    store = data._store
    kept = store.__dict__.get("_num_nodes")
    if kept is None and "num_nodes" in slices:
        kept = data["num_nodes"]
    if kept is not None:
        return whole_numbers(np.reshape(to_numpy(kept), -1), "numbers of vertices")
    keys = [key for key in store if key in slices and is_a(store[key], "torch", "Tensor")]
    for key in [k for k in keys if k in _NODE_KEYS] + [k for k in keys if "node" in k]:
        return _steps(slices[key])
    return None


def _steps(bounds: Any) -> Ints:
    values = whole_numbers(bounds, "bounds").astype(np.int64, copy=False)
    return values[1:] - values[:-1]


def _largest(src: NDArray[Any], dst: NDArray[Any], bounds: Ints) -> Ints:
    """The largest id in every graph, -1 for graphs without edges."""
    out = np.full(len(bounds) - 1, -1, np.int64)
    some = np.flatnonzero(np.diff(bounds))
    if len(some):
        out[some] = np.maximum.reduceat(np.maximum(src, dst), bounds[some])
    return np.maximum(out, -1)


def _edges(data: Any, place: str = "") -> tuple[NDArray[Any], NDArray[Any]]:
    if is_a(data, "torch_geometric", "HeteroData"):
        raise _hetero()
    if "edge_index" not in data or data["edge_index"] is None:
        if "adj_t" in data or "adj" in data:
            raise _no_edge_index(data)
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    array = to_numpy(data["edge_index"], f"edge_index{place}")
    if array.size and (array.ndim != 2 or len(array) != 2):
        raise InputError(f"edge_index{place} must have shape [2, m]; got {list(array.shape)}.")
    return split_rows(array.reshape(2, -1))


def _num_nodes(data: Any, place: str = "") -> int:
    """As in PyG: the stated number, else the length of a vertex attribute, else by the edges."""
    src, dst = _edges(data, place)
    n: int | None = None
    keys = list(data.keys())
    own = [k for k in keys if k in _NODE_KEYS] + [k for k in keys if "node" in k]
    for key in own:
        value: Any = None if n is not None or key == "num_nodes" else data[key]
        if hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0:
            n = len(value)
    if data.get("num_nodes") is not None:
        stated = np.reshape(to_numpy(data["num_nodes"], "num_nodes"), -1)
        n = int(whole_numbers(stated[:1], "numbers of vertices").sum()) if len(stated) else n
    if n is None and data.get("edge_index") is not None:
        n = count_vertices(src, dst)
    if n is None:
        raise InputError(
            f"The Data{place} has neither edges nor anything else that tells its number of "
            "vertices. Set data.num_nodes."
        )
    check_vertices(n, len(src))
    return max(n, 0)


def _batch_sizes(data: Any) -> Ints | None:
    """Number of vertices of every graph of a batch, or None for a single graph."""
    if "ptr" in data and data["ptr"] is not None:
        sizes = _steps(data["ptr"])
        if (sizes < 0).any() or int(whole_numbers(data["ptr"], "entries of ptr")[:1].sum()):
            raise InputError("The ptr of a batch must rise from 0.")
        check_vertices(int(sizes.sum(dtype=np.float64)), len(_edges(data)[0]))
        return sizes
    if "batch" not in data or data["batch"] is None:
        if is_a(data, "torch_geometric", "Batch"):
            raise InputError("The Batch has neither ptr nor batch. Make it with from_data_list.")
        return None
    owner = whole_numbers(data["batch"], "entries of the batch vector")
    falls = np.flatnonzero(np.diff(owner, prepend=0) < 0)
    if len(falls):
        raise InputError(
            f"The batch vector must rise from 0; entry {falls[0]} is {owner[falls[0]]}."
        )
    check_graphs(int(owner.max(initial=-1)) + 1, len(owner))
    return np.bincount(owner)


def _hetero() -> InputError:
    return InputError(
        "Graphs here have one kind of vertex and edge. Turn HeteroData into one with "
        "data.to_homogeneous()."
    )


def _no_edge_index(data: Any) -> InputError:
    matrices = [key for key in ("adj_t", "adj") if key in data]
    instead = f" but {matrices[0]}" if matrices else ""
    return InputError(
        f"The data has no edge_index{instead}. Sparse adjacency is not read: set data.edge_index, "
        "for instance before transforms.ToSparseTensor."
    )
