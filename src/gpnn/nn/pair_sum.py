"""The sum of Equation 3 over individual pairs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .batch import PairRows
from .kernels.dispatch import as_cuda, kernels
from .segments import Segments

__all__ = ["pair_sum", "plain_pair_sum"]


def pair_sum(x: Tensor, y: Tensor, own: Segments, pairs: PairRows) -> Tensor:
    r"""For every vertex v

    .. math::
        s_v = \sum_{u \in N_d(v)} w_{vu} \, \mathrm{ReLU}\big(x_u + y_{vu}\big)

    where w is 1, except in samples of a graph.

    Shapes: x [n, f], y [rows, f] (rows of an α table) → [n, f]; rows of all replicas together.
    """
    if not as_cuda(x) and kernels(x) is not None:
        out: Tensor = _PairSum.apply(x, y, own, pairs)
        return out
    return plain_pair_sum(x, y, own, pairs)


def plain_pair_sum(x: Tensor, y: Tensor, own: Segments, pairs: PairRows) -> Tensor:
    """The same with a row for every pair."""
    return pairs.centre.sum(torch.relu(own.sum(y, onto=pairs.other.sum(x))))


class _PairSum(torch.autograd.Function):
    """Stores no rows for pairs: the gradient recomputes x_u + y_vu."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, own: Segments, pairs: PairRows) -> Tensor:
        from .kernels.cpu import pair_sums

        ctx.save_for_backward(x, y)
        ctx.own, ctx.pairs = own, pairs
        return pair_sums(
            x, y, pairs.other.source, own.source, pairs.centre.ptr, pairs.centre.weight
        )

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from .kernels.cpu import pair_slopes

        x, y = ctx.saved_tensors
        own, other, vertex = ctx.own, ctx.pairs.other, ctx.pairs.centre.back_source
        if torch.is_grad_enabled():  # second derivatives use the plain code
            with torch.enable_grad():
                out = plain_pair_sum(x, y, own, ctx.pairs)
            return *torch.autograd.grad(out, (x, y), grad, create_graph=True), None, None
        into_x = into_y = None
        rest = vertex, grad, ctx.pairs.centre.weight
        if ctx.needs_input_grad[0]:
            into_x = pair_slopes(x, y, own.source, other.back_source, other.back_ptr, *rest)
        if ctx.needs_input_grad[1]:
            into_y = pair_slopes(y, x, other.source, own.back_source, own.back_ptr, *rest)
        return into_x, into_y, None, None
