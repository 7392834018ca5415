"""The generated graphs are what the race says they are."""

import numpy as np
import pytest

from gpnn.bench.catalogue import FULL, QUICK, Spec, select
from gpnn.bench.workloads import molecules, power_law, rmat, shuffled, workload
from gpnn.errors import InputError


def keys(edge_index, n):
    return edge_index[0] * n + edge_index[1]


@pytest.mark.parametrize(
    ("edge_index", "ptr", "edges"),
    [(*power_law(300, 900), 900), (*rmat(8, 700), 700), (*molecules(50), None)],
    ids=["power-law", "rmat", "molecules"],
)
def test_simple_undirected_and_sorted(edge_index, ptr, edges):
    n = int(ptr[-1])
    forth = keys(edge_index, n)
    assert (np.diff(forth) > 0).all()
    assert (edge_index[0] != edge_index[1]).all()
    assert np.array_equal(np.sort(keys(edge_index[::-1], n)), forth)
    assert edge_index.min() >= 0 and edge_index.max() < n
    if edges is not None:
        assert edge_index.shape == (2, 2 * edges)


def test_seeded():
    assert np.array_equal(power_law(300, 900)[0], power_law(300, 900)[0])
    assert not np.array_equal(power_law(300, 900)[0], power_law(300, 900, seed=1)[0])


def test_power_law_has_a_heavy_tail_below_the_cut_off():
    edge_index, _ = power_law(10_000, 50_000)
    degree = np.bincount(edge_index[0], minlength=10_000)
    assert 20 * degree.mean() < degree.max() < 1.5 * 10_000 ** (2 / 3)


def test_molecules_are_connected_and_sized_like_molecules():
    edge_index, ptr = molecules(2_000)
    work = workload("molecules", edge_index, ptr)
    assert 24 < work.num_nodes / 2_000 < 27 and 25 < work.num_edges / 2_000 < 29
    graph = np.repeat(np.arange(2_000), np.diff(ptr))
    assert np.array_equal(graph[edge_index[0]], graph[edge_index[1]])
    assert np.bincount(edge_index[0]).max() <= 8
    import networkx as nx

    union = nx.Graph(edge_index.T.tolist())
    assert nx.number_connected_components(union) == 2_000


def test_slices_bound_the_edges_of_every_graph():
    work = workload("molecules", *molecules(20))
    for g in range(20):
        src = work.edge_index[0, work.slices[g] : work.slices[g + 1]]
        assert src.min() >= work.ptr[g] and src.max() < work.ptr[g + 1]


def test_shuffling_keeps_the_edges():
    edge_index, _ = power_law(100, 200)
    mixed = shuffled(edge_index)
    assert not np.array_equal(mixed, edge_index)
    assert np.array_equal(np.sort(keys(mixed, 100)), keys(edge_index, 100))


def test_too_many_edges_are_refused():
    with pytest.raises(InputError, match="80 edges on 10 vertices: give at most a quarter"):
        power_law(10, 80)


def test_selection():
    assert [spec.name for spec in select(None, quick=True)] == list(QUICK)
    assert select(["rmat-1e6"]) == [FULL["rmat-1e6"]]
    own = Spec("mine", "a graph", lambda: power_law(10, 12))
    assert select([own]) == [own]
    with pytest.raises(InputError, match=r"no workload 'rmat-9'\. Choose from: power-law-1e4"):
        select(["rmat-9"])


def test_molhiv_needs_its_data(tmp_path):
    with pytest.raises(InputError, match="ogbg-molhiv is not in the data folder"):
        select(["ogbg-molhiv"], data=str(tmp_path))
