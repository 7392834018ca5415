"""1-WL, the classical colour refinement of vertices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graphs import Graphs
from .inputs import check_kept, check_rounds, colour_rows, edge_labels, hash_vertices, most, select
from .result import Refinement

__all__ = ["wl"]


def wl(
    graphs: Graphs, colours: Any = None, rounds: int | None = None, labels: bool = False
) -> Refinement:
    """γ_v ← hash(γ_v, {{γ_u : u ∈ N(v)}}), for every graph until its partition is stable.

    Args:
        graphs: one or many graphs.
        colours: start colours, integers [n] or rows of integers [n, w]; all equal by default.
        rounds: run exactly this number of rounds on every graph instead. Vertices of all graphs can
            then be compared at that round, and the digest compares graphs after these rounds.
        labels: whether node labels are part of the start colours, and the multiset includes the
            label of every edge.
    """
    from ..kernels import colour_hash
    from ..kernels import wl as kernel

    rows = colour_rows(graphs, colours)
    limit = check_rounds(rounds)
    _, start = hash_vertices(graphs, rows, labels)
    marks = edge_labels(graphs, labels)
    words = colour_hash.hash_rows(marks.reshape(-1, 1), np.zeros((len(marks), 2), np.uint64))
    store, signatures, recorded, stable, digest, failed = kernel.wl(
        graphs.ptr, graphs.indptr, graphs.indices, start, words, limit, most()
    )
    check_kept(failed, "1-WL")

    def again(chosen: Sequence[int], rounds: int) -> Refinement:
        return wl(*select(graphs, rows, chosen), rounds, labels)

    return Refinement(graphs.ptr, recorded, stable, digest, False, store, signatures, again)
