"""Building the CSR structure, against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs
from strategies import graph_sets, permutation_of, to_graphs

edge_lists = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40)
    )
)


@given(edge_lists, st.booleans(), st.sampled_from([np.int32, np.int64, np.uint8, float]))
def test_any_edge_list_becomes_the_simple_graph(case, both_ways, dtype):
    n, edges = case
    if both_ways:
        edges = edges + [(v, u) for u, v in edges]
    array = np.array(edges, dtype=dtype).reshape(-1, 2)
    graphs = Graphs.from_edges(array[:, 0], array[:, 1], n)
    reference = nx.empty_graph(n)
    reference.add_edges_from((u, v) for u, v in edges if u != v)
    assert sorted(map(tuple, graphs.edges().T.tolist())) == sorted(
        tuple(sorted(edge)) for edge in reference.edges
    )
    for v in range(n):
        row = graphs.indices[graphs.indptr[v] : graphs.indptr[v + 1]].tolist()
        assert row == sorted(reference[v])
    directed = {(u, v) for u, v in edges if u != v}
    loops = sum(u == v for u, v in edges)
    assert graphs.normalised.self_loops == loops
    assert graphs.normalised.duplicates == len(edges) - loops - len(directed)
    assert graphs.normalised.reversed_added == 2 * reference.number_of_edges() - len(directed)


@given(graph_sets(), st.booleans())
def test_many_graphs_equal_each_alone(graphs, local):
    pieces = [one.edges() for one in graphs]
    shift = graphs.ptr[:-1] * (not local)
    edges = [piece + low for piece, low in zip(pieces, shift, strict=True)]
    joined = np.concatenate([np.zeros((2, 0), np.int64), *edges], axis=1)
    bounds = np.cumsum([0] + [piece.shape[1] for piece in pieces])
    again = Graphs.from_edges(*joined, np.diff(graphs.ptr), bounds=bounds, local=local)
    for name in ("ptr", "indptr", "indices"):
        assert np.array_equal(getattr(again, name), getattr(graphs, name))


@given(graph_sets(), st.integers(0, 99))
def test_relabelling_moves_edges_and_labels(graphs, seed):
    order = permutation_of(graphs, seed)
    labelled = Graphs.from_edges(
        *graphs.edges(),
        np.diff(graphs.ptr),
        bounds=np.searchsorted(graphs.edges()[0], graphs.ptr),
        node_labels=np.arange(graphs.num_nodes),
        edge_labels=graphs.edges()[0] * 100 + graphs.edges()[1],
    )
    moved = labelled.relabelled(order)
    assert {tuple(sorted(order[list(edge)])) for edge in graphs.edges().T.tolist()} == {
        tuple(edge) for edge in moved.edges().T.tolist()
    }
    assert np.array_equal(moved.node_labels[order], np.arange(graphs.num_nodes))
    back = np.argsort(order)
    ends = np.sort(np.stack([back[moved.rows], back[moved.indices]]), axis=0)
    assert np.array_equal(moved.edge_labels, ends[0] * 100 + ends[1])


@given(graph_sets(), st.integers(0, 99))
def test_induced_subgraphs_equal_networkx(graphs, seed):
    keep = np.random.default_rng(seed).random(graphs.num_nodes) < 0.6
    smaller, vertices = graphs.induced(keep)
    assert vertices.tolist() == np.flatnonzero(keep).tolist()
    reference = graphs.to_networkx().subgraph(vertices.tolist())
    assert {tuple(vertices[e]) for e in smaller.edges().T} == {
        tuple(sorted(edge)) for edge in reference.edges
    }
    assert np.array_equal(smaller.graph_of, graphs.graph_of[keep])


def test_single_graphs_and_iteration():
    graphs = Graphs.concatenate([to_graphs(nx.path_graph(3)), to_graphs(nx.cycle_graph(4))])
    assert [one.num_edges for one in graphs] == [2, 4]
    assert graphs[-1].indices.tolist() == [1, 3, 0, 2, 1, 3, 0, 2]
    with pytest.raises(IndexError):
        graphs[2]
    assert repr(graphs) == "Graphs(2 graphs, 7 vertices, 6 edges)"
    assert graphs.to_scipy().sum() == 12


def test_no_graphs_and_no_vertices():
    nothing = Graphs.concatenate([])
    assert (len(nothing), nothing.num_nodes, nothing.num_edges) == (0, 0, 0)
    empty = Graphs.from_edges([], [], 0)
    assert (len(empty), empty.num_nodes) == (1, 0)


@pytest.mark.parametrize(
    ("src", "dst", "n", "message"),
    [
        ([0, -1], [1, 0], 3, "Edge 1 joins -1 and 0, but vertices are numbered 0 to 2"),
        ([0, 1], [1, 3], 3, "Edge 1 joins 1 and 3"),
        ([0, 1], [1], 3, "differ in length: 2 and 1"),
        ([0, [1, 2]], [1, 2], 3, "ragged"),
        ([0.5], [1], 3, "not whole numbers"),
        ([float("nan")], [1], 3, "NaN or infinity"),
        (["a"], [1], 3, "must hold numbers; got dtype"),
        ([0], [1], -2, "cannot have -2 vertices"),
        ([2**63], [0], 3, "too large"),
        ([0], [2**40], 3, "joins 0 and 1099511627776"),
        ([[0, 1]], [[1, 0]], 3, "one flat array; got shape"),
    ],
)
def test_bad_edges_are_refused(src, dst, n, message):
    with pytest.raises(InputError, match=message):
        Graphs.from_edges(src, dst, n)


def test_an_edge_into_another_graph_is_refused():
    with pytest.raises(InputError, match=r"Edge 0 of graph 1 joins 1 and 3, but .* 2 to 3"):
        Graphs.from_edges([0, 1], [1, 3], [2, 2], bounds=[0, 1, 2])
    with pytest.raises(InputError, match="bounds"):
        Graphs.from_edges([0, 1], [1, 0], [2, 2], bounds=[0, 2])
    with pytest.raises(InputError, match="need bounds"):
        Graphs.from_edges([0], [1], [2, 2])


def test_edge_labels_must_agree_in_both_directions():
    same = Graphs.from_edges([0, 1, 1], [1, 0, 2], 3, edge_labels=[7, 7, 9])
    assert same.edge_labels.tolist() == [7, 7, 9, 9]
    with pytest.raises(InputError, match=r"between 0 and 1 has different labels"):
        Graphs.from_edges([0, 1], [1, 0], 2, edge_labels=[1, 2])
    with pytest.raises(InputError, match="different labels"):
        Graphs.from_edges([0, 0], [1, 1], 2, edge_labels=[1, 2])
    with pytest.raises(InputError, match="Got 1 edge labels where 2"):
        Graphs.from_edges([0, 1], [1, 0], 2, edge_labels=[1])


@given(graph_sets(), st.integers(0, 99))
def test_a_permutation_keeps_every_vertex_in_its_graph(graphs, seed):
    order = graphs.permutation(np.random.default_rng(seed))
    assert sorted(order.tolist()) == list(range(graphs.num_nodes))
    assert np.array_equal(graphs.graph_of[order], graphs.graph_of)


def test_permutations_differ():
    path = to_graphs(nx.path_graph(20))
    orders = {tuple(path.permutation(np.random.default_rng(s)).tolist()) for s in range(5)}
    assert len(orders) == 5


def test_a_relabelling_must_keep_graphs_apart():
    graphs = Graphs.from_edges([0, 2], [1, 3], [2, 2], bounds=[0, 1, 2])
    with pytest.raises(InputError, match="permute"):
        graphs.relabelled(np.array([2, 1, 0, 3]))
