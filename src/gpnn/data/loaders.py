"""From the marker file of a dataset to its graphs; readers are imported on first use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..errors import InputError
from ..graph.graphs import Graphs

__all__ = ["atlas", "graph6", "graphsat", "npz", "ogb", "tu", "webkb"]


def tu(marker: Path) -> Graphs:
    from ..graph.readers.tu import read_tu_graphs

    return read_tu_graphs(marker.parent)


def ogb(marker: Path) -> Graphs:
    from ..graph.readers.ogb import read_ogb_graphs

    return read_ogb_graphs(marker.parent)


def npz(marker: Path) -> Graphs:
    from ..graph.readers.npz import read_npz

    return read_npz(marker)


def graph6(marker: Path) -> Graphs:
    from ..graph.readers.graph6 import read_graph6

    return read_graph6(marker)


def graphsat(marker: Path) -> Graphs:
    from ..graph.readers.graphsat import read_graphsat

    return read_graphsat(marker)[0]


def webkb(marker: Path) -> Graphs:
    """geom-gcn's text files: edges with a header, and one line per vertex."""
    from ..graph.readers.edge_list import read_edge_list
    from ..graph.readers.files import read_bytes

    vertices = marker.with_name("out1_node_feature_label.txt")
    lines = len(read_bytes(vertices).splitlines())
    if lines < 2:
        raise InputError(f"{vertices} is empty or truncated.")
    return read_edge_list(marker, num_nodes=lines - 1)


def atlas(_: Path) -> Graphs:
    """networkx's atlas of graphs; graph 0 has no vertices, names are G0 … G1252."""
    from networkx.generators.atlas import graph_atlas_g

    from ..graph.convert import as_graphs

    graphs = as_graphs(graph_atlas_g())
    return replace(graphs, graph_names=[f"G{g}" for g in range(len(graphs))])
