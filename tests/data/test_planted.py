from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpnn.data.generated import read_generated
from gpnn.data.planted import PLANTED, planted
from gpnn.data.raw import Raw
from gpnn.data.samples import load_dataset
from gpnn.data.sources import resolve
from gpnn.errors import InputError
from gpnn.graph.partition import partition

FAMILIES = ("core", "degree", "triangle")


def networks(raw: Raw) -> list[nx.Graph]:
    out = []
    for number in range(len(raw.graphs)):
        one = raw.graphs[number]
        graph = nx.Graph()
        graph.add_nodes_from(range(one.num_nodes))
        graph.add_edges_from(zip(one.rows.tolist(), one.indices.tolist(), strict=True))
        out.append(graph)
    return out


def classes(raw: Raw) -> list[int]:
    return [int(value) for value in raw.targets["class"]]


@given(st.sampled_from(FAMILIES), st.integers(0, 2**16))
def test_the_class_is_a_function_of_the_cross_edges(family: str, seed: int) -> None:
    raw = planted(family, 8, seed)
    assert sorted(classes(raw)) == [0] * 4 + [1] * 4
    for graph, one in zip(networks(raw), classes(raw), strict=True):
        if family == "core":
            core = nx.core_number(graph)
            cross = [(u, v) for u, v in graph.edges if core[u] != core[v]]
            assert len(cross) == (3 if one else 1)
            assert nx.is_connected(graph)
            assert sorted(set(core.values())) == [1, 2]
        elif family == "degree":
            own = nx.triangles(graph)
            assert sum(own.values()) == 12  # four triangles
            degree = dict(graph.degree)
            assert set(degree.values()) == {3, 4}
            mixed = [v for v, count in own.items() if count and degree[v] == 3]
            assert len(mixed) == (4 if one else 0)
            for v in graph:
                assert sum(degree[u] != degree[v] for u in graph[v]) == 2
        else:
            own, (r,) = nx.triangles(graph), {d for _, d in graph.degree}
            assert set(own.values()) == {0, (r - 1) * (r - 2) // 2}
            cross = [(u, v) for u, v in graph.edges if bool(own[u]) != bool(own[v])]
            assert len(cross) >= 4 * r if one else len(cross) <= 2 * r + 2


@pytest.mark.parametrize("family", ["degree", "triangle"])
def test_colour_refinement_sees_no_difference(family: str) -> None:
    raw = planted(family, 30, seed=3)
    seen: dict[tuple[int, int], set[str]] = {}
    for graph in networks(raw):
        key = len(graph), graph.number_of_edges()
        seen.setdefault(key, set()).add(nx.weisfeiler_lehman_graph_hash(graph, iterations=8))
    assert all(len(hashes) == 1 for hashes in seen.values())


def test_three_rounds_of_colour_refinement_see_the_same_in_both_core_classes() -> None:
    """Views of radius 3 are as frequent in one class as in the other, up to chance."""
    raw = planted("core", 400, seed=1)
    colours = partition(raw.graphs, "wl-3")
    of_class = np.array(classes(raw))[raw.graphs.graph_of]
    both = [np.bincount(colours.part[of_class == c], minlength=colours.num_parts) for c in (0, 1)]
    total = sum(both)
    frequent = total >= 50
    assert total[frequent].sum() > 0.98 * total.sum()
    share = both[1][frequent] / total[frequent]
    # counts within a graph are correlated: four standard errors of independent ones, doubled
    assert (np.abs(share - 0.5) < 4 / np.sqrt(total[frequent])).all()


def test_sources() -> None:
    assert len(load_dataset("planted:core,graphs=12,seed=4")) == 12
    assert resolve("planted:degree:3").num_nodes in (24, 32, 36)
    one, again = planted("none", 20, 5), planted("none", 20, 5)
    assert np.array_equal(one.targets["class"], again.targets["class"])
    assert np.array_equal(one.graphs.indices, again.graphs.indices)
    assert len(list(pairwise(PLANTED))) == 3
    for wrong, message in (
        ("planted:shells", "There is no planted family 'shells'"),
        ("planted:core,size=3", "there is no option 'size'"),
        ("planted:core,graphs=x", "must be a whole number"),
        ("planted:core,graphs=0", "must be a whole number"),
        ("planted:core,seed=1,seed=2", "gives seed twice"),
        ("planted:core,graphs=5:x", "has graphs 0 to 4, not 'x'"),
    ):
        with pytest.raises(InputError, match=message):
            read_generated(wrong)
    with pytest.raises(InputError, match="has graphs 0 to 199"):
        load_dataset("planted:core:200")
