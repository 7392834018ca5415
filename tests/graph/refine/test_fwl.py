"""2-FWL against the slow reference."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs
from gpnn.graph.refine import fwl
from gpnn.graph.schemes import get_scheme
from graph.refine.reference import equivalent, slow_fwl
from graph.refine.samples import rows_by_graph, same_partition, sample, to_set
from strategies import graph_sets, permutation_of


@pytest.mark.parametrize("scheme", ["trivial", "core", "triangle"])
def test_classes_equal_the_slow_reference(scheme: str) -> None:
    ours = sample(11, few=120)
    graphs = to_set(ours)
    rows = get_scheme(scheme)(graphs)
    history = slow_fwl(ours, rows_by_graph(graphs, rows))
    assert same_partition(equivalent(history[-1]), fwl(graphs, rows).classes.tolist())
    exact = fwl(graphs, rows, rounds=len(history) - 1)
    for r, colouring in enumerate(history):
        slow = [one[v, v] for graph, one in zip(ours, colouring, strict=True) for v in graph]
        assert same_partition(slow, [tuple(c) for c in exact.at(r).tolist()])
        signatures = [exact.signature(g, r) for g in range(len(exact))]
        assert same_partition(equivalent(colouring), signatures)


def test_strongly_regular_twins_are_not_distinguished() -> None:
    rook = nx.line_graph(nx.complete_bipartite_graph(4, 4))
    cells = [(a, b) for a in range(4) for b in range(4)]
    steps = {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}
    shrikhande = nx.Graph(
        (p, q) for p in cells for q in cells if ((p[0] - q[0]) % 4, (p[1] - q[1]) % 4) in steps
    )
    twins = to_set([rook, shrikhande])
    assert not fwl(twins).distinguishes(0, 1)
    assert fwl(twins).first_difference(0, 1) is None
    assert fwl(twins).witness(0, 1) is None


def test_labels_count_where_asked() -> None:
    ring = [0, 1, 2, 3], [1, 2, 3, 0]
    alternating = Graphs.from_edges(*ring, 4, edge_labels=[1, 2, 1, 2])
    halves = Graphs.from_edges(*ring, 4, edge_labels=[1, 1, 2, 2])
    both = Graphs.concatenate([alternating, halves])
    assert not fwl(both).distinguishes(0, 1)
    found = fwl(both, labels=True)
    assert found.first_difference(0, 1) == 1
    witness = found.witness(0, 1)
    assert witness is not None
    assert len(witness.left) != len(witness.right)


def test_the_witness_is_a_vertex_even_where_pairs_part_first() -> None:
    found = fwl(to_set([nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)]))
    assert found.first_difference(0, 1) == 1
    witness = found.witness(0, 1)
    assert witness is not None
    assert witness.round == 2
    assert sorted([len(witness.left), len(witness.right)]) == [0, 6]


def test_memory_is_asked_for_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpnn.sizes.available_bytes", lambda: 2**30)
    with pytest.raises(InputError, match=r"2-FWL on a graph of 9,000 vertices would need 5\.6 GiB"):
        fwl(to_set([nx.empty_graph(9000)]))


@settings(max_examples=25)
@given(graph_sets(), st.integers(0, 99))
def test_relabelling_and_batching(graphs: Graphs, seed: int) -> None:
    order = permutation_of(graphs, seed)
    before, after = fwl(graphs), fwl(graphs.relabelled(order))
    assert np.array_equal(before.digest, after.digest)
    assert np.array_equal(before.at(), after.at()[order])
    for g in range(len(graphs)):
        assert np.array_equal(fwl(graphs[g]).digest[0], before.digest[g])
