"""Canonical forms against networkx, BLISS and brute force."""

from __future__ import annotations

import builtins
import zipfile
from functools import cache
from itertools import permutations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpnn.errors import InputError
from gpnn.graph.canonical import canonical_graph6, canonical_labelling, isomorphic
from gpnn.graph.graphs import Graphs
from strategies import networkx_graphs, permutation_of, to_graphs


@cache
def atlas() -> list[nx.Graph]:
    return nx.graph_atlas_g()[1:]


def whole(graphs: list[nx.Graph]) -> Graphs:
    return Graphs.concatenate([to_graphs(nx.convert_node_labels_to_integers(g)) for g in graphs])


def classes(digest: np.ndarray) -> np.ndarray:
    return np.unique(digest, axis=0, return_inverse=True)[1].ravel()


def same_partition(a: np.ndarray, b: np.ndarray) -> bool:
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len({x for x, _ in pairs}) == len({y for _, y in pairs})


def check_copies(graphs: Graphs, seed: int = 0) -> None:
    """Relabelled copies have one form, and their orbits correspond."""
    order = permutation_of(graphs, seed)
    copies = graphs.relabelled(order)
    here, there = canonical_labelling(graphs), canonical_labelling(copies)
    assert here.exact.all() and there.exact.all()
    assert np.array_equal(here.digest, there.digest)
    assert np.array_equal(here.orbit, there.orbit[order])
    forms = [
        np.sort(x.ptr[x.graph_of[x.rows]] + c.position[x.rows] + (c.position[x.indices] << 32))
        for x, c in ((graphs, here), (copies, there))
    ]
    assert np.array_equal(*forms)


def test_atlas_forms_are_distinct_and_copies_agree() -> None:
    graphs = whole(atlas())
    found = canonical_labelling(graphs)
    assert len(np.unique(found.digest, axis=0)) == len(graphs) == 1252
    check_copies(graphs)


def test_digest_is_stable_across_runs_and_machines() -> None:
    digest = canonical_labelling(to_graphs(nx.petersen_graph())).digest
    assert digest.dtype == np.uint64
    assert digest.tolist() == [[7064332033744584645, 15422704013040449897]]


def test_orbits_against_brute_force() -> None:
    small = [g for g in atlas() if g.number_of_nodes() <= 6]
    graphs = whole(small)
    found = canonical_labelling(graphs)
    for i, graph in enumerate(small):
        matcher = nx.isomorphism.GraphMatcher(graph, graph)
        joined = nx.empty_graph(graph.number_of_nodes())
        for image in matcher.isomorphisms_iter():
            joined.add_edges_from(image.items())
        mine = found.orbit[graphs.ptr[i] : graphs.ptr[i + 1]]
        position = found.position[graphs.ptr[i] : graphs.ptr[i + 1]]
        for orbit in nx.connected_components(joined):
            assert len({mine[v] for v in orbit}) == 1
        assert len(set(mine)) == nx.number_connected_components(joined)
        least = [position[mine == o].min() for o in range(mine.max() + 1)]
        assert least == sorted(least)


