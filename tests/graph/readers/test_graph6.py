from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs
from gpnn.graph.readers import read_graphs
from gpnn.graph.readers.graph6 import format_graph6, parse_graph6

random_graphs = st.builds(
    nx.gnp_random_graph, st.integers(0, 12), st.floats(0, 1), seed=st.integers(0, 99)
)


def line_of(graph: nx.Graph) -> str:
    return nx.to_graph6_bytes(graph, header=False).decode().strip()


@given(random_graphs)
def test_round_trip_agrees_with_networkx(graph: nx.Graph) -> None:
    ours = as_graphs(graph)
    assert format_graph6(ours) == line_of(graph)
    back = parse_graph6(line_of(graph))
    assert back.num_nodes == len(graph)
    assert np.array_equal(back.indices, ours.indices)
    assert back.normalised.reversed_added == 0


@pytest.mark.parametrize("n", [62, 63, 64, 300])
def test_long_numbers_of_vertices(n: int) -> None:
    graph = nx.gnp_random_graph(n, 0.1, seed=n)
    assert format_graph6(as_graphs(graph)) == line_of(graph)
    assert np.array_equal(parse_graph6(line_of(graph)).edges(), as_graphs(graph).edges())


@given(st.lists(random_graphs, min_size=1, max_size=8), st.booleans())
def test_files_of_many_lines(tmp_path_factory, graphs: list[nx.Graph], mixed: bool) -> None:
    path = tmp_path_factory.mktemp("g6") / "many.g6"
    lines = [line_of(graph) for graph in graphs]
    if mixed:
        lines[0] = nx.to_sparse6_bytes(graphs[0], header=False).decode().strip()
    path.write_text(">>graph6<<" * (not mixed) + "\r\n".join(lines) + "\n\n")
    expected = as_graphs(graphs)
    read = read_graphs(path)
    assert np.array_equal(read.ptr, expected.ptr)
    assert np.array_equal(read.indices, expected.indices)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("D~", "5 vertices need 2 bytes of edges, got 1. The line is truncated"),
        ("C~~", "4 vertices need 1 bytes of edges, got 2"),
        ("A`", "padding bits"),
        ("C!", "byte '!' does not occur"),
        ("&AG", "byte '&' does not occur"),
        ("~?", "ends inside the number of vertices"),
        ("~~??", "ends inside the number of vertices"),
        ("~~~~~~~~", "more than can be held"),
        ("", "empty text"),
        ("Cé", "outside ASCII"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_graph6(text)


def test_file_errors_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "x.g6"
    path.write_text("C~\n\nD~\n")
    with pytest.raises(InputError, match=r"x\.g6, line 3: 5 vertices need"):
        read_graphs(path)


def test_one_graph_a_line() -> None:
    with pytest.raises(InputError, match="got 2 graphs"):
        format_graph6(as_graphs([nx.path_graph(2)] * 2))


@pytest.mark.data
def test_atlas_size_families(data_dir: Path) -> None:
    from gpnn.data.datasets import load_graphs

    graphs = load_graphs("sr251256", data_dir)
    assert (len(graphs), set(graphs.degree.tolist())) == (15, {12})
    assert len(load_graphs("graph8c", data_dir)) == 11117
