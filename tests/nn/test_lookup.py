"""Rows of stacked tables, and their gradients, against plain embeddings."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck
from torch.nn.functional import embedding

from gpnn.nn.lookup import DENSE_BELOW, lookup


@pytest.mark.parametrize("size", [1, 7, DENSE_BELOW, DENSE_BELOW + 1])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("count", [0, 40])
def test_each_replica_reads_its_own_table(size: int, shared: bool, count: int) -> None:
    torch.manual_seed(0)
    table = torch.randn(3, size, 4, dtype=torch.float64, requires_grad=True)
    index = torch.randint(0, size, (count,) if shared else (3, count))
    weight = torch.randn(3, count, 4, dtype=torch.float64)
    out = lookup(table, index)
    alone = [embedding(index if shared else index[r], table[r]) for r in range(3)]
    assert torch.equal(out, torch.stack(alone))
    (slope,) = torch.autograd.grad((out * weight).sum(), table)
    (expected,) = torch.autograd.grad((torch.stack(alone) * weight).sum(), table)
    assert torch.allclose(slope, expected, atol=1e-12)


def test_a_single_table_and_gradients() -> None:
    table = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    index = torch.tensor([4, 0, 0, 2])
    assert torch.equal(lookup(table, index), table[index])
    stacked = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda t: lookup(t, index.expand(2, -1)), stacked)
