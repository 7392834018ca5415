"""Reasons against networkx."""

from __future__ import annotations

import networkx as nx
import pytest

from gpnn import partition, register_scheme
from gpnn.explore.why import reasons

CLUB = nx.karate_club_graph()


def said(scheme, graph=CLUB):
    return reasons(partition(graph, scheme))


def test_numbers_are_those_of_networkx():
    core = nx.core_number(CLUB)
    inside = {v: sum(core[u] >= core[v] for u in CLUB[v]) for v in CLUB}
    triangles = nx.triangles(CLUB)
    layer = nx.onion_layers(CLUB)
    lines = zip(said("degree"), said("core"), said("core-degree"), said("triangle"),
                said("core-onion"), strict=True)  # fmt: skip
    for v, (degree, shell, both, corners, onion) in enumerate(lines):
        assert degree == f"degree {CLUB.degree[v]}"
        assert shell.startswith(f"core number {core[v]}: in the {core[v]}-core")
        assert both == f"core number {core[v]}, degree inside the {core[v]}-core {inside[v]}"
        assert corners == f"in {triangles[v]} triangle{'s' * (triangles[v] != 1)}"
        assert onion == f"core number {core[v]}, peeled away in round {layer[v]} (onion layer)"


@pytest.mark.parametrize("radius", [1, 2])
def test_sizes_of_egos(radius):
    for v, line in enumerate(said(f"ego-{radius}")):
        ego = nx.ego_graph(CLUB, v, radius)
        assert line.startswith(f"{len(ego)} vertices and {ego.size()} edges within {radius} hop")


def test_the_others():
    path = nx.path_graph(3)
    assert said("trivial", path) == ["every vertex lies in the one part"] * 3
    assert said("orbit", path)[0] == "one of 2 vertices that symmetries exchange"
    assert said("orbit", path)[1] == "no symmetry of the graph moves it"
    assert said("wl-1", path)[1].endswith("after 1 rounds; degree 2, neighbours of degree 1, 1")
    assert (
        said("core+degree", path)[0] == "core number 1: in the 1-core, not in the 2-core; degree 1"
    )
    register_scheme("explore-test", lambda graphs: graphs.degree % 2)
    assert said("explore-test", path) == ["explore-test 1", "explore-test 0", "explore-test 1"]
