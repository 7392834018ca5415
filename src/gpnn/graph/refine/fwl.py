"""2-FWL, the folklore refinement of pairs of vertices, equivalent to 3-WL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...sizes import check_memory
from ..graphs import Graphs
from .inputs import (
    check_kept,
    check_rounds,
    colour_rows,
    edge_labels,
    hash_vertices,
    most,
    select,
)
from .result import Refinement

__all__ = ["fwl"]


def fwl(
    graphs: Graphs, colours: Any = None, rounds: int | None = None, labels: bool = False
) -> Refinement:
    """α_vu ← hash(α_vu, {{(α_vw, α_uw) : w ∈ V}}) on all ordered pairs, (v, v) included.

    α⁽⁰⁾_vu encodes whether the pair is a self pair, an edge or a non-edge, and the colours of its
    ends. Takes O(n³) time per round and O(n²) memory for a graph of n vertices.

    Args:
        graphs: one or many graphs.
        colours: vertex colours, integers [n] or rows of integers [n, w]; all equal by default.
        rounds: run exactly this number of rounds on every graph, instead of until it is stable.
        labels: whether node labels are part of the vertex colours, and edge labels of the start
            colours of edges.
    """
    from ..kernels import colour_hash
    from ..kernels import fwl as kernel

    rows = colour_rows(graphs, colours)
    limit = check_rounds(rounds)
    _, start = hash_vertices(graphs, rows, labels)
    n = int(np.diff(graphs.ptr).max(initial=0))
    check_memory(
        48 * n * n + 8 * colour_hash.table_size(n * n),
        f"2-FWL on a graph of {n:,} vertices",
        "Leave out the largest graphs, or use 1-WL.",
    )
    store, signatures, recorded, stable, digest, failed = kernel.fwl(
        graphs.ptr, graphs.indptr, graphs.indices, start, edge_labels(graphs, labels), limit, most()
    )
    check_kept(failed, "2-FWL")

    def again(chosen: Sequence[int], rounds: int) -> Refinement:
        return fwl(*select(graphs, rows, chosen), rounds, labels)

    return Refinement(graphs.ptr, recorded, stable, digest, True, store, signatures, again)
