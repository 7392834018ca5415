"""Orbit and ego colours against literal implementations."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpnn.errors import InputError
from gpnn.graph import ego
from gpnn.graph.ego import ego_colours, ego_fast_colours, orbit_colours
from gpnn.graph.graphs import Graphs
from strategies import graph_sets, permutation_of, to_graphs

Scheme = Callable[..., np.ndarray]

SCHEMES: dict[str, Scheme] = {
    "orbit": orbit_colours,
    **{f"ego-{r}": lambda g, r=r: ego_colours(g, r) for r in (1, 2, 3)},
    **{f"ego-{r}-fast": lambda g, r=r: ego_fast_colours(g, r) for r in (1, 2, 3)},
}


def rooted_egos(graphs: Graphs, radius: int) -> list[tuple[nx.Graph, int]]:
    peer = graphs.to_networkx()
    out = []
    for v in peer:
        near = nx.ego_graph(peer, v, radius)
        distance = nx.single_source_shortest_path_length(peer, v, radius)
        nx.set_node_attributes(near, distance, "d")
        out.append((near, v))
    return out


def literal_fast(near: nx.Graph, names: dict[object, int]) -> int:
    """SPEC word by word: individualise each w, 1-WL until the number of classes is stable."""

    def name(thing: object) -> int:
        return names.setdefault(thing, len(names))

    outcomes = []
    for w in near:
        colour = {u: name((near.nodes[u]["d"], u == w)) for u in near}
        classes = 0
        while len(set(colour.values())) > classes:
            classes = len(set(colour.values()))
            colour = {u: name((colour[u], tuple(sorted(colour[x] for x in near[u])))) for u in near}
        outcomes.append(name(tuple(sorted(colour.values()))))
    return name(tuple(sorted(outcomes)))


def same_partition(a: list[object], b: list[object]) -> bool:
    pairs = set(zip(a, b, strict=True))
    return len(pairs) == len({x for x, _ in pairs}) == len({y for _, y in pairs})


def rows(colours: np.ndarray) -> list[object]:
    return list(map(tuple, colours.tolist()))


@pytest.mark.parametrize("radius", [1, 2, 3])
@pytest.mark.parametrize("density", [0.15, 0.3])
def test_ego_is_rooted_isomorphism(radius: int, density: float) -> None:
    graphs = Graphs.concatenate(
        [to_graphs(nx.gnp_random_graph(9, density, seed=i)) for i in range(6)]
    )
    mine = rows(ego_colours(graphs, radius))
    egos = rooted_egos(graphs, radius)
    representatives: dict[object, nx.Graph] = {}
    marked = [nx.Graph(near) for near, _ in egos]
    for near, (_, v) in zip(marked, egos, strict=True):
        nx.set_node_attributes(near, {u: int(u == v) for u in near}, "root")
    for near, colour in zip(marked, mine, strict=True):
        first = representatives.setdefault(colour, near)
        assert nx.is_isomorphic(near, first, node_match=lambda a, b: a["root"] == b["root"])
    distinct = list(representatives.values())
    for i, one in enumerate(distinct):
        for other in distinct[:i]:
            assert not (
                len(one) == len(other)
                and nx.is_isomorphic(one, other, node_match=lambda a, b: a["root"] == b["root"])
            )


@given(graph_sets(max_graphs=3, max_nodes=8), st.integers(1, 3))
@settings(max_examples=60)
def test_fast_is_the_literal_definition(graphs: Graphs, radius: int) -> None:
    names: dict[object, int] = {}
    literal = [literal_fast(near, names) for near, _ in rooted_egos(graphs, radius)]
    assert same_partition(rows(ego_fast_colours(graphs, radius)), literal)


@pytest.mark.parametrize("radius", [1, 2])
def test_fast_is_literal_on_symmetric_graphs(radius: int) -> None:
    """Many equal cells, and egos that plain 1-WL cannot distinguish."""
    graphs = Graphs.concatenate(
        [
            to_graphs(nx.convert_node_labels_to_integers(g))
            for g in (
                nx.line_graph(nx.complete_bipartite_graph(4, 4)),
                nx.circulant_graph(13, [1, 5]),
                nx.wheel_graph(7),
                nx.complement(nx.disjoint_union(nx.cycle_graph(6), nx.empty_graph(1))),
                nx.complement(nx.disjoint_union_all([nx.cycle_graph(3)] * 2 + [nx.path_graph(1)])),
                nx.dodecahedral_graph(),
            )
        ]
    )
    names: dict[object, int] = {}
    literal = [literal_fast(near, names) for near, _ in rooted_egos(graphs, radius)]
    assert same_partition(rows(ego_fast_colours(graphs, radius)), literal)


@pytest.mark.parametrize("name", SCHEMES)
@given(graph_sets(), st.integers(0, 99))
@settings(max_examples=25)
def test_invariant_and_independent_of_the_set(name: str, graphs: Graphs, seed: int) -> None:
    colour = SCHEMES[name]
    order = permutation_of(graphs, seed)
    whole = colour(graphs)
    assert whole.dtype == np.int64 and len(whole) == graphs.num_nodes
    assert np.array_equal(whole, colour(graphs.relabelled(order))[order])
    alone = [colour(graph) for graph in graphs]
    assert np.array_equal(whole, np.concatenate([whole[:0], *alone]))


@given(graph_sets(max_graphs=5))
def test_order_of_schemes(graphs: Graphs) -> None:
    """orbit refines ego-r, which refines ego-r-fast and ego-(r-1)."""

    def refines(fine: str, coarse: str) -> bool:
        a, b = rows(SCHEMES[fine](graphs)), rows(SCHEMES[coarse](graphs))
        return len(set(zip(a, b, strict=True))) == len(set(a))

    for r in (1, 2, 3):
        assert refines("orbit", f"ego-{r}")
        assert refines(f"ego-{r}", f"ego-{r}-fast")
    assert refines("ego-3", "ego-2") and refines("ego-2", "ego-1")


def test_orbit_colours_meet_exactly_where_an_isomorphism_does() -> None:
    graphs = Graphs.concatenate(
        [to_graphs(g) for g in (nx.path_graph(4), nx.cycle_graph(4), nx.path_graph(4))]
    )
    colours = rows(orbit_colours(graphs))
    assert colours[0] == colours[3] == colours[8] == colours[11] != colours[1] == colours[9]
    assert len(set(colours[4:8])) == 1
    assert len(set(colours)) == 3


def test_labels_play_no_part() -> None:
    plain = to_graphs(nx.cycle_graph(4))
    labelled = Graphs.from_edges(*plain.edges(), 4, node_labels=[1, 2, 3, 4], edge_labels=range(4))
    for colour in SCHEMES.values():
        assert np.array_equal(colour(plain), colour(labelled))


def test_colours_are_stable_across_runs_and_machines() -> None:
    path = to_graphs(nx.path_graph(3))
    assert ego_colours(path, 1)[0].tolist() == [-8892014098858537544, -3467256927980628601]
    assert ego_fast_colours(path, 1)[0].tolist() == [-573521829528167486, -1109800430006105235]


def test_limits_name_the_graph_and_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = Graphs.concatenate([to_graphs(nx.path_graph(3)), to_graphs(nx.star_graph(12))])
    for name in ("ORBIT_LIMIT", "EGO_LIMIT", "EGO_FAST_LIMIT"):
        monkeypatch.setattr(ego, name, 10)
    with pytest.raises(InputError, match=r"at most 10 vertices; graph 1 has 13\. Use ego-1-fast"):
        orbit_colours(graphs)
    with pytest.raises(
        InputError,
        match=r"within 1 hops of vertex 0 of graph 1 are 13, more than the limit of 10\. "
        r"Use ego-1-fast or a smaller radius",
    ):
        ego_colours(graphs, 1)
    with pytest.raises(InputError, match=r"limit of 10\. Use a smaller radius"):
        ego_fast_colours(graphs, 2)


def test_budget_exhaustion_is_an_error() -> None:
    graphs = to_graphs(nx.paley_graph(37).to_undirected())
    with pytest.raises(InputError, match="was not found within the budget of 50"):
        ego_colours(graphs, 2, budget=50)
    with pytest.raises(InputError, match=r"graph 0, with 37 vertices.*budget of 50"):
        orbit_colours(graphs, budget=50)


def test_radius_is_checked() -> None:
    for colour in (ego_colours, ego_fast_colours):
        with pytest.raises(InputError, match="1 or more hops; got 0"):
            colour(to_graphs(nx.path_graph(2)), 0)


@pytest.mark.data
@pytest.mark.parametrize(("radius", "pairs", "apart"), [(1, 400, 244), (2, 260, 260)])
@pytest.mark.parametrize("colour", [ego_colours, ego_fast_colours])
def test_brec_pairs(data_dir: Path, colour: Scheme, radius: int, pairs: int, apart: int) -> None:
    """The first 260 pairs are the categories Basic, Regular and Extension."""
    lines = zipfile.ZipFile(data_dir / "expressivity" / "BREC.zip").read("BREC/brec_pairs.g6")
    chosen = lines.split()[: 2 * pairs]
    graphs = Graphs.concatenate([to_graphs(nx.from_graph6_bytes(line)) for line in chosen])
    found = rows(colour(graphs, radius))
    bags = [Counter(found[a:b]) for a, b in zip(graphs.ptr[:-1], graphs.ptr[1:], strict=True)]
    assert sum(bags[2 * p] != bags[2 * p + 1] for p in range(pairs)) == apart
