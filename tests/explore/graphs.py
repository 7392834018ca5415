"""Graphs as requests carry them."""

from __future__ import annotations

from typing import Any

import networkx as nx

from gpnn.graph.graphs import Graphs

RING = {"n": 6, "edges": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5]]}
TRIANGLES = {"n": 6, "edges": [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5]]}
LOLLIPOP = {"n": 4, "edges": [[0, 1], [1, 2], [0, 2], [2, 3]]}


def wire(graph: nx.Graph | Graphs) -> dict[str, Any]:
    """``{"n", "edges"}`` of a graph."""
    if isinstance(graph, Graphs):
        return {"n": graph.num_nodes, "edges": graph.edges().T.tolist()}
    return {"n": len(graph), "edges": [list(edge) for edge in graph.edges()]}
