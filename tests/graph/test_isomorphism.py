"""The paper's notions of sameness, against their definitions spelled out with networkx."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpnn.graph.graphs import Graphs
from gpnn.graph.isomorphism import (
    interaction_isomorphism,
    isomorphism,
    lambda_equivalence,
    partition_isomorphism,
)
from gpnn.graph.partition import partition
from strategies import networkx_graphs, permutation_of, to_graphs

SCHEMES = ["trivial", "degree", "core", "core-degree", "core-onion", "triangle"]


def colours_of(graph: nx.Graph, scheme: str) -> dict[int, tuple[int, ...]]:
    rows = partition(to_graphs(graph), scheme).colours.tolist()
    return {v: tuple(row) for v, row in enumerate(rows)}


def histograms(graph: nx.Graph, colour: dict) -> tuple[Counter, Counter]:
    pairs = Counter()
    for u in graph:
        for v in graph:
            if u < v:
                kind = graph.has_edge(u, v), colour[u] == colour[v]
                pairs[(*sorted([colour[u], colour[v]]), kind)] += 1
    return Counter(colour.values()), pairs


def same_parts(g: nx.Graph, h: nx.Graph, c: dict, d: dict) -> bool:
    return set(c.values()) == set(d.values()) and all(
        nx.is_isomorphic(
            g.subgraph([v for v in g if c[v] == colour]),
            h.subgraph([v for v in h if d[v] == colour]),
        )
        for colour in set(c.values())
    )


def boundary(graph: nx.Graph, colour: dict) -> nx.Graph:
    ends = {v for edge in graph.edges if colour[edge[0]] != colour[edge[1]] for v in edge}
    return graph.subgraph(ends)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_pairs_of_small_graphs(scheme):
    graphs = [g for g in nx.graph_atlas_g() if 1 <= len(g) <= 5]
    cut = partition(Graphs.concatenate([to_graphs(g) for g in graphs]), scheme)
    equal = lambda_equivalence(cut)
    parts, both = partition_isomorphism(cut), interaction_isomorphism(cut)
    colours = [colours_of(g, scheme) for g in graphs]
    tables = [histograms(g, c) for g, c in zip(graphs, colours, strict=True)]
    for i, g in enumerate(graphs):
        for j, h in enumerate(graphs[:i]):
            assert equal.distinguishes(i, j) == (tables[i] != tables[j])
            alike = same_parts(g, h, colours[i], colours[j])
            assert parts.distinguishes(i, j) == (not alike)
            borders = nx.is_isomorphic(boundary(g, colours[i]), boundary(h, colours[j]))
            assert both.distinguishes(i, j) == (not (alike and borders))


@given(networkx_graphs(9), st.integers(0, 99), st.sampled_from(SCHEMES))
def test_relabelled_copies_are_the_same_in_every_sense(graph, seed, scheme):
    one = to_graphs(graph)
    cut = partition(Graphs.concatenate([one, one.relabelled(permutation_of(one, seed))]), scheme)
    for notion in (lambda_equivalence, partition_isomorphism, interaction_isomorphism):
        assert notion(cut).distinguishes(0, 1) is False
    assert isomorphism(cut.graphs).distinguishes(0, 1) is False


def labelled(bonds: list[int], atoms: list[int]) -> Graphs:
    return Graphs.from_edges([0, 1], [1, 2], 3, edge_labels=bonds, node_labels=atoms)


@pytest.mark.parametrize(
    ("left", "right", "apart"),
    [
        (([1, 1], [6, 6, 8]), ([1, 1], [6, 8, 6]), True),
        (([1, 2], [6, 6, 6]), ([2, 1], [6, 6, 6]), False),
        (([1, 2], [6, 6, 6]), ([1, 1], [6, 6, 6]), True),
        (([1, 2], [6, 6, 8]), ([2, 1], [6, 6, 8]), True),
    ],
)
def test_labels_count(left, right, apart):
    graphs = Graphs.concatenate([labelled(*left), labelled(*right)])
    cut = partition(graphs, "trivial")
    assert isomorphism(graphs).distinguishes(0, 1) is apart
    assert partition_isomorphism(cut).distinguishes(0, 1) is apart
    assert lambda_equivalence(cut).distinguishes(0, 1) is apart


def test_an_unfinished_search_is_unknown():
    from gpnn.graph.isomorphism import Sameness

    found = Sameness(np.zeros((2, 2), np.uint64), np.array([True, False]))
    assert found.distinguishes(0, 1) is None
