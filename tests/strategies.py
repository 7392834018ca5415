"""Hypothesis strategies for graphs, shared by the tests."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from gpnn.graph.graphs import Graphs

__all__ = ["graph_sets", "networkx_graphs", "permutation_of"]


@st.composite
def networkx_graphs(draw: st.DrawFn, max_nodes: int = 12) -> nx.Graph:
    """A simple graph on 0 … n-1: isolated vertices, several components and n = 0 included."""
    n = draw(st.integers(0, max_nodes))
    pairs = [(u, v) for v in range(n) for u in range(v)]
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    graph = nx.empty_graph(n)
    graph.add_edges_from(pair for pair, keep in zip(pairs, chosen, strict=True) if keep)
    return graph


def to_graphs(graph: nx.Graph) -> Graphs:
    edges = np.array(list(graph.edges), dtype=np.int64).reshape(-1, 2)
    return Graphs.from_edges(edges[:, 0], edges[:, 1], graph.number_of_nodes())


@st.composite
def graph_sets(draw: st.DrawFn, max_graphs: int = 4, max_nodes: int = 9) -> Graphs:
    """Several graphs in one set, possibly none."""
    graphs = draw(st.lists(networkx_graphs(max_nodes), max_size=max_graphs))
    return Graphs.concatenate([to_graphs(graph) for graph in graphs])


def permutation_of(graphs: Graphs, seed: int) -> np.ndarray:
    """A random renaming that keeps every vertex in its graph."""
    return graphs.permutation(np.random.default_rng(seed))


def hub_graph(arms: int = 24) -> nx.Graph:
    """A hub with neighbours that differ, so that their classes share a sum: some have leaves, some
    are joined."""
    graph = nx.star_graph(arms)
    for u in range(1, arms + 1):
        graph.add_edges_from([(u, len(graph) + i) for i in range(u % 7)])
        if u % 4 == 1 and u < arms:
            graph.add_edge(u, u + 1)
    return graph
