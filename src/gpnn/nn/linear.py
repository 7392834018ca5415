"""A linear map that may be stacked."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .at_hand import fused

__all__ = ["Linear", "fast", "linear"]


class Linear(nn.Linear):
    """:func:`linear` with weight and bias of its own."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    r""":math:`y = x W^T + b`, also for stacked replicas.

    Shapes: x [rows, f], weight [o, f], bias [o] → [rows, o], all with a leading dimension R if
    they are stacked.
    """
    if weight.dim() == 2:
        return functional.linear(x, weight, bias)
    if fast(x):
        out: Tensor = _Stacked.apply(x, weight, bias)
        return out
    return _product(x, weight, bias)


def fast(x: Tensor) -> bool:
    """Whether there are kernels of our own for a product with stacked rows."""
    return x.dim() == 3 and x.dtype is torch.float32 and fused(x)


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if bias is None:
        return torch.bmm(x, weight.mT)
    return torch.baddbmm(bias.unsqueeze(-2), x, weight.mT)


class _Stacked(torch.autograd.Function):
    """The same with the gradient of the map taken in spans of rows, which keeps a GPU busy."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.biased = bias is not None
        if x.shape[2] % 4 == 0:
            return _product(x, weight, bias)
        from .fused import map_rows  # rows that are not aligned are slow in the library

        shift = None if bias is None else bias.unsqueeze(1)
        return map_rows(x, weight.unsqueeze(1), shift, ((0, x.shape[1], 0),), transposed=True)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from .fused import outer_rows

        x, weight = ctx.saved_tensors
        into = torch.bmm(grad, weight) if ctx.needs_input_grad[0] else None
        summed = "left" if ctx.biased else ""
        slope, shift = outer_rows(grad, x, 1, ((0, x.shape[1], 0),), summed)
        return into, slope.squeeze(1), None if shift is None else shift.squeeze(1)
