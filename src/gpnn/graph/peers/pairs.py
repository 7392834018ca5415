"""PPGN: all pairs of vertices of a graph, placed in square grids of a few sizes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import LimitError
from ..graphs import Graphs
from .structure import Cells, PeerStructure, Relation

__all__ = ["EDGE", "GRIDS", "NO_EDGE", "SAME", "all_pairs"]

IntArray = NDArray[np.int64]

NO_EDGE, SAME, EDGE = 0, 1, 2
GRIDS = tuple(sorted({round(4 * 2 ** (step / 2)) for step in range(19)}))
"""Side lengths of the grids, 4 to 2,048: at most √2 times the number of vertices, from 4 on."""
MOST_PAIRS = 100_000_000


def all_pairs(graphs: Graphs) -> PeerStructure:
    """Cells ``pair`` with the code ``kind`` (no edge, the same vertex, an edge), and cells ``grid
    N``: the positions of an N × N grid for every graph whose smallest grid has side N.

    Relations: ``diagonal`` (the vertex of a pair (v, v)), ``on`` and ``off`` (the pairs of a graph
    on and off the diagonal), ``grid N`` (the pair at every position, if any).
    """
    sizes = np.diff(graphs.ptr)
    total, largest = int((sizes**2).sum()), int(sizes.max(initial=0))
    if total > MOST_PAIRS or largest > GRIDS[-1]:
        raise LimitError(
            f"PPGN keeps all pairs of vertices: {total:,} here, and {largest:,} vertices in the "
            f"largest graph. It takes at most {MOST_PAIRS:,} pairs and {GRIDS[-1]:,} vertices. Use "
            "fewer or smaller graphs, or another model, such as --model gin-ak."
        )
    graph = np.arange(len(sizes)).repeat(sizes**2)
    first = np.cumsum(sizes**2) - sizes**2
    place, side = np.arange(total) - first[graph], sizes[graph]
    left, right = np.divmod(place, np.maximum(side, 1))
    kind, entry = np.full(total, NO_EDGE), np.full(total, -1)
    kind[left == right] = SAME
    rows, columns = graphs.rows.astype(np.int64), graphs.indices.astype(np.int64)
    own = graphs.graph_of[rows]
    at = first[own] + (rows - graphs.ptr[own]) * sizes[own] + columns - graphs.ptr[own]
    kind[at], entry[at] = EDGE, np.arange(len(rows))
    out = PeerStructure()
    out.cells["pair"] = Cells(graph, entry, {"kind": kind})
    same = np.flatnonzero(left == right)
    out.relations["diagonal"] = Relation("pair", "vertex", same, np.arange(len(same)))
    out.relations["on"] = Relation("graph", "pair", graph[same], same)
    other = np.flatnonzero(left != right)
    out.relations["off"] = Relation("graph", "pair", graph[other], other)
    fitting = np.asarray(GRIDS)[np.searchsorted(GRIDS, sizes)]
    for grid in np.unique(fitting):
        chosen = np.flatnonzero(fitting == grid)
        rank = np.full(len(sizes), -1)
        rank[chosen] = np.arange(len(chosen))
        inside = np.flatnonzero(rank[graph] >= 0)
        row = (rank[graph[inside]] * grid + left[inside]) * grid + right[inside]
        out.cells[f"grid {grid}"] = Cells(chosen.repeat(grid**2))
        out.relations[f"grid {grid}"] = Relation(f"grid {grid}", "pair", row, inside)
    return out
