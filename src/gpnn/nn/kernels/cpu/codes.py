"""Sums of rows of one table, a fixed number per result; the plain code is :mod:`gpnn.nn.encode`."""

from __future__ import annotations

from torch import Tensor

from .jit import jit

__all__ = ["add_rows", "sum_rows"]


@jit
def _sum(table, index, out):
    for i in range(len(index)):
        row = index[i, 0]
        for c in range(table.shape[1]):
            out[i, c] = table[row, c]
        for k in range(1, index.shape[1]):
            row = index[i, k]
            for c in range(table.shape[1]):
                out[i, c] += table[row, c]


@jit
def _add(grad, index, into):
    for i in range(len(index)):
        for k in range(index.shape[1]):
            row = index[i, k]
            for c in range(grad.shape[1]):
                into[row, c] += grad[i, c]


def sum_rows(table: Tensor, index: Tensor) -> Tensor:
    """Σ_k table[index_ik], [rows, k] → [rows, f]."""
    out = table.new_empty(len(index), table.shape[1])
    _sum(table.detach().contiguous().numpy(), index.numpy(), out.numpy())
    return out


def add_rows(grad: Tensor, index: Tensor, size: int) -> Tensor:
    """The gradient of :func:`sum_rows` with respect to a table of ``size`` rows."""
    into = grad.new_zeros(size, grad.shape[1])
    _add(grad.detach().contiguous().numpy(), index.numpy(), into.numpy())
    return into
