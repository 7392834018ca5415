"""A linear map that supports stacked replicas."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from .kernels.dispatch import fast

__all__ = ["Linear", "linear"]


class Linear(nn.Linear):
    """:func:`linear` as a module."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    r""":math:`y = x W^T + b`, also for stacked replicas.

    Shapes: x [rows, f], weight [o, f], bias [o] → [rows, o], all with a leading dimension R if
    stacked.
    """
    if weight.dim() == 2:
        return functional.linear(x, weight, bias)
    if fast(x):
        out: Tensor = _Stacked.apply(x, weight, bias)
        return out
    if bias is None:
        return torch.bmm(x, weight.mT)
    return torch.baddbmm(bias.unsqueeze(-2), x, weight.mT)


class _Stacked(torch.autograd.Function):
    """The same with kernels that process rows in short spans, which keeps a GPU busy."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        from .kernels.cuda import all_rows, map_rows

        ctx.save_for_backward(x, weight)
        ctx.biased = bias is not None
        shift = None if bias is None else bias.unsqueeze(1)
        return map_rows(x, weight.mT.unsqueeze(1), shift, all_rows(x))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from .kernels.cuda import all_rows, map_rows, outer_rows

        x, weight = ctx.saved_tensors
        into = None
        if ctx.needs_input_grad[0]:
            into = map_rows(grad, weight.unsqueeze(1), None, all_rows(x))
        summed = "left" if ctx.biased else ""
        slope, shift = outer_rows(grad, x, 1, all_rows(x), summed)
        return into, slope.squeeze(1), None if shift is None else shift.squeeze(1)
