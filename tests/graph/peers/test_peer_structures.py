"""What peers read of graphs, against networkx and literal definitions."""

from __future__ import annotations

from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs
from gpnn.graph.graphs import Graphs
from gpnn.graph.peers import bags as bag_module
from gpnn.graph.peers import orderings as ordering_module
from gpnn.graph.peers import rings as ring_module
from gpnn.graph.peers.bags import POLICIES, bags
from gpnn.graph.peers.directions import directions, eigenvectors
from gpnn.graph.peers.orderings import local_orderings, ordering_length
from gpnn.graph.peers.overlaps import overlaps
from gpnn.graph.peers.pairs import GRIDS, all_pairs
from gpnn.graph.peers.rings import cell_complex
from gpnn.graph.peers.shells import k_hop_shells
from gpnn.graph.peers.structure import PeerStructure
from strategies import networkx_graphs, to_graphs

few = settings(max_examples=30)


def two(graph: nx.Graph) -> Graphs:
    """The graph after another one, so that numbers are shifted."""
    return Graphs.concatenate([to_graphs(nx.path_graph(3)), to_graphs(graph)])


@few
@given(networkx_graphs(8), st.sampled_from([0.0, 1.0, 2.0]))
def test_overlaps_weigh_neighbours_by_the_induced_subgraph(graph: nx.Graph, power: float) -> None:
    relation = overlaps(two(graph), power, edged=False).relations["overlap"]
    found = dict(zip(zip(relation.row, relation.column, strict=True), relation.weight, strict=True))
    for v in graph:
        omega = {}
        for u in graph[v]:
            both = ({v} | set(graph[v])) & ({u} | set(graph[u]))
            inside = graph.subgraph(both)
            size = len(both)
            omega[u] = inside.number_of_edges() * size**power / (size * (size - 1))
        for u, weight in omega.items():
            assert np.isclose(found[v + 3, u + 3], weight / sum(omega.values()) + 1)


@few
@given(networkx_graphs(9), st.integers(3, 7))
def test_rings_are_the_chordless_cycles_of_networkx(graph: nx.Graph, longest: int) -> None:
    found = cell_complex(two(graph), longest)
    edge, ring = found.cells["edge"], found.cells["ring"]
    ends = found.relations["edge boundary"].column.reshape(-1, 2)
    around = found.relations["ring boundary"]
    ours = sorted(
        sorted(map(tuple, ends[around.column[around.row == r]] - 3)) for r in range(len(ring.graph))
    )
    theirs = sorted(
        sorted(tuple(sorted(pair)) for pair in zip(c, [*c[1:], c[0]], strict=True))
        for c in nx.chordless_cycles(graph, longest)
        if len(c) > 2
    )
    assert ours == theirs
    assert (ring.graph == 1).all() and (edge.graph == [0, 0] + [1] * graph.number_of_edges()).all()
    to, via = found.relations["edge up to"], found.relations["edge up via"]
    sent = found.relations["edge up from"]
    links = set(zip(to.row, sent.column, via.column, strict=True))
    expected = {
        (a, b, r)
        for r in range(len(ring.graph))
        for a, b in permutations(around.column[around.row == r], 2)
    }
    assert links == expected and len(to.row) == len(expected)


@few
@given(networkx_graphs(7), st.sampled_from(POLICIES), st.integers(1, 2), st.booleans())
def test_bags_hold_the_subgraphs_of_the_policy(
    graph: nx.Graph, policy: str, hops: int, edged: bool
) -> None:
    graphs = two(graph)
    found = bags(graphs, policy, hops, edged)
    copied, bag = found.relations["copied"], found.relations["bag"]
    if edged:
        row, column = found.relations["adjacent to"].row, found.relations["adjacent from"].column
        entry = found.cells["adjacent"].entry
        assert entry is not None
        assert (graphs.rows[entry] == copied.column[row]).all()
        assert (graphs.indices[entry] == copied.column[column]).all()
    else:
        row, column = found.relations["adjacent"].row, found.relations["adjacent"].column
    vertex, subgraph = copied.column, np.empty(len(bag.row), int)
    subgraph[bag.column] = bag.row
    assert (subgraph[row] == subgraph[column]).all()
    ours = sorted(
        (
            sorted(vertex[subgraph == s] - 3),
            sorted(
                zip(vertex[row[subgraph[row] == s]] - 3, vertex[column[subgraph[row] == s]] - 3,
                    strict=True)
            ),
        )
        for s in range(len(found.cells["subgraph"].graph))
        if found.cells["subgraph"].graph[s] == 1
    )  # fmt: skip
    if policy == "node":
        made = [graph.subgraph(set(graph) - {v}) for v in graph] if len(graph) > 1 else []
    elif policy == "edge":
        made = [nx.restricted_view(graph, [], [edge]) for edge in graph.edges]
    else:
        made = [nx.ego_graph(graph, v, hops) for v in graph]
    made = made or [graph]
    theirs = sorted(
        (sorted(one), sorted(pair for u, v in one.edges for pair in ((u, v), (v, u))))
        for one in made
    )
    assert ours == theirs
    if policy.startswith("ego") and len(graph):
        far = found.cells["copy"].codes["hops"]
        ego = found.relations["ego"]
        lengths = dict(nx.all_pairs_shortest_path_length(graph))
        for root, copy in zip(ego.row, ego.column, strict=True):
            if root >= 3:
                assert far[copy] == lengths[root - 3][vertex[copy] - 3]
        root = found.relations["root"]
        assert (vertex[root.column] == root.row).all() and (far[root.column] == 0).all()
        assert len(root.row) == graphs.num_nodes


