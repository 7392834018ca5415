"""OGB's raw layout for graph property prediction: csv.gz tables in ``raw``, splits in ``split``.

``raw/edge.csv.gz`` lists every bond once, with ids that start at 0 in every graph. Structure is
read immediately; features, labels and splits are read on access.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...sizes import check_vertices
from ..graphs import Graphs
from .fields import float_table, integer_table
from .files import read_bytes
from .undirected import undirected

__all__ = ["OGBData", "find_ogb", "read_ogb", "read_ogb_graphs"]

Ints = NDArray[np.int64]


def find_ogb(folder: Path) -> Path | None:
    """The ``raw`` folder of an OGB dataset in the folder or one level below it."""
    for pattern in ("edge.csv.gz", "raw/edge.csv.gz", "*/raw/edge.csv.gz"):
        paths = sorted(folder.glob(pattern))
        if len(paths) > 1:
            raise InputError(f"{folder} holds {len(paths)} OGB datasets. Name the folder of one.")
        if paths:
            return paths[0].parent
    return None


@dataclass(frozen=True, eq=False)
class OGBData:
    """An OGB dataset; everything except the graphs is read on first use."""

    raw: Path
    graphs: Graphs
    edges: Ints
    """The bonds in file order, with ids local to their graph: shape [bonds, 2]."""

    @cached_property
    def node_features(self) -> Ints:
        """Shape [vertices, columns]; column 0 is the atomic number minus one."""
        return _rows(self.raw / "node-feat.csv.gz", self.graphs.num_nodes)

    @cached_property
    def edge_features(self) -> Ints:
        """Shape [bonds, columns], in the order of ``edges``."""
        return _rows(self.raw / "edge-feat.csv.gz", len(self.edges))

    @cached_property
    def labels(self) -> NDArray[np.float64]:
        """Shape [graphs, tasks]; missing labels are NaN."""
        path = self.raw / "graph-label.csv.gz"
        table = float_table(read_bytes(path), path)
        _same_length(path, len(table), len(self.graphs))
        return table

    def split(self, name: str = "scaffold") -> dict[str, Ints]:
        """Indices of the graphs in ``train``, ``valid`` and ``test``."""
        folder = self.raw.parent / "split" / name
        if not folder.is_dir():
            raise InputError(f"There is no split {name!r}: the folder {folder} is missing.")
        return {part: _column(folder / f"{part}.csv.gz") for part in ("train", "valid", "test")}


def read_ogb_graphs(folder: Path) -> Graphs:
    """Read only the graphs of an OGB folder."""
    return read_ogb(folder).graphs


def read_ogb(folder: Path) -> OGBData:
    """Read an OGB folder."""
    raw = find_ogb(folder)
    if raw is None:
        raise InputError(f"{folder} holds no raw/edge.csv.gz, so it is not an OGB dataset.")
    sizes = _column(raw / "num-node-list.csv.gz")
    counts = _column(raw / "num-edge-list.csv.gz")
    edges = _rows(raw / "edge.csv.gz", int(counts.sum(dtype=np.float64)), 2)
    if len(sizes) != len(counts):
        raise InputError(f"{raw}: {len(sizes)} numbers of vertices, {len(counts)} of edges.")
    try:
        check_vertices(int(sizes.sum(dtype=np.float64)), len(edges))
        graphs = Graphs.from_edges(
            edges[:, 0].copy(),
            edges[:, 1].copy(),
            sizes,
            bounds=np.concatenate(([0], np.cumsum(counts))),
            local=True,
        )
    except InputError as error:
        raise InputError(f"{raw / 'edge.csv.gz'}: {error}") from None
    return OGBData(raw, undirected(graphs), edges)


def _column(path: Path) -> Ints:
    return integer_table(read_bytes(path), path, 1)[:, 0].copy()


def _rows(path: Path, rows: int, columns: int | None = None) -> Ints:
    table = integer_table(read_bytes(path), path, columns)
    _same_length(path, len(table), rows)
    return table


def _same_length(path: Path, got: int, rows: int) -> None:
    if got != rows:
        raise InputError(f"{path} has {got} lines where {rows} are needed: it is truncated.")
