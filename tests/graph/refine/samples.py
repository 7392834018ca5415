"""Graphs the refinement tests share, and how two colourings are compared."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import networkx as nx
import numpy as np

from gpnn.graph.graphs import Graphs
from strategies import to_graphs

__all__ = ["atlas", "hard", "rows_by_graph", "same_partition", "sample", "to_set"]


@cache
def atlas() -> list[nx.Graph]:
    return nx.graph_atlas_g()


@cache
def hard() -> list[nx.Graph]:
    """Small graphs that 1-WL does not distinguish, and some with several components."""
    decalin = nx.cycle_graph(10)
    decalin.add_edge(0, 5)
    bicyclopentyl = nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5))
    bicyclopentyl.add_edge(0, 5)
    triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    return [
        nx.cycle_graph(6),
        triangles,
        nx.disjoint_union(triangles, nx.path_graph(3)),
        nx.disjoint_union(nx.cycle_graph(6), nx.path_graph(3)),
        decalin,
        bicyclopentyl,
        nx.cubical_graph(),
        nx.disjoint_union(nx.complete_graph(4), nx.complete_graph(4)),
        nx.circulant_graph(8, [1, 4]),
        nx.circular_ladder_graph(4),
        nx.empty_graph(0),
        nx.empty_graph(1),
        nx.empty_graph(4),
    ]


def sample(seed: int, few: int = 60) -> list[nx.Graph]:
    """A different slice of the atlas for every seed, random graphs, and the hard ones."""
    step = len(atlas()) // few
    start = seed * 7 % step
    rng = np.random.default_rng(seed)
    random = [
        nx.gnp_random_graph(int(rng.integers(5, 11)), rng.uniform(0.15, 0.6), int(rng.integers(99)))
        for _ in range(few // 5)
    ]
    return atlas()[start::step] + random + hard()


def to_set(graphs: Sequence[nx.Graph]) -> Graphs:
    return Graphs.concatenate([to_graphs(nx.convert_node_labels_to_integers(g)) for g in graphs])


def rows_by_graph(graphs: Graphs, rows: np.ndarray) -> list[list[tuple[int, ...]]]:
    """Colour rows as one list of tuples per graph, as the slow reference takes them."""
    bounds = zip(graphs.ptr[:-1], graphs.ptr[1:], strict=True)
    return [[tuple(row) for row in rows[a:b].tolist()] for a, b in bounds]


def same_partition(left: Sequence[object], right: Sequence[object]) -> bool:
    """Whether two colourings of one list of things have the same classes."""
    assert len(left) == len(right)
    both = set(zip(left, right, strict=True))
    return len(both) == len(set(left)) == len(set(right))
