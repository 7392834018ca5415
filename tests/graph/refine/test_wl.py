"""1-WL against the slow reference."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs
from gpnn.graph.refine import wl
from gpnn.graph.schemes import get_scheme
from graph.refine.reference import equivalent, slow_wl
from graph.refine.samples import atlas, hard, rows_by_graph, same_partition, sample, to_set
from strategies import graph_sets, permutation_of


@pytest.mark.parametrize("scheme", ["trivial", "degree", "triangle"])
def test_classes_equal_the_slow_reference(scheme: str) -> None:
    ours = atlas() + hard() + sample(2)
    graphs = to_set(ours)
    rows = get_scheme(scheme)(graphs)
    history = slow_wl(ours, rows_by_graph(graphs, rows))
    assert same_partition(equivalent(history[-1]), wl(graphs, rows).classes.tolist())
    exact = wl(graphs, rows, rounds=len(history) - 1)
    for r, colouring in enumerate(history):
        slow = [c for one in colouring for c in one.values()]
        assert same_partition(slow, [tuple(c) for c in exact.at(r).tolist()])


def test_rounds_until_stable() -> None:
    graphs = to_set([nx.cycle_graph(5), nx.path_graph(7), nx.empty_graph(0)])
    found = wl(graphs)
    assert found.stable.tolist() == [0, 3, 0]
    assert found.recorded.tolist() == [1, 4, 1]
    assert len(np.unique(found.colours(1), axis=0)) == 4
    assert wl(graphs, rounds=2).stable.tolist() == [0, -1, 0]


def test_edge_labels_count_where_asked() -> None:
    ring = [0, 1, 2, 3], [1, 2, 3, 0]
    alternating = Graphs.from_edges(*ring, 4, edge_labels=[1, 2, 1, 2])
    halves = Graphs.from_edges(*ring, 4, edge_labels=[1, 1, 2, 2])
    both = Graphs.concatenate([alternating, halves])
    assert not wl(both).distinguishes(0, 1)
    assert wl(both, labels=True).first_difference(0, 1) == 1
    shifted = Graphs.from_edges(*ring, 4, edge_labels=[2, 1, 2, 1])
    assert np.array_equal(wl(shifted, labels=True).digest, wl(alternating, labels=True).digest)


def test_node_labels_count_where_asked() -> None:
    one = Graphs.from_edges([0, 1], [1, 2], 3, node_labels=[6, 6, 8])
    two = Graphs.from_edges([0, 1], [1, 2], 3, node_labels=[6, 8, 6])
    both = Graphs.concatenate([one, two])
    assert not wl(both).distinguishes(0, 1)
    assert wl(both, labels=True).first_difference(0, 1) == 1


def test_labels_that_are_not_there_are_refused() -> None:
    with pytest.raises(InputError, match="labels=True, but the graphs have neither node labels"):
        wl(to_set([nx.path_graph(2)]), labels=True)


@settings(max_examples=40)
@given(graph_sets(), st.integers(0, 99))
def test_relabelling_and_batching(graphs: Graphs, seed: int) -> None:
    order = permutation_of(graphs, seed)
    before, after = wl(graphs), wl(graphs.relabelled(order))
    assert np.array_equal(before.digest, after.digest)
    assert np.array_equal(before.at(), after.at()[order])
    for g in range(len(graphs)):
        assert np.array_equal(wl(graphs[g]).digest[0], before.digest[g])
