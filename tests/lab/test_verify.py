"""The claims on the atlas, and every counterexample again by the slow reference."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from gpnn.errors import InputError
from gpnn.graph.isomorphism import lambda_equivalence
from gpnn.graph.partition import partition
from gpnn.graph.readers.graph6 import parse_graph6
from gpnn.lab.claims import CLAIMS, Outcome
from gpnn.lab.compare import side_by_side
from gpnn.lab.domain import Domain
from gpnn.lab.theorem_schemes import clique_counts, three_wl_and_cliques
from gpnn.lab.verify import select_claims, to_markdown, verdict, verify
from graph.refine.reference import equivalent, slow_fwl, slow_gpnn
from strategies import to_graphs


@pytest.fixture(scope="module")
def atlas():
    return {row["claim"]: row for row in verify(["atlas"], CLAIMS)["rows"]}


FAILS = {"order-carries-over-graphs"}


@pytest.mark.parametrize("name", [claim.name for claim in CLAIMS])
def test_every_claim_on_the_atlas(atlas, name):
    row = atlas[name]
    assert row["graphs"] == 1252 and row["pairs"] == 1252 * 1251 // 2
    assert row["holds"] is (name not in FAILS)
    assert row["cases"] > 0


def slowly_apart(left: str, right: str, scheme: str, kind: str) -> bool:
    graphs = [nx.from_graph6_bytes(text.encode()) for text in (left, right)]
    colours = [
        [tuple(row) for row in partition(to_graphs(graph), scheme).colours.tolist()]
        for graph in graphs
    ]
    last = slow_gpnn(graphs, colours, kind, 1, False)[-1]
    classes = equivalent(last)
    return classes[0] != classes[1]


def test_the_order_of_schemes_does_not_carry_over_as_stated(atlas):
    """class-of-degree ≡ degree by λ-equivalence, yet its GPNN is weaker."""
    found = {example["case"]: example for example in atlas["order-carries-over-graphs"]["examples"]}
    pair = found["degree ⊑ class-of-degree, cross"]
    left, right = pair["left"], pair["right"]
    both = side_by_side(parse_graph6(left), parse_graph6(right))
    assert lambda_equivalence(partition(both, "degree")).distinguishes(0, 1) is False
    assert slowly_apart(left, right, "degree", "cross")
    # All vertices of both graphs get one and the same colour: the trivial scheme.
    assert not slowly_apart(left, right, "trivial", "cross")


def test_strictness_needs_a_scheme_that_cuts(atlas):
    for name in ("interaction-without-isomorphism", "partition-without-interaction"):
        assert atlas[name]["undecided"] == ["trivial"]


@pytest.mark.data
def test_above_3_wl_the_upper_bound_fails(data_dir):
    """The paper's Theorem on bounds and its Lemma for λ ⊒ 3-WL, on strongly regular graphs."""
    names = ["upper-bound-above-3-wl", "variants-coincide-above-3-wl", "variants-rise"]
    rows = verify(["sr"], select_claims(names), str(data_dir))["rows"]
    assert [row["holds"] for row in rows] == [False, False, True]
    example = rows[0]["examples"][0]
    left, right = example["left"], example["right"]
    graphs = [nx.from_graph6_bytes(text.encode()) for text in (left, right)]
    plain = [dict.fromkeys(graph, 0) for graph in graphs]
    alike = equivalent(slow_fwl(graphs, plain)[-1])
    assert alike[0] == alike[1]
    cliques = [
        [sum(v in q and len(q) == 4 for q in nx.enumerate_all_cliques(graph)) for v in graph]
        for graph in graphs
    ]
    assert sorted(cliques[0]) == sorted(cliques[1])
    cut = partition(side_by_side(parse_graph6(left), parse_graph6(right)), three_wl_and_cliques())
    assert lambda_equivalence(cut).distinguishes(0, 1) is False
    last = slow_gpnn(graphs, cliques, "cross", 1, False)[-1]
    assert len(set(equivalent(last))) == 2


@pytest.mark.data
def test_above_3_wl_the_variants_differ(data_dir):
    """``edges`` distinguishes graphs that ``cross`` does not, under 3-WL joined with K4 counts."""
    row = verify(["sr"], select_claims(["variants-coincide-above-3-wl"]), str(data_dir))["rows"][0]
    example = next(one for one in row["examples"] if one["case"].endswith("edges ⊑ cross"))
    texts = example["left"], example["right"]
    graphs = [nx.from_graph6_bytes(text.encode()) for text in texts]
    plain = [dict.fromkeys(graph, 0) for graph in graphs]
    pairs = slow_fwl(graphs, plain)[-1]
    assert len(set(equivalent(pairs))) == 1
    # 3-WL sees one kind of vertex, so the K4 counts are all that is left of the scheme.
    assert len({colours[v, v] for colours in pairs for v in range(36)}) == 1
    cliques = [clique_counts(parse_graph6(text)).tolist() for text in texts]
    apart = {
        kind: len(set(equivalent(slow_gpnn(graphs, cliques, kind, 1, False)[-1]))) == 2
        for kind in ("cross", "edges")
    }
    assert apart == {"cross": False, "edges": True}


def test_clique_counts_equal_networkx():
    graph = nx.gnp_random_graph(14, 0.6, seed=3)
    expected = [
        sum(v in clique for clique in nx.enumerate_all_cliques(graph) if len(clique) == 4)
        for v in graph
    ]
    assert clique_counts(to_graphs(graph)).tolist() == expected


def test_a_broken_claim_is_found():
    domain = Domain("two", side_by_side(to_graphs(nx.path_graph(3)), to_graphs(nx.star_graph(3))))
    assert domain.find(np.array([0, 0]), np.array([0, 1])) is not None
    assert domain.find(np.array([0, 1]), np.array([0, 1])) is None


def test_the_report_names_counterexamples():
    result = verify(["atlas"], select_claims(["order-carries-over-graphs"]))
    page = to_markdown(result, "gpnn verify")
    assert "FAILS in" in page and "counterexample: `" in page and "`gpnn verify`" in page
    assert verdict({"holds": None}) == "no case here"
    assert Outcome("x", None).example is None


def test_unknown_claims_list_the_choices():
    with pytest.raises(
        InputError, match=r"There is no claim 'p-is-np'. Choose one of: isomorphic-"
    ):
        select_claims(["p-is-np"])
