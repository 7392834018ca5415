"""ESAN and GIN-AK+: bags of subgraphs, with a copy of every vertex in each subgraph."""

from __future__ import annotations

import numpy as np

from ...errors import LimitError
from ..graphs import Graphs
from .structure import Cells, PeerStructure, Relation

__all__ = ["POLICIES", "bags"]

POLICIES = ("node", "edge", "ego", "ego+")
"""One subgraph per deleted vertex, per deleted edge, or per ego network of a vertex; ``+`` marks
the root of the ego network."""

MOST_MESSAGES = 400_000_000


def bags(graphs: Graphs, policy: str, hops: int, edged: bool) -> PeerStructure:
    """Cells ``subgraph`` and ``copy``; a copy has the code ``hops``, its distance to the root.

    Relations: ``copied`` (the vertex of a copy), ``adjacent`` (neighbouring copies in a subgraph),
    ``bag`` (the copies in a subgraph), ``pool`` (the subgraphs of a graph); for ego networks,
    ``ego`` (all copies in the network of a vertex) and ``root`` (the copy of the vertex itself);
    ``original`` connects neighbouring vertices.
    """
    from ..kernels import bags as loops

    codes = {"node": loops.NODE_DELETED, "edge": loops.EDGE_DELETED}
    kind, sizes = codes.get(policy, loops.EGO), np.zeros(3, np.int64)
    arrays = (graphs.ptr, graphs.indptr, graphs.indices, kind, hops)
    loops.bag_of_subgraphs(*arrays, False, sizes)
    if sizes[2] > MOST_MESSAGES:
        raise LimitError(
            f"There are {sizes[0]:,} subgraphs (policy {policy!r}) with {sizes[1]:,} vertices and "
            f"{sizes[2]:,} messages, more than {MOST_MESSAGES:,}. Use ego networks of fewer hops, "
            "such as --model esan:policy=ego,hops=1 or gin-ak:hops=1, or a set of smaller graphs."
        )
    graph, root, subgraph, vertex, far, row, column, entry = loops.bag_of_subgraphs(
        *arrays, True, sizes
    )
    out = PeerStructure()
    out.cells["subgraph"] = Cells(graph)
    out.cells["copy"] = Cells(graph[subgraph], None, {"hops": far})
    number = np.arange(len(vertex))
    out.relations["copied"] = Relation("copy", "vertex", number, vertex)
    out.relations["bag"] = Relation("subgraph", "copy", subgraph, number)
    out.relations["pool"] = Relation("graph", "subgraph", graph, np.arange(len(graph)))
    if kind == loops.EGO:
        out.relations["ego"] = Relation("vertex", "copy", root[subgraph], number)
        own = np.flatnonzero(far == 0)
        out.relations["root"] = Relation("vertex", "copy", vertex[own], own)
    out.connect(graphs, "copy", row, column, entry, edged, "adjacent")
    rows, columns = graphs.rows.astype(np.int64), graphs.indices.astype(np.int64)
    out.connect(graphs, "vertex", rows, columns, np.arange(len(rows)), edged, "original")
    return out
