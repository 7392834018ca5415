"""Every scheme against an independent definition, and the registry."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpnn.errors import InputError
from gpnn.graph import registry as registry_module
from gpnn.graph.graphs import Graphs
from gpnn.graph.schemes import get_scheme, list_schemes, register_scheme
from strategies import graph_sets, networkx_graphs, permutation_of, to_graphs

MORE = ("wl-0", "wl-2", "ego-1", "ego-2", "ego-3", "ego-1-fast", "ego-2-fast", "core+triangle")
FAMILIES = {"wl-k", "ego-r", "ego-r-fast"}
EVERY = [one.name for one in list_schemes() if one.name not in FAMILIES]
EVERY += [name for name in MORE if name not in EVERY]


def split_shell(graph: nx.Graph, first: int) -> list[tuple[int, int]]:
    core = nx.core_number(graph)
    rows = []
    for v in range(len(graph)):
        inside = nx.k_core(graph, core[v]).degree(v)
        rows.append((core[v], int(core[v] >= first and inside == core[v])))
    return rows


LITERAL = {
    "trivial": lambda graph: [(0,) for _ in graph],
    "degree": lambda graph: [(graph.degree(v),) for v in range(len(graph))],
    "core": lambda graph: [(nx.core_number(graph)[v],) for v in range(len(graph))],
    "core-degree": lambda graph: split_shell(graph, 2),
    "core-degree-literal": lambda graph: split_shell(graph, 1),
    "core-onion": lambda graph: [
        (nx.core_number(graph)[v], nx.onion_layers(graph)[v]) for v in range(len(graph))
    ],
    "triangle": lambda graph: [(nx.triangles(graph)[v],) for v in range(len(graph))],
}


@pytest.mark.parametrize("name", LITERAL)
def test_every_atlas_graph_equals_networkx(name):
    atlas = nx.graph_atlas_g()
    colours = get_scheme(name)(Graphs.concatenate([to_graphs(graph) for graph in atlas]))
    expected = [row for graph in atlas if len(graph) for row in LITERAL[name](graph)]
    assert colours.tolist() == [list(row) for row in expected]


@pytest.mark.parametrize("name", LITERAL)
@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_equal_networkx(name, seed):
    kinds = [
        nx.gnm_random_graph(60, 150, seed=seed),
        nx.barabasi_albert_graph(80, 4, seed=seed),
        nx.random_labeled_tree(40, seed=seed),
        nx.disjoint_union(nx.gnp_random_graph(20, 0.5, seed=seed), nx.empty_graph(3)),
    ]
    colours = get_scheme(name)(Graphs.concatenate([to_graphs(graph) for graph in kinds]))
    assert colours.tolist() == [list(row) for graph in kinds for row in LITERAL[name](graph)]


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=25)
@given(graphs=graph_sets(), seed=st.integers(0, 999))
def test_relabelling_permutes_the_colours_and_nothing_else(name, graphs, seed):
    order = permutation_of(graphs, seed)
    scheme = get_scheme(name)
    assert np.array_equal(scheme(graphs.relabelled(order))[order], scheme(graphs))


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=25)
@given(graphs=graph_sets())
def test_a_set_gives_what_its_graphs_give_alone(name, graphs):
    scheme = get_scheme(name)
    alone = [scheme(one) for one in graphs]
    expected = np.concatenate([np.zeros((0, scheme.width), np.int64), *alone])
    assert np.array_equal(scheme(graphs), expected)


@given(networkx_graphs())
def test_wl_colours_equal_a_dictionary_refinement(graph):
    colours = dict.fromkeys(graph, ())
    for rounds in range(4):
        ours = [tuple(row) for row in get_scheme(f"wl-{rounds}")(to_graphs(graph)).tolist()]
        classes = [colours[v] for v in range(len(graph))]
        pairs = set(zip(ours, classes, strict=True))
        assert len(pairs) == len(set(ours)) == len(set(classes))
        colours = {v: (colours[v], tuple(sorted(colours[u] for u in graph[v]))) for v in graph}


def test_composition_is_the_common_refinement():
    graph = to_graphs(nx.lollipop_graph(4, 3))
    joined = get_scheme("core+triangle")
    parts = [get_scheme("core")(graph), get_scheme("triangle")(graph)]
    assert np.array_equal(joined(graph), np.concatenate(parts, axis=1))
    assert joined.describe([3, 1]) == "3 · 1"
    assert get_scheme("core+degree+triangle").width == 3


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(registry_module, "_registry", dict(registry_module._registry))
    monkeypatch.setattr(registry_module, "_of_users", set())


@pytest.mark.usefixtures("registry")
def test_registered_functions_take_part():
    register_scheme("parity", lambda graphs: graphs.degree % 2, definition="degree modulo 2")
    assert get_scheme("parity+core")(to_graphs(nx.path_graph(3))).tolist() == [
        [1, 1],
        [0, 1],
        [1, 1],
    ]
    assert "parity" in [scheme.name for scheme in list_schemes()]
    register_scheme("parity", lambda graphs: 1 - graphs.degree % 2)  # again, as in a notebook
    assert get_scheme("parity")(to_graphs(nx.path_graph(3))).tolist() == [[0], [1], [0]]
    with pytest.raises(InputError, match="'core' already"):
        register_scheme("core", lambda graphs: graphs.degree)
    with pytest.raises(InputError, match="'wl-4' already"):
        register_scheme("wl-4", lambda graphs: graphs.degree)


@pytest.mark.parametrize("name", ["A+b", "two words", "", "Upper"])
def test_names_that_cannot_be_registered(name):
    with pytest.raises(InputError, match="cannot name a scheme"):
        register_scheme(name, lambda graphs: graphs.degree)


@pytest.mark.parametrize("name", ["k-core", "wl-", "ego-4", "ego-0-fast", "core+nothing"])
def test_an_unknown_scheme_lists_the_choices(name):
    with pytest.raises(InputError, match="Choose one of: trivial, degree, core, core-degree"):
        get_scheme(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("core+", r"A scheme is missing beside '\+' in 'core\+'"),
        ("wl-k", r"Put a number for the letter in 'wl-k', as in wl-2\."),
        ("ego-r-fast", r"Put a number for the letter in 'ego-r-fast', as in ego-2-fast\."),
        ("learned-x", "Training also takes auto, learned-4 and mix:core,degree"),
    ],
)
def test_what_is_missing_in_a_name_is_said(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        get_scheme(name)


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    "answer", [np.zeros(2), np.zeros(4, int), np.zeros((2, 2), int), np.array(["a", "b"])]
)
def test_a_function_with_a_wrong_answer_is_refused(answer):
    register_scheme("odd", lambda _: answer)
    with pytest.raises(InputError, match=r"Scheme 'odd' returned .* Return 1 integer"):
        get_scheme("odd")(to_graphs(nx.path_graph(2)))


def test_every_scheme_says_what_it_is():
    for scheme in list_schemes():
        assert scheme.definition and scheme.cost and scheme.power