HARD = {
    "star": nx.star_graph(60),
    "complete": nx.complete_graph(60),
    "empty": nx.empty_graph(60),
    "bipartite": nx.complete_bipartite_graph(20, 20),
    "cycle": nx.cycle_graph(101),
    "equal components": nx.disjoint_union_all([nx.cycle_graph(6)] * 20),
    "unlike components": nx.disjoint_union_all([nx.cycle_graph(3)] * 14 + [nx.cycle_graph(6)] * 7),
    "mixed regular": nx.disjoint_union_all(
        [nx.random_regular_graph(3, 10, seed=i) for i in range(12)]
    ),
    "tree": nx.balanced_tree(2, 6),
    "hypercube": nx.hypercube_graph(6),
    "torus": nx.grid_2d_graph(8, 8, periodic=True),
    "lattice": nx.line_graph(nx.complete_bipartite_graph(6, 6)),
    "caterpillar": nx.corona_product(nx.path_graph(10), nx.empty_graph(5)),
    "dodecahedra": nx.disjoint_union_all([nx.dodecahedral_graph()] * 5),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_families(name: str) -> None:
    graphs = whole([HARD[name]])
    check_copies(graphs, seed=1)
    pytest.importorskip("igraph", reason="orbits are compared with BLISS through igraph")
    mine, theirs = canonical_labelling(graphs), canonical_labelling(graphs, backend="bliss")
    assert same_partition(mine.orbit, theirs.orbit)


def test_regular_graphs_of_one_size_are_distinguished() -> None:
    graphs = whole(
        [nx.random_regular_graph(4, 12, seed=i) for i in range(40)]
        + [nx.circulant_graph(12, [1, k]) for k in range(2, 6)]
    )
    found = classes(canonical_labelling(graphs).digest)
    peers = [g.to_networkx() for g in graphs]
    for i in range(len(peers)):
        for j in range(i):
            assert (found[i] == found[j]) == nx.vf2pp_is_isomorphic(peers[i], peers[j])


def test_bliss_agrees_on_classes_and_orbits() -> None:
    pytest.importorskip("igraph", reason="BLISS comes with igraph")
    rng = np.random.default_rng(0)
    chosen = [
        nx.gnp_random_graph(int(n), 0.3, seed=i) for i, n in enumerate(rng.integers(1, 9, 200))
    ]
    graphs = whole(chosen)
    colours = rng.integers(0, 2, graphs.num_nodes)
    for painted in (None, colours):
        mine = canonical_labelling(graphs, painted)
        theirs = canonical_labelling(graphs, painted, backend="bliss")
        assert same_partition(classes(mine.digest), classes(theirs.digest))
        low = graphs.graph_of * 10
        assert same_partition(low + mine.orbit, low + theirs.orbit)
        assert not set(map(tuple, mine.digest)) & set(map(tuple, theirs.digest))
        assert theirs.exact.all()


@given(networkx_graphs(10), networkx_graphs(10), st.integers(0, 99))
def test_isomorphic_agrees_with_vf2(one: nx.Graph, other: nx.Graph, seed: int) -> None:
    g, h = to_graphs(one), to_graphs(other)
    assert isomorphic(g, h) == nx.vf2pp_is_isomorphic(one, other) or one.order() == 0
    assert isomorphic(g, g.relabelled(permutation_of(g, seed))) is True


@given(networkx_graphs(8), st.integers(0, 10**6))
@settings(max_examples=80)
def test_colours_and_edge_labels_agree_with_vf2(graph: nx.Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        g = to_graphs(graph)
        colours = rng.integers(-1, 1, g.num_nodes)
        labels = rng.integers(0, 2, g.num_edges)
        u, v = g.edges()
        g = Graphs.from_edges(u, v, g.num_nodes, edge_labels=labels)
        peer = graph.copy()
        nx.set_node_attributes(peer, dict(enumerate(colours.tolist())), "c")
        edges = zip(u.tolist(), v.tolist(), strict=True)
        nx.set_edge_attributes(peer, dict(zip(edges, labels.tolist(), strict=True)), "l")
        sides.append((g, colours, peer))
    (g, cg, pg), (h, ch, ph) = sides
    expected = nx.is_isomorphic(
        pg, ph, node_match=lambda a, b: a["c"] == b["c"], edge_match=lambda a, b: a["l"] == b["l"]
    )
    assert isomorphic(g, h, cg, ch, g.edge_labels, h.edge_labels) == expected
    order = permutation_of(g, seed)
    copy = g.relabelled(order)
    painted = cg[np.argsort(order)]
    assert isomorphic(g, copy, cg, painted, g.edge_labels, copy.edge_labels) is True
    one = canonical_labelling(g, cg, g.edge_labels)
    two = canonical_labelling(copy, painted, copy.edge_labels)
    assert np.array_equal(one.digest, two.digest)
    assert np.array_equal(one.orbit, two.orbit[order])


def test_labelled_orbits_against_brute_force() -> None:
    rng = np.random.default_rng(3)
    for graph in (nx.complete_graph(5), nx.cycle_graph(6), nx.complete_bipartite_graph(2, 3)):
        for _ in range(10):
            g = to_graphs(graph)
            u, v = g.edges()
            g = Graphs.from_edges(u, v, g.num_nodes, edge_labels=rng.integers(0, 2, len(u)))
            matrix = np.full((g.num_nodes, g.num_nodes), -1)
            matrix[g.rows, g.indices] = g.edge_labels
            joined = nx.empty_graph(g.num_nodes)
            for image in permutations(range(g.num_nodes)):
                if np.array_equal(matrix[np.ix_(image, image)], matrix):
                    joined.add_edges_from(enumerate(image))
            orbit = canonical_labelling(g, edge_labels=g.edge_labels).orbit
            for part in nx.connected_components(joined):
                assert len({orbit[v] for v in part}) == 1
            assert len(set(orbit)) == nx.number_connected_components(joined)


def test_labels_of_the_graphs_are_not_used_unless_passed() -> None:
    plain = to_graphs(nx.path_graph(3))
    labelled = Graphs.from_edges([0, 1], [1, 2], 3, node_labels=[1, 2, 3], edge_labels=[5, 6])
    assert isomorphic(plain, labelled) is True
    assert np.array_equal(canonical_labelling(plain).digest, canonical_labelling(labelled).digest)
    assert len(set(canonical_labelling(labelled).orbit)) == 2
    assert len(set(canonical_labelling(labelled, labelled.node_labels).orbit)) == 3
    assert len(set(canonical_labelling(labelled, None, labelled.edge_labels).orbit)) == 3


def test_graph6() -> None:
    for graph in (*atlas()[:300:7], nx.petersen_graph(), nx.cycle_graph(70), nx.empty_graph(0)):
        g = to_graphs(graph)
        text = canonical_graph6(g)
        read = nx.from_graph6_bytes(text.encode())
        assert read.number_of_nodes() == graph.number_of_nodes()
        assert isomorphic(to_graphs(read), g) is True
        assert canonical_graph6(g.relabelled(permutation_of(g, 2))) == text


def test_budget_gives_unknown() -> None:
    g = to_graphs(nx.random_regular_graph(3, 40, seed=0))
    h = to_graphs(nx.random_regular_graph(3, 40, seed=1))
    found = canonical_labelling(g, budget=100)
    assert not found.exact.any()
    assert sorted(found.position) == list(range(40))
    assert isomorphic(g, h, budget=100) is None
    assert isomorphic(g, h) is False
    assert isomorphic(g, to_graphs(nx.cycle_graph(40)), budget=100) is False  # degrees decide
    with pytest.raises(InputError, match="40 vertices was not found within the budget of 100"):
        canonical_graph6(g, budget=100)


def test_budget_bounds_time_on_a_graph_far_too_large() -> None:
    assert not canonical_labelling(to_graphs(nx.cycle_graph(30_000)), budget=10**6).exact[0]


def test_no_graphs_and_no_vertices() -> None:
    found = canonical_labelling(Graphs.concatenate([]))
    assert found.digest.shape == (0, 2) and len(found.position) == len(found.exact) == 0
    empty, point = to_graphs(nx.empty_graph(0)), to_graphs(nx.empty_graph(1))
    assert isomorphic(empty, empty) is True
    assert isomorphic(empty, point) is False


def test_mistakes_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    path = to_graphs(nx.path_graph(3))
    with pytest.raises(InputError, match="Choose one of: search, bliss"):
        canonical_labelling(path, backend="nauty")
    with pytest.raises(InputError, match="must be positive; got 0"):
        canonical_labelling(path, budget=0)
    with pytest.raises(InputError, match="colours must be 3 whole numbers; got dtype float64"):
        canonical_labelling(path, [0.5, 1, 2])
    with pytest.raises(InputError, match=r"edge labels must be 4 whole numbers.*\(2,\)"):
        canonical_labelling(path, edge_labels=[1, 2])
    with pytest.raises(InputError, match="labels 1 and 2 in its two directions"):
        canonical_labelling(path, edge_labels=[1, 2, 1, 1])
    with pytest.raises(InputError, match="Only one of the two graphs has colours"):
        isomorphic(path, path, colours_g=[0, 1, 2])
    with pytest.raises(InputError, match="got a set of 2"):
        isomorphic(Graphs.concatenate([path, path]), path)
    with pytest.raises(InputError, match="BLISS does not support edge labels"):
        canonical_labelling(path, edge_labels=[1, 1, 1, 1], backend="bliss")

    real = builtins.__import__

    def absent(name: str, *rest: object, **more: object) -> object:
        if name == "igraph":
            raise ImportError(name)
        return real(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(InputError, match="needs the package igraph"):
        canonical_labelling(path, backend="bliss")


def read_g6(path: Path, member: str) -> Graphs:
    lines = zipfile.ZipFile(path).read(member).split()
    return whole([nx.from_graph6_bytes(line) for line in lines])


@pytest.mark.data
@pytest.mark.parametrize(("family", "count"), [("251256", 15), ("291467", 41), ("401224", 28)])
def test_strongly_regular_graphs(data_dir: Path, family: str, count: int) -> None:
    graphs = read_g6(data_dir / "expressivity" / "SR.zip", f"SR/raw/sr{family}.g6")
    found = canonical_labelling(graphs)
    assert found.exact.all()
    assert len(np.unique(found.digest, axis=0)) == count
    check_copies(graphs)


@pytest.mark.data
def test_csl_has_ten_classes(data_dir: Path) -> None:
    graphs = read_g6(data_dir / "expressivity" / "CSL.zip", "CSL/csl.g6")
    found = canonical_labelling(graphs)
    assert len(np.unique(found.digest, axis=0)) == 10
    assert (found.orbit == 0).all()


@pytest.mark.data
def test_brec_pairs_all_differ(data_dir: Path) -> None:
    graphs = read_g6(data_dir / "expressivity" / "BREC.zip", "BREC/brec_pairs.g6")
    found = canonical_labelling(graphs)
    assert found.exact.all()
    pairs = found.digest.reshape(400, 2, 2)
    assert (pairs[:, 0] != pairs[:, 1]).any(axis=1).all()
    copies = canonical_labelling(graphs.relabelled(permutation_of(graphs, 5)))
    assert np.array_equal(copies.digest, found.digest)
