"""α classes against Equation 2 carried out pair by pair with tuples in dictionaries."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpnn.errors import InputError
from gpnn.graph.classes import InteractionClasses, interaction_classes, tuples_before_merging
from gpnn.graph.convert import as_graphs
from gpnn.graph.graphs import Graphs
from gpnn.graph.partition import partition
from gpnn.graph.structure import Structure
from graph.class_reference import Palette, Slow, expand, multiset, slow_set, weigh
from strategies import graph_sets, hub_graph, permutation_of, to_graphs

TYPES = ("cross", "edges", "pairs")
VARIANTS = list(itertools.product(TYPES, (1, 2), (1, 2, 3)))
OPTIONS = list(itertools.product((False, True), (False, True), (True, False)))


def check_classes(
    palette: Palette, found: InteractionClasses, expected: list[Slow], graphs: Graphs, part: Any
) -> None:
    alpha = expand(palette, found.start, found.tables)
    near = [pair for one in expected for pair in one.near]
    assert list(zip(found.pair_centre.tolist(), found.pair_other.tolist(), strict=True)) == near
    assert np.diff(found.pair_ptr).tolist() == [len(one.near) for one in expected]
    for i, table in enumerate(found.tables, start=1):
        rows = found.pair_class[i - 1]
        assert [alpha[i][r] for r in rows] == [
            one.alpha[i][p] for one in expected for p in one.near
        ]
        assert len(set(zip(table.first.tolist(), table.second.tolist(), strict=True))) == len(
            table.first
        )
        learned = [(one.alpha[i][p], part[p[1]]) for one in expected for p in one.learned[i]]
        ours = list(zip(alpha[i], table.part.tolist(), strict=False))
        assert len(ours) == table.size
        assert multiset(ours) == multiset(set(learned) if found.merged else learned)
        for g, one in enumerate(expected):
            span = slice(found.class_ptr[i - 1][g], found.class_ptr[i - 1][g + 1])
            ids = found.class_id[i - 1][span]
            assert len(set(ids.tolist())) == len(ids)
            assert weigh([alpha[i][c] for c in ids], found.class_count[i - 1][span]) == Counter(
                one.alpha[i][p] for p in one.learned[i]
            )
    read = [[one.alpha[0][p] for p in one.read] for one in expected]
    everything = [value for one in read for value in one]
    shares = found.shares
    if shares:  # a class of non-edges may be read only to be taken away again
        assert set(alpha[0]) >= set(everything) and len(set(alpha[0])) == len(alpha[0])
    else:
        assert multiset(alpha[0]) == multiset(set(everything) if found.merged else everything)
    for g, values in enumerate(read):
        span = slice(found.start_ptr[g], found.start_ptr[g + 1])
        begin = [alpha[0][s] for s in found.start_id[span]]
        assert len(set(found.start_id[span].tolist())) == len(begin)
        assert set(begin) == set(values) or (shares and set(begin) > set(values))
    if not found.merged:
        check_own_rows(found, graphs)


def check_own_rows(found: InteractionClasses, graphs: Graphs) -> None:
    """Without merging, every pair has a row of its own, which leads to its own CSR entry."""
    assert found.start_entry is not None
    row = found.pair_class[-1]
    assert len(set(row.tolist())) == len(row)
    for i in range(found.structure.layers, 0, -1):
        table = found.tables[i - 1]
        learned = row < table.size
        before = found.tables[i - 2].size if i > 1 else 0
        row = row - table.size + before
        row[learned] = table.previous[found.pair_class[i - 1][learned]]
    entry = found.start_entry[row]
    edge = entry >= 0
    hops = found.pair_centre != found.pair_other
    assert (graphs.rows[entry[edge]] == found.pair_centre[edge]).all()
    assert (graphs.indices[entry[edge]] == found.pair_other[edge]).all()
    assert edge.sum() == len(graphs.indices)
    assert not edge[~hops].any()
    assert sorted(found.start_entry[found.start_entry >= 0]) == list(range(len(graphs.indices)))


def structure(which: str, d: int = 1, rounds: int = 3, distances: bool = False) -> Structure:
    return Structure("trivial", which, d, rounds, distances)


def sample(seed: int) -> Graphs:
    rng = np.random.default_rng(seed)
    made = [
        nx.gnp_random_graph(int(rng.integers(2, 10)), rng.uniform(0.15, 0.5), int(rng.integers(99)))
        for _ in range(8)
    ]
    fixed = [
        nx.path_graph(9), nx.cycle_graph(8), nx.star_graph(4), nx.empty_graph(0),
        nx.empty_graph(1), nx.empty_graph(3),
        nx.disjoint_union(nx.cycle_graph(3), nx.path_graph(4)),
    ]  # fmt: skip
    return Graphs.concatenate([to_graphs(graph) for graph in [*fixed, *made]])


def symmetric_labels(graphs: Graphs, seed: int, number: int = 3) -> np.ndarray:
    rows, columns = graphs.rows, graphs.indices.astype(np.int64)
    return (np.minimum(rows, columns) * 7 + np.maximum(rows, columns) * 5 + seed) % number


def vertex_marks(graphs: Graphs, seed: int) -> np.ndarray:
    """Labels of vertices."""
    return np.random.default_rng(seed).integers(0, 3, graphs.num_nodes)


@pytest.mark.parametrize(("which", "d", "rounds"), VARIANTS)
def test_classes_are_those_of_equation_2(which: str, d: int, rounds: int) -> None:
    graphs = sample(VARIANTS.index((which, d, rounds)))
    part = np.random.default_rng(rounds).integers(0, 3, graphs.num_nodes)
    for labelled, distances, merge in OPTIONS:
        labels = symmetric_labels(graphs, d) if labelled else None
        marks = vertex_marks(graphs, d) if labelled else None
        palette = Palette()
        found = interaction_classes(
            graphs, part, structure(which, d, rounds, distances), labels, merge, marks
        )
        expected = slow_set(palette, graphs, part, labels, which, d, rounds, distances, marks)
        check_classes(palette, found, expected, graphs, part)


@pytest.mark.parametrize("which", ["cross", "edges"])
@pytest.mark.parametrize("labelled", [False, True])
def test_classes_of_hubs_share_sums(which: str, labelled: bool) -> None:
    """Beside small graphs; the counts of a class and its shared sum together are those of
    Equation 2, so none is negative."""
    graphs = Graphs.concatenate([to_graphs(hub_graph(40)), sample(1), to_graphs(hub_graph(45))])
    part = (graphs.degree > 20) + np.random.default_rng(2).integers(0, 2, graphs.num_nodes)
    labels = symmetric_labels(graphs, 1) if labelled else None
    marks = vertex_marks(graphs, 1) if labelled else None
    palette = Palette()
    found = interaction_classes(
        graphs, part, structure(which, distances=labelled), labels, vertex_labels=marks
    )
    assert found.shares
    expected = slow_set(palette, graphs, part, labels, which, 1, 3, labelled, marks)
    check_classes(palette, found, expected, graphs, part)


@given(graph_sets(max_nodes=7), st.sampled_from(VARIANTS), st.sampled_from(OPTIONS), st.data())
@settings(max_examples=40)
def test_classes_of_any_graphs(
    graphs: Graphs, variant: tuple[str, int, int], option: tuple[bool, bool, bool], data: Any
) -> None:
    (which, d, rounds), (labelled, distances, merge) = variant, option
    n = graphs.num_nodes
    part = np.array(data.draw(st.lists(st.integers(-2, 2), min_size=n, max_size=n)), np.int64)
    labels = symmetric_labels(graphs, 1) if labelled else None
    palette = Palette()
    marks = vertex_marks(graphs, 1) if labelled else None
    options = structure(which, d, rounds, distances)
    found = interaction_classes(graphs, part, options, labels, merge, marks)
    expected = slow_set(palette, graphs, part, labels, which, d, rounds, distances, marks)
    check_classes(palette, found, expected, graphs, part)


@given(graph_sets(), st.sampled_from(VARIANTS), st.integers(0, 9))
@settings(max_examples=30)
def test_relabelling_changes_nothing(
    graphs: Graphs, variant: tuple[str, int, int], seed: int
) -> None:
    order = permutation_of(graphs, seed)
    part = np.random.default_rng(seed).integers(0, 3, graphs.num_nodes)
    moved = np.empty_like(part)
    moved[order] = part
    palette = Palette()
    histograms = []
    for one, own in ((graphs, part), (graphs.relabelled(order), moved)):
        found = interaction_classes(one, own, structure(*variant))
        alpha = expand(palette, found.start, found.tables)
        histograms.append([
            weigh([alpha[i + 1][c] for c in found.class_id[i][a:b]], found.class_count[i][a:b])
            for i in range(found.structure.layers)
            for a, b in itertools.pairwise(found.class_ptr[i])
        ])  # fmt: skip
    assert histograms[0] == histograms[1]


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("which", TYPES)
def test_no_graphs_no_vertices_no_edges(which: str, merge: bool) -> None:
    none = interaction_classes(Graphs.concatenate([]), [], structure(which), merge=merge)
    assert len(none) == 0 and none.pair_class.shape == (3, 0)
    tiny = Graphs.concatenate([to_graphs(nx.empty_graph(n)) for n in (0, 1, 2)])
    found = interaction_classes(tiny, [4, 4, 5], structure(which, d=2), merge=merge)
    assert [table.size for table in found.tables] == [0, 0, 0]
    assert found.pair_ptr.tolist() == [0, 0, 1, 3]


def test_a_radius_beyond_the_graph_is_the_whole_graph() -> None:
    graphs = to_graphs(nx.path_graph(4))
    wide, whole = (interaction_classes(graphs, [0] * 4, structure("pairs", d)) for d in (5, 3))
    assert np.array_equal(wide.pair_class, whole.pair_class)


def test_same_arrays_every_time() -> None:
    graphs = sample(3)
    part = partition(graphs, "core-degree").part
    one, other = (interaction_classes(graphs, part, structure("pairs")) for _ in range(2))
    assert np.array_equal(one.pair_class, other.pair_class)
    assert repr(one) == repr(other)
    assert repr(one).startswith("InteractionClasses(15 graphs, pairs, ")


PATH = to_graphs(nx.path_graph(3))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"part": [0, 1]}, "Got 2 part numbers where 3 are needed."),
        ({"part": [0, 0.5, 1]}, "The part numbers hold 0.5, not whole numbers."),
        ({"part": None}, "part is None. Give the part of every vertex: partition(...).part."),
        ({"edge_labels": [1, 1]}, "Got 2 edge labels where 4 are needed."),
        ({"edge_labels": [0, -3, 0, 0]}, "Edge labels must be whole numbers from 0; got -3."),
    ],
)
def test_refusals(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        interaction_classes(PATH, **{"part": [0, 1, 0], **options})
    assert str(caught.value).startswith(said)


def test_too_large_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpnn.sizes.available_bytes", lambda: 2**20)
    star = Graphs.concatenate([PATH, to_graphs(nx.star_graph(2_000))])
    part = np.zeros(star.num_nodes, np.int64)
    assert interaction_classes(star, part, structure("pairs", rounds=1)).tables[0].size > 0
    with pytest.raises(InputError) as caught:
        interaction_classes(star, part, structure("pairs", rounds=2))
    assert str(caught.value) == (
        "interactions='pairs' with d=1 and rounds=2 on graph 1 of 2,001 vertices would need "
        "0.1 GiB of memory; half of what is available here is 0.0 GiB. Leave out the largest "
        "graphs, lower d or rounds, or use interactions='edges'."
    )
    with pytest.raises(InputError, match=r"and merge=False would need .* Give fewer graphs\."):
        interaction_classes(star, part, structure("edges", rounds=2), merge=False)


def test_too_many_to_be_numbered_or_held(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = to_graphs(hub_graph())
    part = np.zeros(hub.num_nodes, np.int64)
    with monkeypatch.context() as patch:
        patch.setattr("gpnn.graph.edge_classes.MOST_PAIRS", 10)
        with pytest.raises(InputError, match=r"pairs is more than can be numbered here, 10\."):
            interaction_classes(hub, part, structure("edges"))
    monkeypatch.setattr("gpnn.graph.edge_classes.ENTRY", 2**40)
    with pytest.raises(InputError, match=r"tuples in \d+ classes, would need .* fanout\."):
        interaction_classes(hub, part, structure("edges"))


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "which", "counts", "batch"),
    [
        ("ogbg-molhiv", "cross", [221, 760, 2970, 6967, 13531], (502, 1325, 11578)),
        ("ogbg-molhiv", "edges", [347, 1459, 10688, 35239, 116066], (1677, 8586, 27406)),
        ("ogbg-moltox21", "cross", [51, 255, 976, 2037, 3328], (377, 900, 6730)),
        ("ogbg-moltox21", "edges", [90, 474, 3091, 9115, 25136], (1234, 5704, 19852)),
    ],
)
def test_known_numbers_of_classes(
    data_dir: Path, name: str, which: str, counts: list[int], batch: tuple[int, int, int]
) -> None:
    """Per round in the whole set; in a batch of 512 after rounds 3 and 5, and its learned pairs."""
    from gpnn.data.datasets import load_graphs

    graphs = load_graphs(name, data_dir)
    part = partition(graphs, "core-degree").part
    found = interaction_classes(graphs, part, structure(which, rounds=5))
    assert [table.size for table in found.tables] == counts
    ids = np.random.default_rng(0).permutation(len(graphs))[:512]
    own = [
        np.concatenate([found.class_id[r][slice(*found.class_ptr[r][g : g + 2])] for g in ids])
        for r in (2, 4)
    ]
    first = [found.class_count[0][slice(*found.class_ptr[0][g : g + 2])].sum() for g in ids]
    assert (len(np.unique(own[0])), len(np.unique(own[1])), sum(first)) == batch


@pytest.mark.data
def test_known_numbers_of_classes_of_pairs(data_dir: Path) -> None:
    from gpnn.data.datasets import load_graphs

    graphs = load_graphs("ogbg-molhiv", data_dir)
    part = partition(graphs, "core-degree").part
    ids = np.random.default_rng(0).choice(len(graphs), 512, replace=False)
    some = Graphs.concatenate([graphs[g] for g in ids])
    own = np.concatenate([part[graphs.ptr[g] : graphs.ptr[g + 1]] for g in ids])
    found = interaction_classes(some, own, structure("pairs"))
    assert [table.size for table in found.tables] == [364, 1321, 2166]


@pytest.mark.parametrize(
    ("which", "d"), [("cross", 1), ("edges", 1), ("edges", 2), ("pairs", 1), ("pairs", 2)]
)
def test_tuples_before_merging_are_those_of_the_direct_tables(which: str, d: int) -> None:
    graphs = as_graphs([nx.gnp_random_graph(7, 0.3, seed=k) for k in range(6)])
    part = partition(graphs, "degree").part
    counted = tuples_before_merging(graphs, part, which, d, 2)
    for number in range(len(graphs)):
        own = part[graphs.ptr[number] : graphs.ptr[number + 1]]
        structure = Structure("degree", which, d=d, layers=2)
        made = interaction_classes(graphs[number], own, structure, merge=False)
        assert counted[number] == sum(int(one.entry_count.sum()) for one in made.tables)
