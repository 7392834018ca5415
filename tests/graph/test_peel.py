"""Core numbers and onion layers against networkx: graphs that are scanned, and those packed."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpnn.graph.convert import as_graphs
from gpnn.graph.graphs import Graphs
from gpnn.graph.kernels import peel as module
from strategies import networkx_graphs, to_graphs


def check(found: tuple[np.ndarray, np.ndarray], graphs: list[nx.Graph]) -> None:
    wanted = [
        (nx.core_number(graph)[v], nx.onion_layers(graph)[v])
        for graph in graphs
        for v in range(len(graph))
    ]
    assert np.array_equal(np.stack(found, axis=1), np.array(wanted).reshape(-1, 2))


@pytest.mark.parametrize("way", [module._peel_small, module._peel_large])
@given(graphs=st.lists(networkx_graphs(), max_size=4))
def test_both_ways_equal_networkx(way, graphs):  # type: ignore[no-untyped-def]
    made = Graphs.concatenate([to_graphs(graph) for graph in graphs])
    check(way(made.ptr, made.indptr, made.indices), graphs)


@pytest.mark.parametrize("nodes", [module.SMALL, module.SMALL + 1])
def test_the_size_of_the_largest_graph_decides(nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clique, a long tail and isolated vertices: many levels, many layers."""
    large = nx.lollipop_graph(12, nodes - 15)
    large.add_nodes_from(range(nodes - 3, nodes))
    graphs = [nx.cycle_graph(5), large]
    other = "_peel_large" if nodes <= module.SMALL else "_peel_small"
    monkeypatch.setattr(module, other, lambda *_: pytest.fail("the other way"))
    made = as_graphs(graphs)
    check(module.peel(made.ptr, made.indptr, made.indices), graphs)


def test_no_graphs() -> None:
    none = Graphs.from_edges([], [], [], bounds=[0])
    assert [len(one) for one in module.peel(none.ptr, none.indptr, none.indices)] == [0, 0]
