"""The check must catch rules that look at vertex ids or at the batch."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from gpnn.graph.graphs import Graphs
from gpnn.graph.invariance import check_invariance
from gpnn.graph.schemes import Scheme
from strategies import to_graphs


def scheme(colour) -> Scheme:
    return Scheme("rule", colour, "", "", "")


GRAPHS = Graphs.concatenate(
    [to_graphs(nx.karate_club_graph()), to_graphs(nx.path_graph(9)), to_graphs(nx.cycle_graph(5))]
)


@pytest.mark.parametrize("name", ["core", "core-onion", "triangle", "wl-3", "core+degree"])
def test_built_in_schemes_stand(name):
    outcome = check_invariance(name, GRAPHS)
    assert outcome
    assert outcome.message == (
        f"'{name}' stood 5 relabellings and each graph alone without a difference."
    )


def test_a_rule_that_reads_ids_is_caught():
    outcome = check_invariance(scheme(lambda graphs: np.arange(graphs.num_nodes)), GRAPHS[0])
    assert not outcome
    assert "is not invariant: relabelling 1 changed the colour of vertex" in outcome.message


def test_a_rule_that_reads_the_batch_is_caught():
    outcome = check_invariance(
        scheme(lambda graphs: np.full(graphs.num_nodes, graphs.num_nodes)), GRAPHS
    )
    assert not outcome
    assert "colouring graphs alone changed" in outcome.message


def test_the_same_rule_is_fine_on_one_graph():
    assert check_invariance(scheme(lambda graphs: graphs.degree), nx.path_graph(4))
