"""Graphs to start from, and where their vertices lie."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from explore.graphs import wire
from gpnn import InputError, as_graphs
from gpnn.explore.gallery import gallery, open_sources
from gpnn.explore.positions import place
from gpnn.lab.named import NAMED_PAIRS


def test_every_entry_can_be_shown():
    entries = gallery()["entries"]
    assert {entry["id"] for entry in entries} >= {*NAMED_PAIRS, "karate", "mutag-2"}
    for entry in entries:
        assert len(entry["graphs"]) in (1, 2) and entry["story"]
        for graph in entry["graphs"]:
            ends = np.array(graph["edges"])
            assert ends.shape[1] == 2 and ends.min() >= 0 and ends.max() < graph["n"]


def test_molecules_keep_atoms_and_labels():
    [molecule] = next(e for e in gallery()["entries"] if e["id"] == "mutag-2")["graphs"]
    assert molecule["names"].count("O") == 2 and len(molecule["node_labels"]) == molecule["n"]
    assert len(molecule["edge_labels"]) == len(molecule["edges"])


GRAPHS = {
    "ring": nx.cycle_graph(5),
    "long path": nx.path_graph(100),
    "no edges": nx.empty_graph(70),
    "two pieces": nx.disjoint_union(nx.cycle_graph(50), nx.path_graph(30)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_vertices_lie_apart_and_the_same_every_time(name):
    graph = GRAPHS[name]
    points = np.array(place({"graph": wire(graph)})["at"])
    assert points.shape == (len(graph), 2) and np.isfinite(points).all()
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert (gaps[~np.eye(len(graph), dtype=bool)] > 0.02).all()
    assert (np.array(place({"graph": wire(graph)})["at"]) == points).all()


def test_sources_of_the_command_line():
    left, right = open_sources(["rings"], as_graphs)
    assert (left["title"], right["title"]) == ("C6", "2 × C3")
    path = as_graphs(nx.path_graph(3))
    assert open_sources(["a.edges"], lambda _: path)[0]["title"] == "a.edges"
    two = as_graphs([nx.path_graph(3), nx.path_graph(2)])
    with pytest.raises(InputError, match="holds 2 graphs; the explorer opens one"):
        open_sources(["many"], lambda _: two)
    with pytest.raises(InputError, match="has 500 vertices and 0 edges; the explorer takes up to"):
        open_sources(["large"], lambda _: as_graphs(nx.empty_graph(500)))
