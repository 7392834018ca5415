"""Parts, edges, borders, boundary, components, against literal definitions."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs
from gpnn.graph.partition import partition, unique_rows
from strategies import graph_sets, to_graphs

SCHEMES = st.sampled_from(["trivial", "degree", "core", "core-degree", "core-onion", "triangle"])


@given(graph_sets(), SCHEMES)
def test_parts_and_edges_follow_their_definitions(graphs, scheme):
    cut = partition(graphs, scheme)
    colours = [tuple(row) for row in cut.colours.tolist()]
    assert [tuple(row) for row in cut.parts.tolist()] == sorted(set(colours))
    assert [tuple(cut.parts[p].tolist()) for p in cut.part] == colours
    assert cut.sizes.tolist() == [colours.count(tuple(row)) for row in cut.parts.tolist()]
    edges = [tuple(edge) for edge in graphs.edges().T.tolist()]
    cross = [(u, v) for u, v in edges if colours[u] != colours[v]]
    assert [tuple(edge) for edge in cut.cross_edges().T.tolist()] == cross
    assert {tuple(e) for e in cut.within_edges().T.tolist()} == set(edges) - set(cross)
    border = {v for edge in cross for v in edge}
    assert set(np.flatnonzero(cut.border).tolist()) == border
    boundary, vertices = cut.boundary()
    assert vertices.tolist() == sorted(border)
    assert {tuple(vertices[list(edge)].tolist()) for edge in boundary.edges().T} == {
        (u, v) for u, v in edges if u in border and v in border
    }


@given(graph_sets(), SCHEMES)
def test_components_equal_networkx(graphs, scheme):
    cut = partition(graphs, scheme)
    whole = graphs.to_networkx()
    expected = np.zeros((len(graphs), cut.num_parts), int)
    for g in range(len(graphs)):
        for part in range(cut.num_parts):
            members = [v for v in range(graphs.ptr[g], graphs.ptr[g + 1]) if cut.part[v] == part]
            expected[g, part] = nx.number_connected_components(whole.subgraph(members))
    assert cut.components().tolist() == expected.tolist()
    if scheme == "trivial" and graphs.num_nodes:
        per_graph = [nx.number_connected_components(one.to_networkx()) for one in graphs]
        assert cut.components()[:, 0].tolist() == per_graph


@given(graph_sets(), SCHEMES)
def test_part_subgraphs_equal_networkx(graphs, scheme):
    cut = partition(graphs, scheme)
    whole = graphs.to_networkx()
    for part in range(cut.num_parts):
        piece, vertices = cut.subgraph(part)
        reference = whole.subgraph(np.flatnonzero(cut.part == part).tolist())
        assert {tuple(vertices[e]) for e in piece.edges().T} == {
            tuple(sorted(edge)) for edge in reference.edges
        }
    with pytest.raises(InputError, match="There is no part"):
        cut.subgraph(cut.num_parts)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-(2**62), 2**62)), max_size=30))
def test_unique_rows_equal_numpy(rows):
    array = np.array(rows, np.int64).reshape(-1, 2)
    distinct, place = unique_rows(array)
    assert distinct.tolist() == sorted({tuple(row) for row in rows}) or distinct.tolist() == [
        list(row) for row in sorted(set(rows))
    ]
    assert np.array_equal(distinct[place], array)


def test_statistics_count_directed_edges_per_graph():
    graphs = Graphs.concatenate([to_graphs(nx.lollipop_graph(3, 2)), to_graphs(nx.empty_graph(2))])
    found = partition(graphs, "core").statistics()
    assert (found.graphs, found.partitions) == (2, 3)
    assert (found.cross_edges, found.within_edges) == (1.0, 4.0)
    with pytest.raises(InputError, match="no graphs"):
        partition(Graphs.concatenate([]), "core").statistics()


def test_two_graphs_share_the_meaning_of_a_colour():
    graphs = Graphs.concatenate([to_graphs(nx.cycle_graph(5)), to_graphs(nx.star_graph(3))])
    cut = partition(graphs, "core")
    assert cut.labels == ["1", "2"]
    assert cut.part.tolist() == [1] * 5 + [0] * 4
    assert repr(cut) == "Partition(core: 2 parts of Graphs(2 graphs, 9 vertices, 8 edges))"