@few
@given(networkx_graphs(8), st.integers(1, 3), st.sampled_from(["shortest", "diffusion"]))
def test_shells_and_their_peripheral_edges(graph: nx.Graph, hops: int, kernel: str) -> None:
    found = k_hop_shells(two(graph), hops, kernel, edged=False)
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    adjacency = nx.to_numpy_array(graph) if len(graph) else np.zeros((0, 0))
    edges = found.cells["component"].codes["edges"]
    for k in range(1, hops + 1):
        hop, periphery = found.relations[f"hop {k}"], found.relations[f"periphery {k}"]
        walks = np.linalg.matrix_power(adjacency, k)
        for v in graph:
            near = {u for u in graph if lengths[v].get(u) == k}
            if kernel == "diffusion":
                near = {u for u in graph if walks[v, u] and u != v}
            assert set(hop.column[hop.row == v + 3] - 3) == near
            inside = graph.subgraph(near)
            counts = [inside.subgraph(c).number_of_edges() for c in nx.connected_components(inside)]
            own = edges[periphery.column[periphery.row == v + 3]]
            assert sorted(own) == sorted(filter(None, counts))


def test_diffusion_counts_many_paths() -> None:
    """Two vertices with 256 common neighbours are at two steps from each other."""
    found = k_hop_shells(as_graphs(nx.complete_bipartite_graph(2, 256)), 3, "diffusion", False)
    second, third = (found.relations[f"hop {k}"] for k in (2, 3))
    assert second.column[second.row == 0].tolist() == [1]
    assert third.column[third.row == 0].tolist() == list(range(2, 258))


