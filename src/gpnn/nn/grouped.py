"""A separate linear map for every group of contiguous rows, as one differentiable operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from .kernels.dispatch import fast

__all__ = ["grouped_linear", "map_groups", "unmap_groups"]

Groups = tuple[tuple[int, int, int], ...]


class _GroupedLinear(torch.autograd.Function):
    """Leading dimensions are replicas: x [..., rows, f], weight [..., maps, f, o]."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor | None, groups: Groups) -> Tensor:
        if fast(x):
            from .kernels.cuda import map_rows

            return map_rows(x, weight, bias, groups)
        out = x.new_empty(*x.shape[:-1], weight.shape[-1])
        for start, stop, j in _covered(groups, x.shape[-2]):
            rows, into = x[..., start:stop, :], out[..., start:stop, :]
            if j < 0:
                into.zero_()
            elif bias is None:
                torch.matmul(rows, weight[..., j, :, :], out=into)
            elif x.dim() == 2:
                torch.addmm(bias[j], rows, weight[j], out=into)
            else:
                torch.baddbmm(bias[:, j, None], rows, weight[:, j], out=into)
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG004
        x, weight, bias, groups = inputs
        ctx.save_for_backward(x, weight)
        ctx.groups, ctx.biased = groups, bias is not None

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        step = _Backward.apply if torch.is_grad_enabled() else _Backward.forward
        into_x, into_weight, into_bias = step(grad, x, weight, ctx.groups, ctx.biased)
        return into_x, into_weight, into_bias, None


class _Backward(torch.autograd.Function):
    """The gradient as a separate function, which is itself differentiable."""

    @staticmethod
    def forward(
        grad: Tensor, x: Tensor, weight: Tensor, groups: Groups, biased: bool
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        if fast(x):
            from .kernels.cuda import map_rows, outer_rows

            slope, shift = outer_rows(x, grad, weight.shape[1], groups, "right" if biased else "")
            return map_rows(grad, weight.mT, None, groups), slope, shift
        into_x, into_weight = torch.empty_like(x), torch.zeros_like(weight)
        into_bias = torch.zeros_like(weight[..., 0, :]) if biased else None
        add = torch.addmm if x.dim() == 2 else torch.baddbmm
        for start, stop, j in _covered(groups, x.shape[-2]):
            rows, piece = x[..., start:stop, :], grad[..., start:stop, :]
            into = into_x[..., start:stop, :]
            if j < 0:
                into.zero_()
                continue
            torch.matmul(piece, weight[..., j, :, :].mT, out=into)
            slope = into_weight[..., j, :, :]
            add(slope, rows.mT, piece, out=slope)
            if into_bias is not None:
                into_bias[..., j, :] += piece.sum(-2)
        return into_x, into_weight, into_bias

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ARG004
        grad, x, weight, groups, ctx.biased = inputs
        ctx.save_for_backward(grad, x, weight)
        ctx.groups = groups

    @staticmethod
    def backward(
        ctx: Any, of_x: Tensor, of_weight: Tensor, of_bias: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        """Second derivatives, by the same maps."""
        grad, x, weight = ctx.saved_tensors
        groups = ctx.groups
        into_grad = _GroupedLinear.apply(of_x, weight, None, groups) + _GroupedLinear.apply(
            x, of_weight, of_bias, groups
        )
        into_x = _GroupedLinear.apply(grad, of_weight.mT, None, groups)
        _, into_weight, _ = _Backward.apply(grad, of_x, weight, groups, False)
        return into_grad, into_x, into_weight, None, None


def _covered(groups: Groups, rows: int) -> Iterator[tuple[int, int, int]]:
    """The groups with the gaps between them, which have map -1."""
    at = 0
    for start, stop, j in groups:
        if start > at:
            yield at, start, -1
        yield start, stop, j
        at = stop
    if at < rows:
        yield at, rows, -1


def grouped_linear(x: Tensor, weight: Tensor, bias: Tensor | None, groups: Tensor) -> Tensor:
    r"""For every group (start, stop, j) of rows, in ascending order,

    .. math::
        y_i = x_i W_j + b_j, \qquad start \le i < stop

    Rows in no group become zero. Shapes: x [rows, f], weight [maps, f, o], bias [maps, o] or
    ``None``, groups int [groups, 3] on the CPU → [rows, o]; all except the groups have a leading
    dimension R if stacked.
    """
    x = x.to(weight.dtype)
    if torch.compiler.is_compiling():
        from .ops import grouped_linear_op

        return grouped_linear_op(x, weight, bias, groups)
    out: Tensor = _GroupedLinear.apply(x, weight, bias, _numbers(groups))
    return out


def map_groups(x: Tensor, weight: Tensor, bias: Tensor | None, groups: Tensor) -> Tensor:
    """:func:`grouped_linear` without a gradient."""
    return _GroupedLinear.forward(x, weight, bias, _numbers(groups))


def unmap_groups(
    grad: Tensor, x: Tensor, weight: Tensor, groups: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of :func:`grouped_linear` with respect to x, weight and bias."""
    into, slope, shift = _Backward.forward(grad, x, weight, _numbers(groups), True)
    assert shift is not None
    return into, slope, shift


def _numbers(groups: Tensor) -> Groups:
    return tuple((start, stop, j) for start, stop, j in groups.tolist())
