"""Layout of one graph: every component is laid out separately, then packed in rows."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph.graphs import Graphs

__all__ = ["DRAWING_LIMIT", "layout"]

DRAWING_LIMIT = 2000
STRESS_LIMIT = 250  # stress minimisation needs all pairwise distances
MANY_STARTS_LIMIT = 60


def layout(graph: Graphs, seed: int = 0) -> NDArray[np.float64]:
    """Return positions [n, 2] with edges of about unit length, deterministic given the seed."""
    if graph.num_nodes > DRAWING_LIMIT:
        raise InputError(
            f"A drawing of {graph.num_nodes:,} vertices would show nothing (limit "
            f"{DRAWING_LIMIT:,}). Draw one part or a smaller graph, or list it with "
            "'gpnn partition'."
        )
    whole = graph.to_networkx()
    position = np.zeros((graph.num_nodes, 2))
    boxes = []
    for vertices in sorted(nx.connected_components(whole), key=lambda c: (-len(c), min(c))):
        members = sorted(vertices)
        placed = _component(whole.subgraph(members), members, seed)
        position[members] = placed - placed.min(axis=0)
        boxes.append((members, np.ptp(placed, axis=0)))
    width = max(1.0, np.sqrt(sum((w + 1.2) * (h + 1.2) for _, (w, h) in boxes)) * 1.3)
    x = y = row = 0.0
    for members, (w, h) in boxes:
        if x > 0 and x + w > width:
            x, y, row = 0.0, y - row - 1.2, 0.0
        position[members] += (x, y - h)
        x += w + 1.2
        row = max(row, h)
    return position


def _component(component: nx.Graph, members: list[int], seed: int) -> NDArray[np.float64]:
    if len(members) == 1:
        return np.zeros((1, 2))
    number = {v: i for i, v in enumerate(members)}
    edges = np.array([(number[u], number[v]) for u, v in component.edges])
    placed = min(
        (np.array([tried[v] for v in members]) for tried in _tries(component, seed)),
        key=lambda points: (_crossings(points, edges), _unevenness(points, edges)),
    )
    placed = placed / max(float(_lengths(placed, edges).mean()), 1e-9)
    _, axes = np.linalg.eigh(np.cov(placed.T))
    turned: NDArray[np.float64] = placed @ axes[:, ::-1]
    return turned


def _tries(component: nx.Graph, seed: int) -> Iterator[dict[int, NDArray[np.float64]]]:
    """Yield layouts from several starts, as stress minimisation cannot untangle a bad start."""
    if len(component) > STRESS_LIMIT:
        yield nx.spring_layout(component, seed=seed, iterations=80)
        return
    planar, _ = nx.check_planarity(component)
    if planar:
        yield nx.kamada_kawai_layout(component, pos=nx.planar_layout(component))
    yield nx.kamada_kawai_layout(component)
    if len(component) <= MANY_STARTS_LIMIT:
        for start in range(4):
            spring = nx.spring_layout(component, seed=seed + start, iterations=30)
            yield nx.kamada_kawai_layout(component, pos=spring)


def _lengths(points: NDArray[np.float64], edges: NDArray[np.int64]) -> NDArray[np.float64]:
    length: NDArray[np.float64] = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    return length


def _unevenness(points: NDArray[np.float64], edges: NDArray[np.int64]) -> float:
    length = _lengths(points, edges)
    return float(length.std() / max(length.mean(), 1e-9))


def _crossings(points: NDArray[np.float64], edges: NDArray[np.int64]) -> int:
    """Count the crossing pairs of edges without a common end (0 if there are too many edges)."""
    if len(edges) > 400:
        return 0
    a, b = points[edges[:, 0]], points[edges[:, 1]]

    def side(
        p: NDArray[np.float64], q: NDArray[np.float64], r: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        turn = (q - p)[:, None, 0] * (r[None, :, 1] - p[:, None, 1])
        turn -= (q - p)[:, None, 1] * (r[None, :, 0] - p[:, None, 0])
        return turn > 0

    apart = side(a, b, a) != side(a, b, b)
    shared = (edges[:, None, :, None] == edges[None, :, None, :]).any(axis=(2, 3))
    return int((apart & apart.T & ~shared).sum()) // 2