@few
@given(networkx_graphs(6))
def test_pairs_fill_the_smallest_grid(graph: nx.Graph) -> None:
    found = all_pairs(two(graph))
    n = len(graph)
    assert (found.cells["pair"].graph == 1).sum() == n * n
    kind = found.cells["pair"].codes["kind"][9:].reshape(n, n)
    expected = 2 * nx.to_numpy_array(graph) + np.eye(n) if n else np.zeros((0, 0))
    assert (kind == expected).all()
    side = min(grid for grid in GRIDS if grid >= n)
    place = found.relations[f"grid {side}"]
    own = place.column >= 9
    row, column = place.row[own] - (side**2 if side == 4 else 0), place.column[own] - 9
    assert (row // side == column // max(n, 1)).all() and (row % side == column % max(n, 1)).all()


@few
@given(networkx_graphs(9))
def test_eigenvectors_are_those_of_every_component(graph: nx.Graph) -> None:
    vectors, repeated, disconnected = eigenvectors(two(graph), 2)
    assert disconnected == (len(graph) > 0 and not nx.is_connected(graph))
    ambiguous = False
    for part in nx.connected_components(graph):
        nodes = sorted(part)
        matrix = nx.laplacian_matrix(graph, nodes).toarray().astype(float)
        values = np.linalg.eigvalsh(matrix)
        ambiguous |= bool((np.diff(values[1:4]) < 1e-6).any())
        for k in range(2):
            own = vectors[np.array(nodes) + 3, k]
            expected = values[k + 1] if k + 1 < len(nodes) else 0.0
            assert np.allclose(matrix @ own, expected * own, atol=1e-8)
            assert np.isclose(np.linalg.norm(own), float(k + 1 < len(nodes)))
    assert (repeated > 0) == ambiguous


def test_directions_are_normalised_and_their_diagonal_cancels_them() -> None:
    graphs = to_graphs(nx.lollipop_graph(4, 3))
    found = directions(graphs, 1, edged=False)
    average, derivative = found.relations["average 1"], found.relations["derivative 1"]
    own = found.relations["own 1"]
    assert average.weight is not None and derivative.weight is not None and own.weight is not None
    rows = np.bincount(average.row, average.weight)
    assert np.allclose(rows[rows > 1e-6], 1, atol=1e-4)
    assert np.allclose(np.bincount(derivative.row, derivative.weight), -own.weight)
    assert np.allclose(np.abs(derivative.weight), average.weight)


def literal_orderings(graph: nx.Graph, root: int, depth: int, width: int) -> set[tuple[int, ...]]:
    found = [((root,), (root,))]
    for _ in range(depth):
        longer = []
        for whole, level in found:
            grown: list[tuple[int, ...]] = [()]
            for v in level:
                next_grown = []
                for added in grown:
                    free = [u for u in graph[v] if u not in whole and u not in added]
                    chosen = permutations(free, min(width, len(free)))
                    next_grown += [(*added, *more) for more in chosen]
                grown = next_grown
            longer += [((*whole, *added), added) for added in grown]
        found = longer
    return {whole for whole, _ in found}


@few
@given(networkx_graphs(6), st.sampled_from([(1, 1), (3, 1), (1, 2), (1, 3), (2, 2)]))
def test_orderings_are_all_truncated_breadth_first_ones(
    graph: nx.Graph, size: tuple[int, int]
) -> None:
    depth, width = size
    found = local_orderings(two(graph), depth, width, edged=True)
    count = len(found.cells["ordering"].graph)
    slots = np.full((count, ordering_length(depth, width)), -1)
    for place in range(slots.shape[1]):
        relation = found.relations[f"place {place}"]
        slots[relation.row, place] = relation.column - 3
    rooted = found.relations["rooted"]
    assert rooted.weight is not None
    bits, bonds = found.cells["ordering"].codes["bits"], found.relations["bonds"]
    for v in graph:
        own = rooted.column[rooted.row == v + 3]
        assert np.isclose(rooted.weight[rooted.row == v + 3].sum(), 1)
        ours = [tuple(row[row != -1]) for row in slots[own]]
        assert len(set(ours)) == len(ours) and set(ours) == literal_orderings(
            graph, v, depth, width
        )
        for o, ordering in zip(own, ours, strict=True):
            joined = {
                j * (j - 1) // 2 + i
                for i, j in combinations(range(len(ordering)), 2)
                if graph.has_edge(ordering[i], ordering[j])
            }
            assert {k for k in range(60) if bits[o] >> k & 1} == joined
            assert set(found.cells["bond"].codes["pair"][bonds.column[bonds.row == o]]) == joined


@few
@given(networkx_graphs(6))
def test_structures_survive_the_cache(graph: nx.Graph) -> None:
    assume(len(graph))
    for made in (cell_complex(two(graph), 5), directions(two(graph), 2, True)):
        again = PeerStructure.from_arrays(made.to_arrays())
        assert again.notes == made.notes and set(again.cells) == set(made.cells)
        for name, cells in made.cells.items():
            assert (again.cells[name].graph == cells.graph).all()
            assert (again.cells[name].entry is None) == (cells.entry is None)
        for name, one in made.relations.items():
            other = again.relations[name]
            assert (other.rows, other.into, other.symmetric) == (one.rows, one.into, one.symmetric)
            assert (other.row == one.row).all() and (other.column == one.column).all()
            assert (other.weight is None) == (one.weight is None)


def test_what_does_not_fit_is_refused_with_its_number_and_a_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clique = to_graphs(nx.complete_graph(9))
    with pytest.raises(InputError, match=r"2,100 vertices in the largest graph.*--model gin-ak"):
        all_pairs(to_graphs(nx.empty_graph(2100)))
    monkeypatch.setattr(ring_module, "MOST_RINGS", 10)
    with pytest.raises(InputError, match=r"after 10 rings.*cin:rings=5"):
        cell_complex(clique, 6)
    monkeypatch.setattr(bag_module, "MOST_MESSAGES", 10)
    with pytest.raises(
        InputError, match=r"9 subgraphs .policy 'node'. with 72 vertices.*504 messages"
    ):
        bags(clique, "node", 2, False)
    monkeypatch.setattr(ordering_module, "MOST_ORDERINGS", 10)
    with pytest.raises(InputError, match=r"more than 10 orderings of depth 4.*lrp:depth=2,width=1"):
        local_orderings(clique, 4, 1, False)
    with pytest.raises(InputError, match=r"have 15 vertices.*at most 11"):
        local_orderings(clique, 3, 2, False)
    cut = nx.disjoint_union(nx.cycle_graph(4), nx.path_graph(3))
    notes = directions(to_graphs(cut), 1, False).notes
    assert "1 of 1 graphs are disconnected" in notes[0] and "repeated eigenvalue" in notes[1]
