"""Random-walk encodings against powers of the walk matrix."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs
from gpnn.graph.walks import walk_encodings
from strategies import graph_sets, permutation_of, to_graphs


def by_powers(graph: nx.Graph, steps: int) -> np.ndarray:
    """The diagonals of P² … P^(steps + 1), P = D⁻¹ A."""
    adjacency = nx.to_numpy_array(graph, nodelist=sorted(graph))
    degree = adjacency.sum(1, keepdims=True)
    walk = np.divide(adjacency, degree, out=np.zeros_like(adjacency), where=degree > 0)
    powers = [np.linalg.matrix_power(walk, k) for k in range(2, steps + 2)]
    return np.stack([np.diag(power) for power in powers], 1)


@given(graph_sets(), st.integers(1, 9), st.integers(0, 9))
@settings(max_examples=40)
def test_they_are_the_return_probabilities(graphs: Graphs, steps: int, seed: int) -> None:
    found = walk_encodings(graphs, steps)
    if graphs.num_nodes:
        np.testing.assert_allclose(found, by_powers(graphs.to_networkx(), steps), atol=1e-12)
    order = permutation_of(graphs, seed)
    np.testing.assert_allclose(walk_encodings(graphs.relabelled(order), steps)[order], found,
                               atol=1e-14)  # fmt: skip


def test_they_tell_apart_what_degrees_do_not() -> None:
    ring, triangles = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    one, two = (walk_encodings(to_graphs(graph), 3) for graph in (ring, triangles))
    assert (one[:, 0] == two[:, 0]).all() and (one[:, 1] != two[:, 1]).all()


@pytest.mark.parametrize("steps", [0, 65, 2.5, True])
def test_steps_out_of_range_are_refused(steps: object) -> None:
    with pytest.raises(InputError, match="steps must be a whole number from 1 to 64; got"):
        walk_encodings([(0, 1)], steps)  # type: ignore[arg-type]
