"""Arrays of odd kinds: read without loss, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gpnn.arrays import to_numpy, whole_numbers
from gpnn.data.objects import read_inputs
from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs
from gpnn.nn.prepare import prepare

EDGES = [[0, 1, 1, 2], [1, 0, 2, 1]]


@pytest.mark.parametrize(
    "edges",
    [
        np.array(EDGES, ">i8"), np.array(EDGES, ">i4"), np.array(EDGES, "u2"),
        np.array(EDGES, "f8"), np.array(EDGES, ">f4"), np.array(EDGES, "f2"),
        np.array(EDGES, object), EDGES,
        torch.tensor(EDGES, dtype=torch.int32), torch.tensor(EDGES).T.contiguous().T,
        np.array(EDGES, np.longdouble), torch.tensor(EDGES, dtype=torch.bfloat16),
    ],
    ids=str,
)  # fmt: skip
def test_edges_of_any_kind_are_the_same_graph(edges: Any) -> None:
    for found in (as_graphs(edges), as_graphs(Data(edge_index=edges, num_nodes=3))):
        assert found.edges().tolist() == [[0, 1], [1, 2]]
    batched = Data(edge_index=edges, num_nodes=3, batch=[0, 0, 0])
    assert as_graphs(batched).edges().tolist() == [[0, 1], [1, 2]]
    x = [[0.5], [1.5], [2.5]]
    ready = prepare([Data(edge_index=edges, num_nodes=3, x=np.array(x, ">f8"))])
    assert ready.graphs.num_edges == 2 and ready.x.tolist() == x
    raw = read_inputs([Data(edge_index=edges, num_nodes=3, x=x)])
    assert raw.nodes.tolist() == x


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        (np.array(EDGES, "c8"), "must hold numbers; got dtype complex64"),
        (np.array(EDGES, "M8[s]"), "must hold numbers; got dtype datetime64"),
        (torch.empty(2, 4, dtype=torch.long, device="meta"), "is a meta tensor"),
        (torch.tensor(EDGES, dtype=torch.complex64), "must hold plain numbers"),
        (np.ma.MaskedArray(EDGES, mask=[[1, 0, 0, 0], [0] * 4]), "has masked values"),
        (np.array([[0, 2**63], [1, 1]], np.uint64), "too large for an index"),
        (np.array([[0, 10**30], [1, 1]], object), "beyond 64 bits"),
        (np.array([[0, "a"], [1, 1]], object), "it holds 'a'"),
        ([[0, 1], [1]], "is ragged"),
        (torch.tensor(EDGES[0]), r"shape \[2, m\]"),
    ],
)
def test_other_kinds_are_refused(edges: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        as_graphs(edges)
    data = Data(edge_index=edges, num_nodes=3)
    for door in (as_graphs, lambda data: prepare([data]), lambda data: read_inputs([data])):
        with pytest.raises(InputError):
            door(data)


def test_numbers_beyond_the_range_of_floats() -> None:
    big = Data(edge_index=torch.tensor(EDGES), x=torch.full((3, 1), 1e39, dtype=torch.float64))
    with pytest.raises(InputError, match="NaN or infinity"):
        read_inputs([big])


def test_whole_numbers() -> None:
    assert whole_numbers(3, "sizes").tolist() == [3]
    assert whole_numbers([], "sizes").dtype == np.int64
    with pytest.raises(InputError, match=r"hold 0\.5, not whole"):
        whole_numbers([1, 0.5], "sizes")
    assert to_numpy(["a", 1], text=True).tolist() == ["a", "1"]


def collated(rows: list[int]) -> Any:
    """An in-memory dataset of three graphs of three vertices, with so many rows of x each."""
    from torch_geometric.data import InMemoryDataset

    class Set(InMemoryDataset):
        def __init__(self) -> None:
            super().__init__()
            items = [
                Data(edge_index=torch.tensor(EDGES), num_nodes=3, x=torch.arange(n)[:, None])
                for n in rows
            ]
            self.data, self.slices = self.collate(items)

    return Set()


def test_every_graph_has_its_own_rows() -> None:
    """Not only as many in all: features would move from one graph to another."""
    assert as_graphs(collated([3, 3, 3])).node_labels is not None
    wrong = collated([2, 4, 3])
    for source in (wrong, [wrong[k] for k in range(3)]):
        with pytest.raises(
            InputError, match=r"x of (graph|item) 0 has 2 rows, and the graph has 3"
        ):
            as_graphs(source)
    loose = Data(edge_index=torch.tensor(EDGES), num_nodes=3, edge_attr=torch.ones(3, 1))
    with pytest.raises(InputError, match="edge_attr has 3 rows, and the graph has 4 edges"):
        as_graphs(loose)
