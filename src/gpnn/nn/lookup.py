"""Rows of a table by number."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .kernels.dispatch import as_cuda, fast

__all__ = ["lookup", "rows_or_zero"]

DENSE_BELOW = 512


def rows_or_zero(table: Tensor, number: Tensor) -> Tensor:
    """Rows of a table by number, zero where the number is negative; the table may be empty."""
    if not len(table):
        return table.new_zeros(len(number), *table.shape[1:])
    there = (number >= 0).view(-1, *[1] * (table.dim() - 1))
    return table[number.clamp(min=0)] * there


class _Lookup(torch.autograd.Function):
    """Look-up in a stacked table. The gradient of a small table is a product with one-hot rows, so
    that rows with equal indices need not wait for each other."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, index: Tensor) -> Tensor:
        replicas, size, width = table.shape
        ctx.save_for_backward(index)
        ctx.size = size
        if index.dim() == 1:
            return table.index_select(1, index)
        shift = torch.arange(replicas, device=table.device, dtype=index.dtype).unsqueeze(1) * size
        rows = (index + shift).reshape(-1)
        return table.reshape(-1, width).index_select(0, rows).view(replicas, -1, width)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        if ctx.size <= DENSE_BELOW:
            number = torch.arange(ctx.size, device=grad.device, dtype=index.dtype)
            chosen = (index.unsqueeze(-1) == number).to(grad.dtype)
            if chosen.dim() == 2:
                chosen = chosen.expand(grad.shape[0], -1, -1)
            if fast(grad):
                from .kernels.cuda import all_rows, outer_rows

                slope, _ = outer_rows(chosen, grad, 1, all_rows(grad))
                return slope.squeeze(1), None
            return torch.bmm(chosen.mT, grad), None
        replicas, _, width = grad.shape
        if index.dim() == 1:
            index = index.expand(replicas, -1)
        shift = torch.arange(replicas, device=grad.device, dtype=index.dtype).unsqueeze(1)
        into = grad.new_zeros(replicas * ctx.size, width)
        into.index_add_(0, (index + shift * ctx.size).reshape(-1), grad.reshape(-1, width))
        return into.view(replicas, ctx.size, width), None


def lookup(table: Tensor, index: Tensor) -> Tensor:
    """Rows ``index`` of the table.

    Shapes: table [rows, f], index [n] → [n, f]; stacked: table [R, rows, f], index [R, n], or [n]
    for all replicas → [R, n, f].
    """
    if table.dim() == 2:
        return functional.embedding(index, table)
    if not as_cuda(table):
        replicas, size, width = table.shape
        shift = torch.arange(replicas, device=index.device).unsqueeze(1) * size
        return functional.embedding(index + shift, table.reshape(-1, width))
    out: Tensor = _Lookup.apply(table, index)
    return out
