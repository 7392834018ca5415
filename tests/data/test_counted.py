"""Counts of patterns against networkx, and the random graphs that carry them."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import GraphMatcher

from gpnn.data.counted import PATTERNS, SCALE, SHAPES, count_copies, counted
from gpnn.data.generated import read_generated
from gpnn.data.samples import load_samples
from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs

COPY = {
    "triangle": nx.cycle_graph(3),
    "4-cycle": nx.cycle_graph(4),
    "5-cycle": nx.cycle_graph(5),
    "6-cycle": nx.cycle_graph(6),
    "tailed-triangle": nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)]),
    "chordal-cycle": nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]),
}


def copies(graph: nx.Graph, pattern: nx.Graph) -> int:
    """Monomorphisms divided by automorphisms."""
    maps = sum(1 for _ in GraphMatcher(graph, pattern).subgraph_monomorphisms_iter())
    return maps // sum(1 for _ in GraphMatcher(pattern, pattern).isomorphisms_iter())


def as_graphs(graph: nx.Graph) -> Graphs:
    ends = np.array([*graph.edges, *((v, u) for u, v in graph.edges)], np.int64).reshape(-1, 2)
    return Graphs.from_edges(ends[:, 0], ends[:, 1], len(graph))


@given(st.lists(st.tuples(st.integers(1, 7), st.integers(0, 2**16)), min_size=1, max_size=3))
def test_copies_equal_networkx(drawn: list[tuple[int, int]]) -> None:
    graphs = [nx.gnp_random_graph(n, 0.6, seed=seed) for n, seed in drawn]
    both = Graphs.concatenate([as_graphs(one) for one in graphs])
    assert list(PATTERNS) == list(COPY) == list(SCALE)
    for name, pattern in COPY.items():
        assert count_copies(both, name).tolist() == [copies(one, pattern) for one in graphs]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_graphs_and_targets(pattern: str) -> None:
    raw = counted(pattern, 2_000, seed=3)
    sizes = np.diff(raw.graphs.ptr)
    edges = np.diff(raw.graphs.indptr[raw.graphs.ptr]) // 2
    assert set(zip(sizes.tolist(), edges.tolist(), strict=True)) == {
        (n, n * d // 2 - n) for n, d in SHAPES
    }
    assert raw.graphs.degree.max() <= 6
    target = raw.targets[pattern]
    assert np.allclose(target * SCALE[pattern], count_copies(raw.graphs, pattern))
    assert target.std() == pytest.approx(1, abs=0.1)


def test_sources() -> None:
    assert len(load_samples("counts:5-cycle,graphs=20,seed=2")) == 20
    one, again = read_generated("counts:triangle,graphs=9"), counted("triangle", 9, 0)
    assert np.array_equal(one.graphs.indices, again.graphs.indices)
    assert len(read_generated("counts:4-cycle:7").graphs) == 1
    for wrong, message in (
        ("counts:heptagon", "There is no pattern 'heptagon'"),
        ("counts:triangle,size=3", "there is no option 'size'"),
        ("counts:triangle:1000", "has graphs 0 to 999"),
    ):
        with pytest.raises(InputError, match=message):
            read_generated(wrong)
