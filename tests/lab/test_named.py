"""The named pairs are what their stories say."""

from __future__ import annotations

from collections import defaultdict

import networkx as nx
import pytest

from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs
from gpnn.graph.partition import Partition
from gpnn.lab.compare import compare, side_by_side
from gpnn.lab.methods import Method
from gpnn.lab.named import NAMED_PAIRS, named_pair


def verdicts(name: str, *methods: Method) -> list[bool | None]:
    _, left, right = named_pair(name)
    return [finding.distinguishes for finding in compare(left, right, methods)]


@pytest.mark.parametrize(
    ("name", "one", "three"),
    [
        ("rings", False, True),
        ("decalin", False, True),
        ("shrikhande", False, False),
        ("csl", False, True),
        ("cfi", False, False),
    ],
)
def test_wl_on_the_named_pairs(name, one, three):
    _, left, right = named_pair(name)
    assert not nx.is_isomorphic(left.to_networkx(), right.to_networkx())
    methods = Method("1-wl"), Method("3-wl"), Method("isomorphism")
    assert verdicts(name, *methods) == [one, three, True]


def test_strongly_regular_parameters():
    for graph in named_pair("shrikhande")[1:]:
        assert nx.is_strongly_regular(graph.to_networkx())
        assert (graph.num_nodes, graph.num_edges) == (16, 48)


def test_unknown_names_list_the_pairs():
    with pytest.raises(InputError, match="Choose one of: rings, decalin, shrikhande, csl, cfi"):
        named_pair("nothing")
    assert set(NAMED_PAIRS) >= {"figure-a", "figure-b"}


def test_a_comparison_takes_single_graphs():
    _, left, right = named_pair("rings")
    with pytest.raises(InputError, match="a set of 2"):
        side_by_side(side_by_side(left, right), left)


def by_degree(graph: nx.Graph) -> tuple[list[nx.Graph], nx.Graph]:
    """Parts and boundary under the degree scheme, by definition."""
    degree = dict(graph.degree)
    parts = [
        graph.subgraph([v for v in graph if degree[v] == d]) for d in sorted(set(degree.values()))
    ]
    ends = {v for u, w in graph.edges if degree[u] != degree[w] for v in (u, w)}
    return parts, graph.subgraph(ends)


def search(wanted: str) -> tuple[int, int]:
    """(vertices, edges of the larger graph) of the smallest pair in the atlas, pair by pair."""
    found = []
    buckets = defaultdict(list)
    for graph in nx.graph_atlas_g()[1:]:
        degrees = tuple(sorted(d for _, d in graph.degree))
        inside = tuple(part.number_of_edges() for part in by_degree(graph)[0])
        buckets[degrees, inside].append(graph)
    for graphs in buckets.values():
        for i, g in enumerate(graphs):
            for h in graphs[:i]:
                (parts_g, border_g), (parts_h, border_h) = by_degree(g), by_degree(h)
                if not all(map(nx.is_isomorphic, parts_g, parts_h)):
                    continue
                if nx.is_isomorphic(border_g, border_h) == (wanted == "interaction"):
                    found.append((len(g), max(g.number_of_edges(), h.number_of_edges())))
    return min(found)


@pytest.mark.parametrize(
    ("name", "wanted"), [("figure-a", "interaction"), ("figure-b", "partition")]
)
def test_the_figures_pairs_are_the_smallest(name, wanted):
    _, left, right = named_pair(name)
    size = left.num_nodes, max(left.num_edges, right.num_edges)
    assert size == search(wanted)
    g, h = left.to_networkx(), right.to_networkx()
    assert not nx.is_isomorphic(g, h)
    (parts_g, border_g), (parts_h, border_h) = by_degree(g), by_degree(h)
    assert all(map(nx.is_isomorphic, parts_g, parts_h))
    assert nx.is_isomorphic(border_g, border_h) == (wanted == "interaction")


def test_every_partition_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    _, left, right = named_pair("decalin")
    asked: list[str] = []
    plain = Method.cut

    def counted(method: Method, graphs: Graphs) -> Partition:
        asked.append(str(method.scheme))
        return plain(method, graphs)

    monkeypatch.setattr(Method, "cut", counted)
    compare(left, right)
    assert sorted(asked) == sorted(set(asked)) and len(asked) == 6
