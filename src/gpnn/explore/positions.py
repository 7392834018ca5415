"""Positions of vertices on the page: the layout of the figures for small graphs, a fast layout for
others."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..graph.graphs import Graphs
from ..plots.layout import layout
from .request import fields, read_graph

__all__ = ["place"]

CAREFUL = 60
"""Maximum number of vertices for which stress is minimised from several starts."""


def place(request: dict[str, Any]) -> dict[str, Any]:
    """Map ``{"graph": {"n", "edges"}}`` to ``{"at": [[x, y], …]}``, with edges of about unit
    length."""
    given = fields(request, "the request", needed=("graph",))
    graph = read_graph(given["graph"], "the graph")
    return {"at": _positions(graph.num_nodes, tuple(map(tuple, graph.edges().T.tolist())))}


@lru_cache(maxsize=64)
def _positions(n: int, edges: tuple[tuple[int, int], ...]) -> tuple[tuple[float, float], ...]:
    ends = np.array(edges, np.int64).reshape(-1, 2).T.copy()
    graph = Graphs.from_edges(ends[0], ends[1], n)
    points = layout(graph) if n <= CAREFUL else _quick(graph)
    # y grows downwards on a screen
    return tuple((round(x, 3), round(-y, 3)) for x, y in points.tolist())


def _quick(graph: Graphs) -> np.ndarray:
    import networkx as nx

    whole = graph.to_networkx()
    start = nx.spectral_layout(whole) if nx.is_connected(whole) else None
    coordinates = nx.spring_layout(whole, pos=start, iterations=60, seed=0)
    points = np.array([coordinates[v] for v in range(graph.num_nodes)])
    low, high = graph.edges()
    length = np.linalg.norm(points[low] - points[high], axis=1).mean() if len(low) else 1.0
    scaled: np.ndarray = points / max(float(length), 1e-9)
    return scaled
