from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from gpnn.errors import InputError
from gpnn.graph.readers import read_graphs


def read(folder: Path, text: str):
    path = folder / "a.graphml"
    path.write_text(text)
    return read_graphs(path)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_what_networkx_writes(tmp_path: Path, kind: type) -> None:
    graph = kind(nx.karate_club_graph())
    nx.write_graphml(graph, tmp_path / "k.graphml")
    ours = read_graphs(tmp_path / "k.graphml")
    assert (ours.num_nodes, ours.num_edges) == (34, 78)
    assert ours.vertex_names is None
    assert ours.normalised.reversed_added == 0
    nx.write_graphml(nx.DiGraph([("a", "b")]), tmp_path / "d.graphml")
    named = read_graphs(tmp_path / "d.graphml")
    assert (named.vertex_names, named.normalised.reversed_added) == (["a", "b"], 1)


def test_several_graphs_and_prefixes(tmp_path: Path) -> None:
    graphs = read(
        tmp_path,
        '<g:graphml xmlns:g="x"><g:graph id="one"><g:node id="0"/></g:graph>'
        '<g:graph id="two"><g:node id="a"/><g:node id="b"/>'
        '<g:edge source="a" target="b"/></g:graph></g:graphml>',
    )
    assert graphs.graph_names == ["one", "two"]
    assert graphs.vertex_names == ["0", "a", "b"]


BOMB = """<?xml version="1.0"?>
<!DOCTYPE graphml [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>
<graphml><graph><node id="&b;"/></graph></graphml>"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "line 2: a document type or entity declaration"),
        ("<graphml>\n<graph>\n<node id='a'/>", "line 3: not well-formed XML"),
        ("\x00\x01", "line 1: not well-formed XML"),
        ("", "line 1: not well-formed XML"),
        ("<html/>", "expected <graphml>, got <html>"),
        ("<graphml/>", "holds no <graph>"),
        ("<graphml><graph>\n<node/></graph></graphml>", "line 2: <node> without 'id'"),
        ("<graphml><graph><edge source='a'/></graph></graphml>", "<edge> without 'target'"),
        (
            "<graphml><graph><node id='a'/>\n<edge source='a' target='b'/></graph></graphml>",
            "line 2: an edge names the node 'b'",
        ),
        ("<graphml><graph><node id='a'/><node id='a'/></graph></graphml>", "declared twice"),
        (
            "<graphml><graph><node id='a'><graph/></node></graph></graphml>",
            "a graph inside a graph",
        ),
        ("<graphml><graph><hyperedge/></graph></graphml>", "a hyperedge"),
    ],
)
def test_refusals(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_hidden_declaration_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "u.graphml").write_bytes(
        BOMB.replace('"1.0"', '"1.0" encoding="utf-16"').encode("utf-16")
    )
    with pytest.raises(InputError, match="document type"):
        read_graphs(tmp_path / "u.graphml")
