"""Schemes constructed to test the strongest cases of the paper's theorems."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..graph.graphs import Graphs
from ..graph.isomorphism import lambda_equivalence
from ..graph.partition import partition
from ..graph.refine import fwl
from ..graph.schemes import Scheme

__all__ = ["clique_counts", "graph_level", "three_wl_and_cliques"]

IntArray = NDArray[np.int64]


@cache
def graph_level(scheme: Scheme) -> Scheme:
    """One part per graph, numbered by its λ-equivalence class under ``scheme``.

    Equivalent to ``scheme`` in the paper's order of colourings, which compares the pairs of graphs
    that they distinguish, but without cross edges in any graph.
    """

    def colour(graphs: Graphs) -> IntArray:
        digest = lambda_equivalence(partition(graphs, scheme)).digest.view(np.int64)
        return digest[graphs.graph_of]

    return Scheme(
        f"class-of-{scheme.name}",
        colour,
        f"the λ-equivalence class of the whole graph under {scheme.name}",
        scheme.cost,
        scheme.power,
        2,
    )


@cache
def three_wl_and_cliques() -> Scheme:
    """The 3-WL class of the graph, the 3-WL colour of the vertex, and its number of K4.

    At least as strong as 3-WL, since the class alone is; not complete, since strongly regular
    graphs with equal parameters can have equal K4 counts.
    """

    def colour(graphs: Graphs) -> IntArray:
        refinement = fwl(graphs)
        vertex = [refinement.colours(g) for g in range(len(graphs))]
        columns = [
            refinement.digest[graphs.graph_of].view(np.int64),
            np.concatenate([np.zeros((0, 2), np.uint64), *vertex]).view(np.int64),
            clique_counts(graphs)[:, None],
        ]
        return np.concatenate(columns, axis=1)

    return Scheme(
        "3-wl+k4",
        colour,
        "the 3-WL class of the graph, the 3-WL colour of the vertex, the number of K4 at it",
        "O(|V|³) per round of 3-WL",
        "at least 3-WL, not complete",
        5,
    )


def clique_counts(graphs: Graphs) -> IntArray:
    """The number of K4 that contain every vertex: triangles among its neighbours."""
    counts = []
    for graph in graphs:
        adjacency = graph.to_scipy().toarray().astype(np.int64)
        for v in range(graph.num_nodes):
            near = np.flatnonzero(adjacency[v])
            inside = adjacency[np.ix_(near, near)]
            counts.append(int(np.trace(inside @ inside @ inside)) // 6)
    return np.array(counts, np.int64)
