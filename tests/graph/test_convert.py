"""The one door, against networkx and literal readings."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs
from gpnn.graph.graphs import Graphs
from gpnn.graph.readers.files import InputNote
from gpnn.lab.compare import compare


def edge_set(graphs: Graphs) -> set[tuple[int, int]]:
    return {(int(u), int(v)) for u, v in graphs.edges().T}


@st.composite
def networkx_graphs(draw: st.DrawFn) -> nx.Graph:
    kind = draw(st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]))
    n = draw(st.integers(1, 8))
    ends = st.integers(0, n - 1)
    graph = kind()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(draw(st.lists(st.tuples(ends, ends), max_size=20)))
    return graph


@given(networkx_graphs())
def test_networkx_and_scipy_agree_with_the_simple_graph(graph: nx.Graph) -> None:
    simple = nx.Graph(graph.to_undirected())
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    expected = {tuple(sorted(edge)) for edge in simple.edges()}
    assert edge_set(as_graphs(graph)) == expected
    matrix = nx.to_scipy_sparse_array(graph, nodelist=range(len(graph)), format="csr")
    assert edge_set(as_graphs(matrix)) == expected
    assert as_graphs(matrix).num_nodes == len(graph)


def test_graphs_pass_through() -> None:
    graphs = Graphs.from_edges([0], [1], 2)
    assert as_graphs(graphs) is graphs


def test_undirected_networkx_reports_no_reverse_edges() -> None:
    assert as_graphs(nx.cycle_graph(5)).normalised.reversed_added == 0
    assert as_graphs(nx.DiGraph([(0, 1), (1, 2)])).normalised.reversed_added == 2


def test_names_are_kept_and_whole_numbers_are_ids() -> None:
    named = as_graphs(nx.Graph([("b", "a"), ("a", 7)]))
    assert named.vertex_names == ["b", "a", "7"]
    assert edge_set(named) == {(0, 1), (1, 2)}
    shuffled = nx.Graph()
    shuffled.add_nodes_from([2, 0, 1])
    shuffled.add_edge(2, 0)
    assert as_graphs(shuffled).vertex_names is None
    assert edge_set(as_graphs(shuffled)) == {(0, 2)}


def test_null_graph_and_empty_inputs() -> None:
    assert (len(as_graphs(nx.Graph())), as_graphs(nx.Graph()).num_nodes) == (1, 0)
    assert len(as_graphs([])) == 0
    assert as_graphs([], num_nodes=3).num_nodes == 3
    assert as_graphs(np.zeros((2, 0), np.int64)).num_nodes == 0
    assert as_graphs([[], []], num_nodes=4).num_nodes == 4


def test_edge_arrays_of_both_shapes() -> None:
    expected = {(0, 1), (1, 2), (2, 3)}
    pairs = [(0, 1), (1, 2), (2, 3)]
    assert edge_set(as_graphs(pairs)) == expected
    assert edge_set(as_graphs(np.array(pairs).T)) == expected
    assert edge_set(as_graphs((np.array([0, 1, 2]), np.array([1, 2, 3])))) == expected
    assert edge_set(as_graphs(np.array(pairs, np.uint8))) == expected
    assert edge_set(as_graphs(np.array(pairs, float))) == expected
    two_by_two = as_graphs([[0, 1], [2, 3]])
    assert edge_set(two_by_two) == {(0, 2), (1, 3)}, "columns are edges"


def test_num_nodes_adds_isolated_vertices() -> None:
    assert as_graphs([[0], [1]], num_nodes=5).num_nodes == 5


def test_lists_mix_kinds() -> None:
    graphs = as_graphs([nx.path_graph(3), sp.csr_array(np.eye(2)), np.array([[0], [1]])])
    assert np.diff(graphs.ptr).tolist() == [3, 2, 2]
    assert graphs.normalised.self_loops == 2


def test_explicit_zeros_and_weights_do_not_count() -> None:
    matrix = sp.coo_array(([0.0, 2.5, -1.0], ([0, 1, 2], [1, 2, 1])), shape=(3, 3))
    assert edge_set(as_graphs(matrix)) == {(1, 2)}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([[0, -1], [1, 2]], "joins -1 and 2"),
        ([[0, 1, 2], [1, 2]], "ragged"),
        ([[0.5, 1], [1, 2]], "not whole numbers"),
        ([[float("nan"), 1], [1, 2]], "NaN"),
        ([[float("inf"), 1], [1, 2]], "NaN or infinity"),
        (np.array([["a"], ["b"]]), "must hold numbers; got dtype"),
        (np.ones((3, 3), int), r"got \[3, 3\]. For a dense adjacency matrix"),
        ([1, 2, 3], r"shape \[2, m\] .*got \[3\]"),
        (np.zeros((2, 2, 2), int), r"got \[2, 2, 2\]"),
        (sp.csr_array((2, 3)), r"square; got shape \(2, 3\)"),
        (sp.csr_array(np.array([[0, np.nan], [0, 0]])), "holds NaN"),
        (object(), "A object is not a graph here"),
        ({0: [1]}, "A dict is not a graph here"),
        ([nx.path_graph(2), 3.5], "Item 1 of 2: A float is not a graph"),
        ("no/such/file.g6", "no file or folder"),
    ],
)
def test_refusals(source: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_graphs(source)


def test_an_id_out_of_all_proportion() -> None:
    with pytest.raises(InputError, match="the id 1,000,000,000,000,000, with only 1 edges"):
        as_graphs([[0], [10**15]])


def test_damaged_matrix() -> None:
    matrix = sp.csr_array(np.eye(4, k=1))
    matrix.indptr[1] = 40
    with pytest.raises(InputError, match="sparse matrix is damaged"):
        as_graphs(matrix)


def test_too_large_ids_and_bad_num_nodes() -> None:
    with pytest.raises(InputError, match="numbered 0 to 1"):
        as_graphs([[0], [5]], num_nodes=2)
    with pytest.raises(InputError, match="whole number of at least 0, got -1"):
        as_graphs([[0], [1]], num_nodes=-1)
    with pytest.raises(InputError, match="says itself"):
        as_graphs(nx.path_graph(2), num_nodes=3)


def molecule(atoms: str) -> nx.Graph:
    """A chain of atoms, labelled by element."""
    graph = nx.path_graph(len(atoms))
    nx.set_node_attributes(graph, {k: "CNO".index(atom) for k, atom in enumerate(atoms)}, "label")
    return graph


def pyg(atoms: str, **more: object) -> Data:
    index = torch.tensor([[k, k + 1] for k in range(len(atoms) - 1)]).T
    x = torch.tensor([["CNO".index(atom)] for atom in atoms])
    return Data(x=x, edge_index=torch.cat([index, index.flip(0)], 1), **more)


def test_labels_are_read_at_every_door() -> None:
    """C-C-O-N and C-O-C-N are one graph, and two molecules."""
    for make in (molecule, pyg, lambda atoms: one_hot(pyg(atoms))):
        left, right = make("CCON"), make("COCN")
        assert as_graphs(left).node_labels.tolist() == [0, 0, 2, 1]
        verdict = {str(one.method): one.distinguishes for one in compare(left, right)}
        assert verdict["isomorphism"] and verdict["1-wl"]
        alike = {str(one.method): one.distinguishes for one in compare(left, make("NOCC"))}
        assert alike["isomorphism"] is False
    both = as_graphs([pyg("CCON"), pyg("CO")])
    assert both.node_labels.tolist() == [0, 0, 2, 1, 0, 2]
    assert as_graphs(Batch.from_data_list([pyg("CO"), pyg("NN")])).node_labels.tolist() == [
        0, 2, 1, 1,
    ]  # fmt: skip


def one_hot(data: Data) -> Data:
    data.x = torch.nn.functional.one_hot(data.x[:, 0], 3).float()
    return data


def test_labels_of_edges() -> None:
    graph = molecule("CCO")
    nx.set_edge_attributes(graph, {(0, 1): 1, (1, 2): 2}, "label")
    assert as_graphs(graph).edge_labels.tolist() == [1, 1, 2, 2]
    bonds = torch.tensor([1, 2, 1, 2])
    assert as_graphs(pyg("CCO", edge_attr=bonds)).edge_labels.tolist() == [1, 1, 2, 2]
    rows = torch.nn.functional.one_hot(bonds, 4).float()
    assert as_graphs(pyg("CCO", edge_attr=rows)).edge_labels.tolist() == [1, 1, 2, 2]
    assert as_graphs(pyg("CCO", edge_attr=torch.rand(4, 3))).edge_labels is None


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (nx.karate_club_graph(), "78 edge weights are ignored"),
        (sp.csr_array(np.array([[0, 2.5], [2.5, 0]])), "2 edge weights are ignored"),
        (nx.DiGraph([(0, 1), (1, 2)]), "The graph is directed: 2 reverse edges added"),
        (nx.Graph([(0, 0), (0, 1)]), "made simple and undirected: 1 self-loops dropped"),
        (np.array([[0, 1, 1], [1, 0, 2]]), "made simple and undirected: 1 reverse edges added"),
    ],
)
def test_what_is_left_aside_is_said(source: object, said: str) -> None:
    with pytest.warns(InputNote, match=said):
        as_graphs(source)


def test_labels_that_are_texts_are_the_same_numbers_in_every_graph() -> None:
    one, two = nx.path_graph(2), nx.path_graph(3)
    nx.set_node_attributes(one, {0: "C", 1: "N"}, "label")
    nx.set_node_attributes(two, {0: "N", 1: "C", 2: "O"}, "label")
    c, n = as_graphs(one).node_labels.tolist()
    assert as_graphs(two).node_labels.tolist()[:2] == [n, c] and c != n


def test_labels_of_mixed_kinds_are_left_aside_and_said() -> None:
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: "C", 1: 3.5}, "label")
    with pytest.warns(InputNote, match="Labels of vertices are ignored: they are neither all"):
        assert as_graphs(graph).node_labels is None
    del graph.nodes[1]["label"]
    graph.nodes[0]["label"] = 3
    with pytest.warns(InputNote, match="not all of them have one"):
        as_graphs(graph)
    odd = pyg("CC", edge_attr=torch.tensor([1, 2]))
    with pytest.warns(InputNote, match="the two directions of an edge differ"):
        assert as_graphs(odd).edge_labels is None


def test_edges_that_are_listed_once_are_not_directed(recwarn: pytest.WarningsRecorder) -> None:
    as_graphs([[0, 1], [1, 2]])
    as_graphs(nx.cycle_graph(4))
    as_graphs(pyg("CCC"))
    assert not recwarn.list


def test_a_note_names_the_line_of_the_caller() -> None:
    """Not a line of gpnn, which the reader did not write."""
    graph = nx.Graph()
    graph.add_edge(0, 1, weight=2.0)
    with pytest.warns(InputNote, match="1 edge weights are ignored") as noted:
        as_graphs(graph)
    with pytest.warns(InputNote) as deeper:
        compare(graph, graph)
    assert {one.filename for one in (*noted, *deeper)} == {__file__}
