from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs
from gpnn.graph.readers import InputNote, read_graphs
from gpnn.graph.readers.fields import Fields, float_table, integer_table


def read(folder: Path, text: str, name: str = "a.edges", **options: object) -> Graphs:
    path = folder / name
    path.write_text(text)
    return read_graphs(path, **options)


def edges(graphs: Graphs) -> list[list[int]]:
    return graphs.edges().T.tolist()


@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1)), st.sampled_from([" ", "\n", ", ", "\t"]))
def test_fields_find_whole_numbers(numbers: list[int], separator: str) -> None:
    values, good = Fields.of(separator.join(map(str, numbers)).encode()).integers()
    assert good.all()
    assert values.tolist() == numbers


@given(st.lists(st.text("0123456789-abc.", min_size=1, max_size=22), min_size=1))
def test_fields_refuse_exactly_what_is_no_whole_number(words: list[str]) -> None:
    _, good = Fields.of(" ".join(words).encode()).integers()
    for word, ok in zip(words, good, strict=True):
        digits = word.removeprefix("-")
        assert ok == (digits.isdigit() and len(digits) <= 18)


def test_tables_name_the_line() -> None:
    with pytest.raises(InputError, match="f, line 2: expected 2 numbers, got 1"):
        integer_table(b"1,2\n3\n", Path("f"), 2)
    with pytest.raises(InputError, match="f, line 3: expected a whole number, got 'x'"):
        integer_table(b"1\n2\nx\n", Path("f"))
    table = float_table(b"1,,nan\n,2,\n", Path("f"))
    assert np.array_equal(table, [[1, np.nan, np.nan], [np.nan, 2, np.nan]], equal_nan=True)
    with pytest.raises(InputError, match="f, line"):
        float_table(b"1,2\n3,x\n", Path("f"))


@pytest.mark.parametrize(
    "text", ["0 1\n1 2\n", "0,1\n1,2", "0\t1\r\n1\t2\r\n", "% c\n0 1\n\n# d\n1 2"]
)
def test_separators_comments_and_line_ends(tmp_path: Path, text: str) -> None:
    graph = read(tmp_path, text)
    assert edges(graph) == [[0, 1], [1, 2]]
    assert graph.vertex_names is None


def test_vertices_are_the_names_that_occur(tmp_path: Path) -> None:
    gaps = read(tmp_path, "10 3\n3 7\n")
    assert gaps.vertex_names == ["3", "7", "10"]
    assert edges(gaps) == [[0, 1], [0, 2]]
    one_based = read(tmp_path, "1 2\n2 3\n")
    assert (one_based.num_nodes, one_based.vertex_names) == (3, ["1", "2", "3"])
    words = read(tmp_path, "b a\na c\n")
    assert words.vertex_names == ["b", "a", "c"]


def test_lone_names_are_isolated_vertices(tmp_path: Path) -> None:
    assert read(tmp_path, "0 1\n2\n").num_nodes == 3
    assert read(tmp_path, "a b\nc\n").vertex_names == ["a", "b", "c"]


def test_num_nodes_makes_ids(tmp_path: Path) -> None:
    graph = read(tmp_path, "1 2\n", num_nodes=5)
    assert (graph.num_nodes, edges(graph)) == (5, [[1, 2]])
    with pytest.raises(InputError, match=r"a\.edges: Vertex 7 is not below num_nodes = 5"):
        read(tmp_path, "7 1\n", num_nodes=5)
    with pytest.raises(InputError, match="numbered 0 to 4"):
        read(tmp_path, "1 7\n", num_nodes=5)
    with pytest.raises(InputError, match="whole numbers from 0"):
        read(tmp_path, "a b\n", num_nodes=5)


@pytest.mark.parametrize("header", ["source,target", "u,v", "apples,pears", '"from","to"'])
def test_headers(tmp_path: Path, header: str) -> None:
    assert edges(read(tmp_path, f"{header}\n0,1\n1,2\n", "a.csv")) == [[0, 1], [1, 2]]


def test_words_without_a_known_header_are_all_edges(tmp_path: Path) -> None:
    assert read(tmp_path, "apples,pears\npears,figs\n", "a.csv").num_edges == 2


def test_columns_in_any_order_and_weights_left_aside(tmp_path: Path) -> None:
    with pytest.warns(InputNote, match="1 further columns on 2 lines"):
        graph = read(tmp_path, "0 1 0.5\n1 2 0.25\n")
    assert edges(graph) == [[0, 1], [1, 2]]
    swapped = read(tmp_path, "weight,target,source\n0.5,1,0\n0.1,2,1\n", "a.csv")
    assert edges(swapped) == [[0, 1], [1, 2]]


def test_many_graphs(tmp_path: Path) -> None:
    text = "graph,source,target\n5,0,1\n2,0,1\n5,1,2\n"
    graphs = read(tmp_path, text, "a.csv")
    assert np.diff(graphs.ptr).tolist() == [2, 3]
    assert graphs.graph_names == ["2", "5"]
    assert graphs.vertex_names is None
    named = read(tmp_path, "graph,source,target\nx,a,b\ny,a,c\n", "a.csv")
    assert named.graph_names == ["x", "y"]
    assert named.vertex_names == ["a", "b", "a", "c"]


def test_normalisation_is_counted(tmp_path: Path) -> None:
    counted = read(tmp_path, "0 1\n1 0\n0 1\n2 2\n2 3\n").normalised
    assert (counted.self_loops, counted.duplicates, counted.reversed_added) == (1, 1, 1)


def test_gzip_and_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf0 1\n"))
    assert read_graphs(path).num_edges == 1
    path.write_bytes(gzip.compress(b"0 1\n" * 1000)[:-12])
    with pytest.raises(InputError, match="truncated or not gzip"):
        read_graphs(path)


def test_empty_file_is_the_graph_without_vertices(tmp_path: Path) -> None:
    graph = read(tmp_path, "# nothing\n")
    assert (len(graph), graph.num_nodes) == (1, 0)
    assert len(read(tmp_path, "graph,source,target\n", "a.csv")) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1\n-1 2\n", "line 2: -1 is negative"),
        ("0,1\n1,,2\n", "line 2: an empty field"),
        ("a,b\n,c\n", "line 2: an empty field"),
        ("source,target\na,b\nc\n", "line 3: expected 2 columns, got 1"),
        ("graph,source,target\n0,1\n", "line 2: expected 3 columns, got 2"),
        ("0 1\0\n", "not a text file"),
        ("999999999999999999 999999999999999998\n1 999999999999999999", None),
    ],
)
def test_bad_lines(tmp_path: Path, text: str, message: str | None) -> None:
    if message is None:
        assert read(tmp_path, text).num_nodes == 3
        return
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)
