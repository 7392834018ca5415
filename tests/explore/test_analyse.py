"""The function behind the page against networkx and the lab."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise

import networkx as nx
import pytest

from explore.graphs import LOLLIPOP, RING, TRIANGLES, wire
from gpnn import InputError
from gpnn.explore import analyse
from gpnn.explore.request import MAX_EDGES, MAX_VERTICES, METHODS
from gpnn.lab.compare import compare
from gpnn.lab.methods import Method
from gpnn.lab.named import NAMED_PAIRS, named_pair
from gpnn.plots.palette import palette


def test_parts_edges_and_border_of_one_graph():
    club = nx.karate_club_graph()
    found = analyse({"graphs": [wire(club)], "scheme": "core", "interactions": "cross"})
    core = nx.core_number(club)
    [graph] = found["graphs"]
    labels = [found["parts"][p]["label"] for p in graph["part"]]
    assert labels == [str(core[v]) for v in club]
    assert [part["counts"] for part in found["parts"]] == [
        [list(core.values()).count(k)] for k in sorted(set(core.values()))
    ]
    kinds = {tuple(edge["ends"]): edge["kind"] for edge in graph["edges"]}
    assert kinds == {
        tuple(sorted(edge)): "within" if core[edge[0]] == core[edge[1]] else "cross"
        for edge in club.edges()
    }
    border = {v for edge, kind in kinds.items() if kind == "cross" for v in edge}
    assert graph["boundary"]["vertices"] == sorted(border)
    assert {tuple(e) for e in graph["boundary"]["edges"]} == {
        tuple(sorted(e)) for e in club.subgraph(border).edges()
    }
    assert [v for v, on in enumerate(graph["border"]) if on] == sorted(border)
    assert (found["verdicts"], found["isomorphic"]) == ([], None)
    assert list(found["methods"]) == ["cross"]
    assert [part["colour"] for part in found["parts"]] == palette(len(found["parts"]))
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("name", NAMED_PAIRS)
@pytest.mark.parametrize("scheme", ["core-degree", "triangle"])
def test_verdicts_are_those_of_the_lab(name, scheme):
    _, left, right = named_pair(name)
    found = analyse({"graphs": [wire(left), wire(right)], "scheme": scheme})
    methods = [Method("1-wl"), *(Method("gpnn", scheme, kind, 1) for kind in
               ("cross", "edges", "pairs")), Method("3-wl")]  # fmt: skip
    expected = compare(left, right, methods)
    assert [row["method"] for row in found["verdicts"]] == list(METHODS)
    for row, finding in zip(found["verdicts"], expected, strict=True):
        assert (row["distinguishes"], row["round"]) == (finding.distinguishes, finding.rounds)
    assert found["isomorphic"] is False


def test_rounds_share_numbers_and_show_the_first_difference():
    found = analyse({"graphs": [RING, TRIANGLES], "interactions": "edges", "methods": []})
    run = found["methods"]["edges"]
    assert (run["distinguishes"], run["round"]) == (True, 1)
    before, after = run["rounds"][0], run["rounds"][1]
    assert sorted(before[0]) == sorted(before[1])
    assert not set(after[0]) & set(after[1])
    assert len(run["palette"]) == 2 and len(set(run["palette"])) == 2


def test_rounds_refine_and_large_pieces_keep_their_number():
    found = analyse({"graphs": [wire(nx.karate_club_graph())], "interactions": "pairs"})
    rounds = [row[0] for row in found["methods"]["pairs"]["rounds"]]
    assert rounds[0] == found["graphs"][0]["part"]
    for before, after in pairwise(rounds):
        parent = dict(zip(after, before, strict=True))
        assert [parent[c] for c in after] == before
        for old in set(before):
            pieces = [c for c in parent if parent[c] == old]
            largest = max(pieces, key=after.count)
            assert old in pieces and after.count(old) == after.count(largest)
    count = max(rounds[-1]) + 1
    colours = found["methods"]["pairs"]["palette"]
    assert count == len(colours) == len(set(colours)) > 7
    assert sorted(colours) == sorted(palette(count))


def test_isomorphic_graphs_are_never_distinguishes():
    club = nx.karate_club_graph()
    turned = nx.relabel_nodes(club, {v: (v * 7 + 3) % 34 for v in club})
    found = analyse({"graphs": [wire(club), wire(nx.Graph(sorted(turned.edges())))]})
    assert found["isomorphic"] is True
    assert not any(row["distinguishes"] for row in found["verdicts"])


def test_long_paths_are_cut_short_and_say_so():
    run = analyse({"graphs": [wire(nx.path_graph(200))]})["methods"]["edges"]
    assert run["stable"] is None and len(run["rounds"]) == 41
    two = analyse({"graphs": [wire(nx.path_graph(120)), wire(nx.path_graph(121))],
                   "methods": ["1-wl"]})  # fmt: skip
    assert two["methods"]["1-wl"]["distinguishes"] and two["methods"]["1-wl"]["round"] == 0


def test_a_difference_of_pairs_before_vertices():
    found = analyse({"graphs": [RING, TRIANGLES], "methods": ["3-wl"]})
    run = found["methods"]["3-wl"]
    assert (run["round"], run["vertex_round"]) == (1, 2)
    assert len(run["rounds"]) >= 3


def test_loops_and_copies_are_dropped():
    edges = [[0, 1], [1, 0], [1, 1], [1, 2]]
    [graph] = analyse({"graphs": [{"n": 3, "edges": edges}]})["graphs"]
    assert [edge["ends"] for edge in graph["edges"]] == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ({"graphs": []}, "a list of one or two graphs; got []"),
        ({"graphs": "x"}, "a list of one or two graphs; got 'x'"),
        ({"graphs": [LOLLIPOP] * 3}, "a list of one or two graphs"),
        ({"graphs": [7]}, "graph 0 must be a JSON object; got 7"),
        ({"graphs": [{"n": 3}]}, "graph 0 lacks edges"),
        ({"graphs": [{**LOLLIPOP, "weights": []}]}, "unknown field 'weights'. Known: n, edges"),
        ({"graphs": [{"n": 0, "edges": []}]}, "n of graph 0 must be a whole number from 1 to 400"),
        ({"graphs": [{"n": True, "edges": []}]}, "got True"),
        ({"graphs": [{"n": 2.0, "edges": []}]}, "got 2.0"),
        ({"graphs": [{"n": MAX_VERTICES + 1, "edges": []}]}, "from 1 to 400; got 401"),
        ({"graphs": [{"n": 2, "edges": [[0, 1]] * (MAX_EDGES + 1)}]}, "10,001 edges"),
        ({"graphs": [{"n": 2, "edges": {}}]}, "edges of graph 0 must be a list of pairs"),
        ({"graphs": [{"n": 2, "edges": [[0]]}]}, "Edge 0 of graph 0 must be two vertex numbers"),
        ({"graphs": [{"n": 2, "edges": [[0, True]]}]}, "must be two vertex numbers"),
        ({"graphs": [{"n": 2, "edges": [[0, 2]]}]}, "joins 0 and 2, but vertices are numbered 0"),
        ({"graphs": [{"n": 2, "edges": [[0, 10**30]]}]}, "but vertices are numbered 0 to 1"),
        ({"scheme": "shell"}, "There is no scheme 'shell'"),
        ({"scheme": "core+" * 40 + "core"}, "scheme has 204 characters; the limit is 100"),
        ({"scheme": 3}, "scheme must be a text; got 3"),
        ({"interactions": "all"}, "Unknown interactions 'all'"),
        ({"d": 0}, "d must be a whole number from 1 to 4; got 0"),
        ({"d": "1"}, "got '1'"),
        ({"methods": ["4-wl"]}, "There is no method '4-wl'. Choose from 1-wl, cross"),
        ({"methods": "1-wl"}, "methods must be a list of names"),
        ({"rounds": 3}, "unknown field 'rounds'"),
        ({"graphs": [{"n": 251, "edges": []}], "interactions": "pairs"}, "runs it up to 250"),
    ],
)
def test_refusals(patch, said):
    with pytest.raises(InputError) as refused:
        analyse({"graphs": [LOLLIPOP], **patch})
    assert said in str(refused.value)


def test_a_request_that_is_no_object():
    for document in (None, [], "graphs", 3):
        with pytest.raises(InputError, match="must be a JSON object"):
            analyse(document)
    with pytest.raises(InputError, match="lacks graphs"):
        analyse({})


def test_large_pairs_leave_out_what_does_not_fit():
    large = wire(nx.cycle_graph(300))
    found = analyse({"graphs": [large, large]})
    assert [row["method"] for row in found["verdicts"]] == ["1-wl", "cross", "edges"]


def test_no_torch_is_imported():
    code = (
        "import sys; from gpnn.explore.api import Api; from gpnn.explore import analyse;"
        f"analyse({{'graphs': [{LOLLIPOP!r}, {LOLLIPOP!r}]}}); "
        "api = Api(); api.get['/api/gallery']();"
        "print(sorted(m for m in ('torch', 'torch_geometric', 'sklearn') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
