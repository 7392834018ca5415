"""Σ ReLU(x_u + y_c) over the pairs of every vertex, without storing a row for every pair; the plain
code is :func:`gpnn.nn.pair_sum.plain_pair_sum`."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from .jit import jit
from .threads import on_entries

__all__ = ["pair_slopes", "pair_sums"]


@jit
def _sums(x, y, other, own, ptr, weight, out, low, high):
    zero, factor = out.dtype.type(0), out.dtype.type(1)
    for v in range(low, high):
        row = out[v]
        row[:] = 0
        for e in range(ptr[v], ptr[v + 1]):
            a, b = x[other[e]], y[own[e]]
            if len(weight):
                factor = weight[e]
            for k in range(len(row)):
                row[k] += factor * max(a[k] + b[k], zero)


@jit
def _slopes(mine, theirs, partner, entry, ptr, vertex, grad, weight, out, low, high):
    """Gradient of the rows ``mine``; entry e pairs row i with row ``partner[e]`` of ``theirs``."""
    zero, factor = out.dtype.type(0), out.dtype.type(1)
    for i in range(low, high):
        row, a = out[i], mine[i]
        row[:] = 0
        for k in range(ptr[i], ptr[i + 1]):
            e = entry[k]
            b, g = theirs[partner[e]], grad[vertex[e]]
            if len(weight):
                factor = weight[e]
            for f in range(len(row)):
                row[f] += factor * g[f] if a[f] + b[f] > 0 else zero


def _arrays(*tensors: Tensor) -> tuple[np.ndarray, ...]:
    return tuple(one.detach().contiguous().numpy() for one in tensors)


def _weights(weight: Tensor | None, like: Tensor) -> Tensor:
    """Factors of the pairs; empty if all are 1."""
    return like.new_zeros(0) if weight is None else weight.to(like.dtype)


def pair_sums(
    x: Tensor, y: Tensor, other: Tensor, own: Tensor, ptr: Tensor, weight: Tensor | None
) -> Tensor:
    """Shapes: x [n, f], y [rows, f], pairs [entries] → [vertices, f]."""
    out = x.new_empty(ptr.shape[0] - 1, x.shape[1])
    arrays = _arrays(x, y, other, own, ptr, _weights(weight, x), out)
    on_entries(_sums, arrays, arrays[4], x.shape[1])
    return out


def pair_slopes(
    mine: Tensor, theirs: Tensor, partner: Tensor, entry: Tensor, ptr: Tensor, vertex: Tensor,
    grad: Tensor, weight: Tensor | None,
) -> Tensor:  # fmt: skip
    """The gradient of one of the two tables."""
    out = mine.new_empty(mine.shape)
    weights = _weights(weight, mine)
    arrays = _arrays(mine, theirs, partner, entry, ptr, vertex, grad, weights, out)
    on_entries(_slopes, arrays, arrays[4], 2 * mine.shape[1])
    return out
