"""Text of a person or a file."""

from __future__ import annotations

import pytest

from gpnn import InputError
from gpnn.explore.parse import parse


def test_edges_with_names_and_notes():
    found = parse({"kind": "edges", "text": "a b\nb c 3\nc a 1\na a 1\n"})
    graph = found["graph"]
    assert (graph["n"], len(graph["edges"]), graph["names"]) == (3, 3, ["a", "b", "c"])
    assert found["count"] == 1
    assert "further columns" in found["notes"][0] and "self-loops dropped" in found["notes"][1]
    assert "/" not in found["notes"][0]


def test_graph6_of_many():
    found = parse({"kind": "graph6", "text": "Bw\nDqK\n", "index": 1})
    assert (found["count"], found["graph"]["n"]) == (2, 5)
    assert found["graph"]["title"] == "pasted graph6, graph 1"


def test_smiles_keeps_atoms():
    pytest.importorskip("rdkit")
    graph = parse({"kind": "smiles", "text": " OCC#N "})["graph"]
    assert graph["names"] == ["O", "C", "C", "N"]
    assert (graph["smiles"], graph["title"]) == ("OCC#N", "OCC#N")
    assert graph["node_labels"] == [8, 6, 6, 7] and graph["edge_labels"] == [1, 1, 3]


def test_a_file_by_its_ending():
    text = '<graphml><graph id="G" edgedefault="undirected"><node id="x"/><node id="y"/>\
<edge source="x" target="y"/></graph></graphml>'
    found = parse({"kind": "file", "name": "C:\\my\\toy.graphml", "text": text})
    assert found["graph"]["names"] == ["x", "y"] and found["graph"]["title"] == "toy.graphml"


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"kind": "edges", "text": " "}, "There is no text. Give an edge list"),
        ({"kind": "edges", "text": "0 1\n2,,3\n"}, "pasted edges, line 2: an empty field"),
        ({"kind": "graph6", "text": "hello!"}, "pasted graph6, line 1: byte"),
        ({"kind": "graph6", "text": ":~~~~~~~~"}, "sparse6 is not read on the page. Give graph6"),
        ({"kind": "graph6", "text": ">>sparse6<<:An"}, "sparse6 is not read on the page"),
        ({"kind": "smiles", "text": "C1C"}, "'C1C' is not SMILES that RDKit can read"),
        ({"kind": "smiles", "text": "C" * 2001}, "the SMILES has 2,001 characters"),
        ({"kind": "sparse", "text": "x"}, "There is no kind of input 'sparse'. Choose from edges"),
        ({"kind": "file", "text": "x"}, "name must be a text; got None"),
        ({"kind": "file", "name": "a.npz", "text": "x"}, "a.npz: files ending in '.npz' are not"),
        ({"kind": "file", "name": "a.edges.gz", "text": "x"}, "unpack compressed ones first"),
        ({"kind": "file", "name": "../../etc/passwd", "text": "x"}, "passwd: files ending in"),
        ({"kind": "file", "name": "a.s6", "text": ":An"}, "files ending in '.s6' are not read"),
        ({"kind": "edges", "text": "0 1", "index": 1}, "index must be a whole number from 0 to 0"),
        ({"kind": "edges", "text": "\n".join(f"0 {i}" for i in range(1, 500))}, "takes up to 400"),
        ({"kind": "graph6", "text": "?"}, "has no vertices: there is nothing to show"),
        ({"kind": "edges", "text": 3}, "the text must be a text; got 3"),
        ({"text": "0 1"}, "the request lacks kind"),
    ],
)
def test_refusals(request_, said):
    if request_.get("kind") == "smiles":
        pytest.importorskip("rdkit")
    with pytest.raises(InputError) as refused:
        parse(request_)
    assert said in str(refused.value)
    assert "/tmp" not in str(refused.value)
