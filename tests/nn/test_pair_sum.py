"""Sums over pairs without rows for pairs, against the plain way: values, gradients, second ones."""

from __future__ import annotations

import networkx as nx
import pytest
import torch

from gpnn.graph.convert import as_graphs
from gpnn.nn.pair_sum import pair_sum, plain_pair_sum
from gpnn.nn.prepare import prepare


@pytest.mark.parametrize("d", [1, 2])
def test_equal_to_rows_for_every_pair(d: int) -> None:
    graphs = [nx.gnm_random_graph(9, 12, seed=d), nx.path_graph(4), nx.empty_graph(2)]
    batch = prepare(as_graphs(graphs), d=d, layers=1).batch()
    own, pairs = batch.rounds[0].own, batch.pairs
    assert own is not None and pairs is not None
    torch.manual_seed(0)
    rows = len(own.back_ptr) - 1
    x, y = torch.randn(batch.num_nodes, 3).double(), torch.randn(rows, 3).double()
    slope = torch.randn(batch.num_nodes, 3).double()
    found = []
    for way in (pair_sum, plain_pair_sum):
        a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
        out = way(a, b, own, pairs)
        first = torch.autograd.grad(out, (a, b), slope, retain_graph=True)
        again = torch.autograd.grad(out, (a, b), slope, create_graph=True)
        found.append((out, *first, *again))
    for ours, theirs in zip(*found, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-12)
    assert bool(found[0][1].any()) and bool(found[0][2].any())


def test_it_is_the_formula() -> None:
    graph = nx.lollipop_graph(4, 3)
    ready = prepare(as_graphs(graph), layers=1, direct=True)
    batch = ready.batch()
    own, pairs = batch.rounds[0].own, batch.pairs
    assert own is not None and pairs is not None
    x, y = torch.randn(7, 2).double(), torch.randn(len(own.back_ptr) - 1, 2).double()
    found = pair_sum(x, y, own, pairs)
    for v in range(7):
        low, high = int(batch.near.ptr[v]), int(batch.near.ptr[v + 1])
        entries = zip(batch.near.source[low:high], own.source[low:high], strict=True)
        expected = sum(torch.relu(x[int(u)] + y[int(c)]) for u, c in entries)
        assert torch.allclose(found[v], expected)
