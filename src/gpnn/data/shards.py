"""Shards of a table of molecules: each is a folder of ``.npy`` files with checksums.

In a shard, molecules are parsed, encoded and partitioned, and the classes of their pairs are
numbered. Shards are independent of each other.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..files import write_text
from ..graph.classes import interaction_classes
from ..graph.partition import partition
from ..graph.readers.files import InputNote
from ..graph.structure import Structure
from ..options import Whole
from ..schema import Anything, ListOf, Table, read_json
from .molecules import FULL, select_columns
from .npy_files import check_npy, map_npy, write_npy
from .pieces import Piece
from .prepared_manifest import AGAIN, TABLE
from .scaffolds import canonical
from .table import TableChoice, read_piece

__all__ = ["Shard", "ShardMaker", "ShardTask", "is_whole", "open_shard"]

SHARD = "shard.json"

_SHARD = Table({"files": Table(more=Anything()), "skipped": ListOf(Anything()), "rows": Whole(0)})


@dataclass(frozen=True)
class ShardTask:
    """A shard to write: its number, its rows, and the reasons why some rows are left out."""

    number: int
    piece: Piece
    reasons: Mapping[int, str]


class ShardMaker:
    """Writes the shards of a table."""

    def __init__(
        self, folder: Path, path: Path, names: list[str], smiles: str, structure: Structure
    ) -> None:
        self.folder, self.path, self.names, self.smiles = folder, path, names, smiles
        self.structure = structure

    def __call__(self, task: ShardTask) -> int:
        """Write a shard. Returns its number of input rows."""
        raw = read_piece(self.path, self.names, task.piece, self.smiles, (), TableChoice())
        place = {row: g for g, row in enumerate(raw.rows.tolist())}
        raw = raw.without({place[row]: why for row, why in task.reasons.items() if row in place})
        nodes, graphs = select_columns(raw.nodes, raw.graphs, len(FULL))
        cut = partition(graphs, self.structure.scheme)
        words = nodes[:, 0] if self.structure.labels else None
        classes = interaction_classes(
            graphs, cut.part, self.structure, graphs.edge_labels, vertex_labels=words
        )
        begin = np.searchsorted(classes.pair_centre, np.arange(graphs.num_nodes + 1))
        texts = [text.encode("utf-8", "backslashreplace") for text in raw.ids]
        arrays: dict[str, NDArray[Any]] = {
            "rows": raw.rows,
            "ids": np.frombuffer(b"".join(texts), np.uint8),
            "ids_ptr": _ends([len(text) for text in texts]),
            "groups": np.array([_hash(text) for text in canonical(raw.ids)], np.int64),
            "ptr": graphs.ptr,
            "indptr": graphs.indptr,
            "indices": graphs.indices,
            "nodes": nodes,
            "bonds": _labels_of(graphs.edge_labels),
            "parts": cut.parts,
            "part": cut.part,
            "components": cut.components(),
            "pair_first": begin,
            "pair_other": classes.pair_other,
            "start": classes.start,
            "start_ptr": classes.start_ptr,
            "start_id": classes.start_id,
        }
        for r, table in enumerate(classes.tables):
            arrays |= {
                f"pair_class.{r}": classes.pair_class[r],
                f"class_ptr.{r}": classes.class_ptr[r],
                f"class_id.{r}": classes.class_id[r],
                f"class_count.{r}": classes.class_count[r],
            }
            arrays |= {f"{name}.{r}": getattr(table, name) for name in TABLE}
        inside = self.folder / str(task.number)
        files = {
            f"{name}.npy": write_npy(inside / f"{name}.npy", array.shape, array.dtype, [array])
            for name, array in ((name, _narrow(array)) for name, array in arrays.items())
        }
        skipped = [[one.row, one.id, one.reason] for one in raw.skipped]
        about = {"files": files, "skipped": skipped, "rows": len(task.piece)}
        write_text(inside / SHARD, json.dumps(about))
        return len(task.piece)


def _labels_of(bonds: NDArray[np.int64] | None) -> NDArray[np.int64]:
    return np.zeros(0, np.int64) if bonds is None else bonds


def _hash(text: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True
    )


def _ends(lengths: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Integers in the smallest type that holds them."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    return array.astype(
        np.result_type(np.min_scalar_type(array.min()), np.min_scalar_type(array.max()))
    )


@dataclass(frozen=True)
class Shard:
    """A shard on disk."""

    folder: Path
    about: Mapping[str, Any]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return map_npy(self.folder / f"{name}.npy")

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Number of rows of every array."""
        return {name.removesuffix(".npy"): map_npy(self.folder / name).shape[0]
                for name in self.about["files"]}  # fmt: skip


def open_shard(folder: Path) -> Shard:
    """A shard that is written."""
    return Shard(folder, read_json(folder / SHARD, _SHARD, AGAIN))


def is_whole(folder: Path) -> bool:
    """Whether a shard exists and is intact; a damaged shard is written again."""
    if not (folder / SHARD).is_file():
        return False
    try:
        check_npy(folder, open_shard(folder).about["files"], "")
    except InputError as error:
        warnings.warn(f"{error}It is prepared again.", InputNote, stacklevel=3)
        return False
    return True
