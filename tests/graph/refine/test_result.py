"""What a Refinement says, how stable it is, and what bad input meets."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from gpnn.errors import InputError
from gpnn.graph.refine import fwl, gpnn, wl
from graph.refine.samples import hard, sample, to_set

PETERSEN = nx.petersen_graph()
WL = ["d351f6b1580b56af4d6fe641529daaa3", "be42f410a2f2fe44bba592daa01ec55b"]
FWL = ["581cdbdfee7372102da860c1bcb72e0e", "e42b15d81131983707f23b72a7cd4ee8"]
CROSS = ["b811bce02da634ffa4dd83b2f676d71f", "d686aa6d34b34e8e09d638203a1e5be1"]
EDGES = ["21fcd09a84fd76b06f74e15719d5d2ea", "f9f57540cb7a6c36a27b38495be4be7a"]
PAIRS = ["7db02d557d548080dc4f49179f2b7e28", "fb3e5dcfe61e17b551458745e934bd83"]


def hexadecimal(digest: np.ndarray) -> str:
    return f"{int(digest[1]):016x}{int(digest[0]):016x}"


def test_digests_never_change() -> None:
    """Stored digests are compared with new ones: a new hash would be a new format."""
    graphs = to_set([nx.path_graph(4), PETERSEN])
    degree = graphs.degree
    assert [hexadecimal(d) for d in wl(graphs).digest] == WL
    assert [hexadecimal(d) for d in fwl(graphs).digest] == FWL
    assert [hexadecimal(d) for d in gpnn(graphs, degree, "cross").digest] == CROSS
    assert [hexadecimal(d) for d in gpnn(graphs, degree, "edges", 2, True).digest] == EDGES
    assert [hexadecimal(d) for d in gpnn(graphs, degree, "pairs").digest] == PAIRS


def test_classes_number_graphs_in_order() -> None:
    graphs = to_set([nx.path_graph(3), nx.cycle_graph(3), nx.path_graph(3), nx.star_graph(3)])
    assert wl(graphs).classes.tolist() == [0, 1, 0, 2]
    assert len(wl(graphs)) == 4
    assert wl(to_set([])).classes.tolist() == []
    assert wl(to_set([])).at(3).shape == (0, 2)


def test_rounds_cap_the_comparison() -> None:
    tails = [nx.disjoint_union(nx.path_graph(n), nx.cycle_graph(10 - n)) for n in (7, 6)]
    pair = to_set(tails)
    assert wl(pair).first_difference(0, 1) == 4
    assert not wl(pair, rounds=3).distinguishes(0, 1)
    assert wl(pair, rounds=3).first_difference(0, 1) is None
    assert wl(pair, rounds=4).first_difference(0, 1) == 4
    assert wl(pair, rounds=30).first_difference(0, 1) == 4
    assert wl(pair, rounds=0).recorded.tolist() == [0, 0]


def test_the_witness_counts_what_it_says() -> None:
    graphs = to_set(hard() + sample(4, few=10))
    found = gpnn(graphs, None, "pairs")
    for g, h in ((0, 1), (4, 5), (6, 7), (11, 12), (0, 12)):
        witness = found.witness(g, h)
        assert witness is not None
        assert witness.round == found.first_difference(g, h)
        exact = gpnn(graphs, None, "pairs", rounds=witness.round)
        for vertices, one in ((witness.left, g), (witness.right, h)):
            named = [hexadecimal(c) for c in exact.colours(one)]
            assert tuple(v for v, c in enumerate(named) if c == witness.colour) == vertices
        assert len(witness.left) != len(witness.right)


def test_colours_by_graph_and_for_all() -> None:
    graphs = to_set(sample(6, few=10))
    found = gpnn(graphs, graphs.degree, "pairs", rounds=2)
    for r in range(3):
        each = [found.colours(g, r) for g in range(len(graphs))]
        assert np.array_equal(np.concatenate(each), found.at(r))
    assert np.array_equal(found.at(), found.at(2))
    assert np.array_equal(found.colours(-1), found.colours(len(graphs) - 1, 2))


def test_a_round_that_was_not_run_is_refused() -> None:
    found = wl(to_set([nx.path_graph(7), nx.cycle_graph(3)]))
    message = (
        r"Graph 1 was refined up to round 1; round 2 is not available\. Run the refinement with"
    )
    with pytest.raises(InputError, match=message):
        found.at(2)
    with pytest.raises(InputError, match=message):
        found.colours(1, 2)


def test_colours_as_numbers_rows_or_nothing() -> None:
    graphs = to_set([nx.path_graph(3)])
    assert np.array_equal(wl(graphs).digest, wl(graphs, [0, 0, 0]).digest)
    assert np.array_equal(wl(graphs, [4, 1, 4]).digest, wl(graphs, [[4], [1], [4]]).digest)
    assert wl(graphs, [[4, 1], [1, 1], [4, 1]]).stable.tolist() == [0]
    assert not np.array_equal(wl(graphs, [1, 0, 0]).digest, wl(graphs, [0, 1, 0]).digest)
    assert not np.array_equal(wl(graphs, [-1, 0, 0]).digest, wl(graphs, [1, 0, 0]).digest)


def test_bad_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = to_set([nx.path_graph(3)])
    with pytest.raises(InputError, match=r"shape \[3\] or \[3, w\].*got shape \[2\]"):
        wl(graphs, [1, 2])
    with pytest.raises(InputError, match="must be whole numbers; got dtype float64"):
        fwl(graphs, [0.5, 1, 2])
    for rounds in (-1, 1.5, True):
        with pytest.raises(InputError, match="rounds must be a whole number of at least 0"):
            gpnn(graphs, None, rounds=rounds)  # type: ignore[arg-type]
    monkeypatch.setattr("gpnn.sizes.available_bytes", lambda: 48 * 50)
    with pytest.raises(InputError, match=r"memory ran out at graph 1.*Give rounds=k"):
        wl(to_set([nx.path_graph(3), nx.path_graph(30)]))
