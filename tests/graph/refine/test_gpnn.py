"""The GPNN refinement against the slow reference, and the comparisons that must hold."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs
from gpnn.graph.refine import fwl, gpnn, wl
from gpnn.graph.schemes import PAPER_SCHEMES, get_scheme
from graph.refine.reference import equivalent, slow_gpnn
from graph.refine.samples import atlas, rows_by_graph, same_partition, sample, to_set
from strategies import graph_sets, permutation_of

VARIANTS = list(itertools.product(("cross", "edges", "pairs"), (1, 2, 3), (False, True)))


@pytest.mark.parametrize(("interactions", "d", "distances"), VARIANTS)
def test_classes_equal_the_slow_reference(interactions: str, d: int, distances: bool) -> None:
    for number, scheme in enumerate(PAPER_SCHEMES):
        seed = VARIANTS.index((interactions, d, distances)) * len(PAPER_SCHEMES) + number
        ours = sample(seed, few=40)
        graphs = to_set(ours)
        rows = get_scheme(scheme)(graphs)
        history = slow_gpnn(ours, rows_by_graph(graphs, rows), interactions, d, distances)
        found = gpnn(graphs, rows, interactions, d, distances)
        assert same_partition(equivalent(history[-1]), found.classes.tolist())
        exact = gpnn(graphs, rows, interactions, d, distances, rounds=len(history) - 1)
        for r, colouring in enumerate(history):
            slow = [c for one in colouring for c in one.values()]
            fast = [tuple(c) for c in exact.at(r).tolist()]
            assert same_partition(slow, fast), (scheme, r)
            signatures = [exact.signature(g, r) for g in range(len(exact))]
            assert same_partition(equivalent(colouring), signatures), (scheme, r)


def test_the_whole_atlas_at_d_1() -> None:
    graphs = to_set(atlas())
    rows = get_scheme("core-degree")(graphs)
    for interactions in ("cross", "edges"):
        slow = slow_gpnn(atlas(), rows_by_graph(graphs, rows), interactions, 1, False)
        assert same_partition(
            equivalent(slow[-1]), gpnn(graphs, rows, interactions).classes.tolist()
        )


def test_first_difference_equals_the_slow_reference() -> None:
    ours = sample(5)
    graphs = to_set(ours)
    rows = get_scheme("degree")(graphs)
    for interactions in ("cross", "edges", "pairs"):
        history = [
            equivalent(c)
            for c in slow_gpnn(ours, rows_by_graph(graphs, rows), interactions, 1, False)
        ]
        found = gpnn(graphs, rows, interactions)
        for g, h in itertools.combinations(range(len(ours)), 2):
            slow = next((r for r, c in enumerate(history) if c[g] != c[h]), None)
            assert found.first_difference(g, h) == slow


@pytest.mark.parametrize(("n", "d"), [(4, 1), (6, 1), (8, 1), (8, 2)])
def test_far_pairs_part_before_any_vertex_does(n: int, d: int) -> None:
    """C_2n and two C_n: both are stable before the difference of far pairs reaches a vertex."""
    pair = [nx.cycle_graph(2 * n), nx.disjoint_union(nx.cycle_graph(n), nx.cycle_graph(n))]
    found = gpnn(to_set(pair), None, "pairs", d)
    last = int(found.recorded.min())
    assert all(found.signature(0, r) == found.signature(1, r) for r in range(last + 1))
    history = slow_gpnn(pair, [[0] * 2 * n] * 2, "pairs", d, False)
    slow = next(r for r, c in enumerate(history) if len(set(equivalent(c))) == 2)
    assert found.first_difference(0, 1) == slow > last
    witness = found.witness(0, 1)
    assert witness is not None
    assert witness.round == slow


@pytest.mark.parametrize("interactions", ["cross", "edges", "pairs"])
def test_labels_join_the_start_but_not_the_parts(interactions: str) -> None:
    rng = np.random.default_rng(3)
    ours = [nx.gnp_random_graph(6, 0.5, seed) for seed in range(30)]
    parts = get_scheme("degree")(to_set(ours))
    pieces, nodes, edges = [], [], []
    for graph in ours:
        node = rng.integers(0, 2, graph.number_of_nodes())
        ends = np.array(list(graph.edges)).reshape(-1, 2)
        edge = rng.integers(0, 2, len(ends))
        pieces.append(Graphs.from_edges(
            ends[:, 0], ends[:, 1], len(node), node_labels=node, edge_labels=edge
        ))  # fmt: skip
        nodes.append(node.tolist())
        both = {(int(u), int(v)): int(e) for (u, v), e in zip(ends, edge, strict=True)}
        edges.append(both | {(v, u): e for (u, v), e in both.items()})
    graphs = Graphs.concatenate(pieces)
    by_graph = rows_by_graph(graphs, parts)
    slow = slow_gpnn(ours, by_graph, interactions, 1, False, 3, nodes, edges)
    fast = gpnn(graphs, parts, interactions, labels=True, rounds=3)
    for r in range(4):
        assert same_partition(
            [c for one in slow[r] for c in one.values()], [tuple(c) for c in fast.at(r).tolist()]
        )


def test_order_of_the_variants_on_the_atlas() -> None:
    """trivial-cross ≡ 1-WL, cross ⊑ edges ⊑ pairs ⊑ 2-FWL, and each refines its λ."""
    graphs = to_set(atlas())
    assert np.array_equal(gpnn(graphs, None, "cross").classes, wl(graphs).classes)
    top = fwl(graphs).classes
    for scheme in PAPER_SCHEMES:
        rows = get_scheme(scheme)(graphs)
        chain = [gpnn(graphs, rows, i).classes for i in ("cross", "edges", "pairs")] + [top]
        for weak, strong in itertools.pairwise(chain):
            assert len(set(zip(weak, strong, strict=True))) == len(set(strong))
        start = gpnn(graphs, rows, "cross", rounds=0).classes
        assert len(set(zip(start, chain[0], strict=True))) == len(set(chain[0]))


@settings(max_examples=25)
@given(graph_sets(), st.integers(0, 99), st.sampled_from(VARIANTS))
def test_relabelling_permutes_colours(
    graphs: Graphs, seed: int, variant: tuple[str, int, bool]
) -> None:
    order = permutation_of(graphs, seed)
    moved = graphs.relabelled(order)
    rows = get_scheme("core-onion")(graphs)
    there = get_scheme("core-onion")(moved)
    before, after = gpnn(graphs, rows, *variant), gpnn(moved, there, *variant)
    assert np.array_equal(before.digest, after.digest)
    assert np.array_equal(before.stable, after.stable)
    assert np.array_equal(before.at(), after.at()[order])


@settings(max_examples=25)
@given(graph_sets(), st.sampled_from(VARIANTS))
def test_batching_changes_nothing(graphs: Graphs, variant: tuple[str, int, bool]) -> None:
    rows = get_scheme("degree")(graphs)
    together = gpnn(graphs, rows, *variant)
    for g in range(len(graphs)):
        alone = gpnn(graphs[g], rows[graphs.ptr[g] : graphs.ptr[g + 1]], *variant)
        assert np.array_equal(alone.digest[0], together.digest[g])
        assert np.array_equal(alone.colours(0), together.colours(g))
        assert alone.stable[0] == together.stable[g]


def test_aliases_of_the_paper() -> None:
    graphs = to_set(sample(1, few=10))
    for name, alias in (("cross", "star"), ("edges", "diamond"), ("pairs", "dagger")):
        assert np.array_equal(
            gpnn(graphs, graphs.degree, name).digest, gpnn(graphs, graphs.degree, alias).digest
        )


def test_bad_options_are_refused() -> None:
    graphs = to_set([nx.path_graph(3)])
    with pytest.raises(InputError, match=r"Unknown interactions 'all'\. Choose cross, edges"):
        gpnn(graphs, None, "all")
    for d in (0, -1, 1.5, True):
        with pytest.raises(InputError, match="d must be a whole number of at least 1; got"):
            gpnn(graphs, None, d=d)  # type: ignore[arg-type]


def test_memory_is_asked_for_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpnn.sizes.available_bytes", lambda: 2**20)
    graphs = to_set([nx.path_graph(3), nx.cycle_graph(400)])
    message = r"interactions='pairs' on a graph of 400 vertices would need 0\.0 GiB of memory"
    with pytest.raises(InputError, match=message):
        gpnn(graphs, None, "pairs")
    assert gpnn(graphs, None, "edges").distinguishes(0, 1)
    with pytest.raises(InputError, match="with d=200 would need"):
        gpnn(graphs, None, "edges", d=200)
