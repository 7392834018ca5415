"""Readers of labelled datasets: TU, OGB, Planetoid, WebKB, with official splits if any."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..array_files import read_arrays
from ..arrays import whole_numbers
from ..errors import InputError
from ..graph.graphs import Graphs
from ..graph.readers.files import read_bytes, where
from ..graph.readers.ogb import read_ogb
from ..graph.readers.tu import read_tu
from ..sizes import check_memory
from . import loaders
from .datasets import find, get
from .molecules import join_bonds
from .raw import FEATURES, MOLECULE, Raw, vertex_table
from .tasks import Task

__all__ = ["plain", "read_benchmark", "read_ogb_folder", "read_tu_folder"]

IntArray = NDArray[np.int64]


def plain(graphs: Graphs) -> Raw:
    """Graphs without targets."""
    kind, nodes = vertex_table(graphs)
    names = graphs.graph_names
    ids = tuple(names) if names is not None else tuple(map(str, range(len(graphs))))
    return Raw(graphs, kind, nodes, {}, ids, np.arange(len(graphs)))


def read_benchmark(name: str, data: str | Path | None, regression: bool = False) -> Raw:
    """Read a dataset by name."""
    entry = get(name)
    if entry.own is not None:
        return entry.own()
    if not entry.markers:
        return plain(entry.read(Path()))
    marker = find(name, data)
    if entry.read is loaders.tu:
        raw = read_tu_folder(marker.parent, regression)
        if entry.name == "ZINC12k":
            raw = replace(raw, split=_in_order(10_000, 1_000, 1_000))
        return raw
    reader = _READERS.get(entry.read)
    return plain(entry.read(marker)) if reader is None else reader(marker)


def read_tu_folder(folder: Path, regression: bool = False) -> Raw:
    """Read a TU collection. Vertices have labels, else attributes, else degrees; targets are
    classes, else attributes of the graphs. If there are vertex labels, vertex attributes are
    ignored: in the molecule sets they are coordinates, which rotate with the molecule."""
    collection = read_tu(folder)
    raw = plain(collection.graphs)
    if collection.graphs.node_labels is None and collection.node_attributes is not None:
        if not np.isfinite(collection.node_attributes).all():
            raise InputError(f"The node attributes of {folder} hold NaN. Fill or drop them first.")
        raw = replace(raw, kind=FEATURES, nodes=collection.node_attributes)
    numbers = collection.graph_attributes
    if collection.y is not None and not (regression and numbers is not None):
        return replace(raw, targets={"class": collection.y.astype(np.float64)})
    if numbers is None:
        return raw
    width = numbers.shape[1]
    names = ["target"] if width == 1 else [f"target {k + 1}" for k in range(width)]
    columns = dict(zip(names, numbers.T, strict=True))
    return replace(raw, targets=columns, task=Task.REGRESSION)


def read_ogb_folder(folder: Path) -> Raw:
    """Read an OGB dataset: 9 atom columns, bonds as one label, the scaffold split if present."""
    dataset = read_ogb(folder)
    graphs = dataset.graphs
    owner = np.repeat(np.arange(len(graphs)), _bonds(dataset.raw))
    ends = dataset.edges + graphs.ptr[owner][:, None]
    if dataset.edge_features.shape[1] != 3:
        raise InputError(
            f"{folder}: bonds have {dataset.edge_features.shape[1]} columns; 3 are read: type, "
            "stereo, conjugation."
        )
    bonds = join_bonds(dataset.edge_features)
    known = dataset.labels[~np.isnan(dataset.labels)]
    names = _task_names(dataset.raw.parent / "mapping" / "mol.csv.gz", dataset.labels.shape[1])
    return Raw(
        graphs=graphs.with_edge_labels(ends[:, 0], ends[:, 1], bonds),
        kind=MOLECULE,
        nodes=dataset.node_features,
        targets=dict(zip(names, dataset.labels.T, strict=True)),
        ids=tuple(map(str, range(len(graphs)))),
        rows=np.arange(len(graphs)),
        task=Task.MULTITASK if np.isin(known, (0, 1)).all() else Task.REGRESSION,
        split=dataset.split() if (dataset.raw.parent / "split" / "scaffold").is_dir() else None,
    )


def _bonds(raw: Path) -> IntArray:
    from ..graph.readers.fields import integer_table

    path = raw / "num-edge-list.csv.gz"
    return integer_table(read_bytes(path), path, 1)[:, 0]


def _task_names(mapping: Path, count: int) -> list[str]:
    if mapping.is_file():
        header = read_bytes(mapping).split(b"\n", 1)[0].decode(errors="replace").strip().split(",")
        names = [name for name in header if name not in ("smiles", "mol_id")]
        if len(names) == count and len(set(names)) == count:
            return names
    return [f"task {k}" for k in range(count)]


def _planetoid(marker: Path) -> Raw:
    from scipy.sparse import csr_array

    file = read_arrays(marker)
    parts = (file["x_data"], file["x_indices"], file["x_indptr"])
    shape = tuple(whole_numbers(file["x_shape"], "numbers of x_shape").tolist())
    try:
        matrix = csr_array(parts, shape=shape)
        matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"{marker}: the features are damaged ({error}).") from None
    check_memory(16 * math.prod(shape), f"The features of {marker}", "Use a smaller dataset.")
    masks = {part: np.atleast_2d(file[f"geom_{key}"]) for part, key in _MASKS.items()}
    if any(mask.ndim != 2 or not mask.shape[1] for mask in masks.values()):
        raise InputError(f"{marker}: the masks must have shape [vertices, splits].")
    return _network(loaders.npz(marker), matrix.toarray(), file["y"],
                    {part: mask[:, 0] for part, mask in masks.items()})  # fmt: skip


def _webkb(marker: Path) -> Raw:
    path = marker.with_name("out1_node_feature_label.txt")
    lines = read_bytes(path).decode(errors="replace").splitlines()[1:]
    numbers, rows, classes = [], [], []
    for place, line in enumerate(lines, start=1):
        try:
            number, row, label = line.split("\t")
            numbers.append(int(number))
            rows.append([float(word) for word in row.split(",")])
            classes.append(int(label))
        except ValueError as error:
            raise InputError(f"{where(path, place)}: {error}.") from None
    if sorted(numbers) != list(range(len(lines))) or len(set(map(len, rows))) > 1:
        raise InputError(f"{path} must number its rows from 0, each with as many features.")
    order = np.argsort(numbers)
    files = sorted(marker.parent.glob("*_split_0.6_0.2_0.npz"))
    masks = None
    if files:
        file = read_arrays(files[0])
        masks = {part: file[f"{key}_mask"] for part, key in _MASKS.items()}
    return _network(loaders.webkb(marker), np.array(rows)[order], np.array(classes)[order], masks)


def _network(
    graphs: Graphs, x: NDArray[np.floating], y: IntArray, masks: dict[str, IntArray] | None
) -> Raw:
    """One graph whose vertices are classified."""
    n = graphs.num_nodes
    sizes = {"features": len(x), "classes": len(np.atleast_1d(y)), **{
        f"mask {part}": len(mask) for part, mask in (masks or {}).items()}}  # fmt: skip
    for what, rows in sizes.items():
        if rows != n:
            raise InputError(f"The graph has {n:,} vertices, and there are {rows:,} {what}.")
    split = masks and {part: np.flatnonzero(mask) for part, mask in masks.items()}
    return Raw(
        graphs,
        FEATURES,
        x,
        {"class": y.astype(np.float64)},
        tuple(map(str, range(graphs.num_nodes))),
        np.arange(graphs.num_nodes),
        split=split,
        node_level=True,
        task=Task.NODE_CLASSIFICATION,
    )


def _in_order(*sizes: int) -> dict[str, IntArray]:
    ends = np.cumsum((0, *sizes))
    return {
        part: np.arange(ends[k], ends[k + 1]) for k, part in enumerate(("train", "valid", "test"))
    }


_MASKS = {"train": "train", "valid": "val", "test": "test"}
_READERS: dict[Callable[[Path], Graphs], Callable[[Path], Raw]] = {
    loaders.ogb: lambda marker: read_ogb_folder(marker.parent),
    loaders.npz: _planetoid,
    loaders.webkb: _webkb,
}
