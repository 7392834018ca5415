"""A NumPy archive with one graph and classes of its vertices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..array_files import read_arrays
from ..arrays import whole_numbers
from ..errors import InputError
from ..graph.readers.npz import read_npz
from .raw import FEATURES, Raw, vertex_table
from .tasks import Task

__all__ = ["read_node_file"]

_MASKS = {"train": "train_mask", "valid": "val_mask", "test": "test_mask"}


def read_node_file(path: Path, labelled: bool = True) -> Raw:
    """The graph of a ``.npz`` (``edge_index``, or a saved sparse matrix) with these arrays:

    ================================= =============================================================
    array                             meaning
    ================================= =============================================================
    y                                 class of every vertex, a whole number; -1 if unknown
    x                                 features, [vertices, features]; without it, degrees
    train_mask, val_mask, test_mask   the split, True or False for every vertex; all or none
    ================================= =============================================================
    """
    if path.suffix.lower() != ".npz":
        raise InputError(f"Vertices are read from a .npz with edge_index and y; got {path}.")
    graphs, file = read_npz(path), read_arrays(path)
    n = graphs.num_nodes
    for name in ("y", "x", *_MASKS.values()):
        if name in file and (file[name].ndim < 1 or len(file[name]) != n):
            raise InputError(
                f"{path}: the graph has {n:,} vertices, and {name} has shape {file[name].shape}."
            )
    if labelled and "y" not in file:
        raise InputError(f"{path} has no array y with the class of every vertex.")
    kind, nodes = vertex_table(graphs)
    if "x" in file:
        if file["x"].ndim != 2 or file["x"].dtype.kind not in "fiub":
            raise InputError(f"{path}: x must hold numbers in the shape [vertices, features].")
        kind, nodes = FEATURES, file["x"].astype(np.float32)
    split = None
    if all(name in file for name in _MASKS.values()):
        split = {part: _marked(path, name, file[name]) for part, name in _MASKS.items()}
        if np.bincount(np.concatenate([*split.values()]), minlength=1).max(initial=0) > 1:
            raise InputError(f"{path}: a vertex is in two of {', '.join(_MASKS.values())}.")
    elif any(name in file for name in _MASKS.values()):
        raise InputError(f"{path}: give all of {', '.join(_MASKS.values())}, or none.")
    targets = {}
    if "y" in file and labelled:
        y = whole_numbers(file["y"].reshape(-1), "classes in y")
        if len(y) != n:
            raise InputError(f"{path}: y must have one class per vertex.")
        targets = {"y": np.where(y < 0, np.nan, y.astype(np.float64))}
    ids = tuple(map(str, range(n)))
    raw = Raw(graphs, kind, nodes, targets, ids, np.arange(n))
    return replace(raw, split=split, node_level=True, task=Task.NODE_CLASSIFICATION)


def _marked(path: Path, name: str, mask: NDArray[Any]) -> NDArray[np.int64]:
    """The vertices of a mask."""
    if mask.ndim != 1 or mask.dtype.kind not in "biu" or not np.isin(mask, (0, 1)).all():
        raise InputError(f"{path}: {name} must be True or False for every vertex.")
    return np.flatnonzero(mask)
