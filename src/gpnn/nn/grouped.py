"""A linear map of its own for every group of neighbouring rows, in one differentiable step."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .segments import eager

__all__ = ["Groups", "grouped_linear"]

Groups = tuple[tuple[int, int, int], ...]


class _GroupedLinear(torch.autograd.Function):
    """Leading dimensions are replicas: x [..., rows, f], weight [..., maps, f, o]."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor | None, groups: Groups) -> Tensor:
        out = x.new_zeros(*x.shape[:-1], weight.shape[-1])
        for start, stop, j in groups:
            torch.matmul(x[..., start:stop, :], weight[..., j, :, :], out=out[..., start:stop, :])
            if bias is not None:
                out[..., start:stop, :] += bias[..., j, None, :]
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG004
        x, weight, bias, groups = inputs
        ctx.save_for_backward(x, weight)
        ctx.groups, ctx.biased = groups, bias is not None

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        step = _Backward.forward if eager() else _Backward.apply
        into_x, into_weight, into_bias = step(grad, x, weight, ctx.groups)
        return into_x, into_weight, into_bias if ctx.biased else None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Tensor, int]:
        x, weight, bias = _replicas(info.batch_size, args[:3], in_dims[:3])
        return _GroupedLinear.apply(x, weight, bias, args[3]), 0


class _Backward(torch.autograd.Function):
    """The gradient as a step of its own, so that it can be mapped over replicas."""

    @staticmethod
    def forward(
        grad: Tensor, x: Tensor, weight: Tensor, groups: Groups
    ) -> tuple[Tensor, Tensor, Tensor]:
        into_x = torch.zeros_like(x)
        into_weight = torch.zeros_like(weight)
        into_bias = weight.new_zeros(*weight.shape[:-2], weight.shape[-1])
        for start, stop, j in groups:
            rows, piece = x[..., start:stop, :], grad[..., start:stop, :]
            torch.matmul(piece, weight[..., j, :, :].mT, out=into_x[..., start:stop, :])
            into_weight[..., j, :, :] += rows.mT @ piece
            into_bias[..., j, :] += piece.sum(-2)
        return into_x, into_weight, into_bias

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ARG004
        grad, x, weight, groups = inputs
        ctx.save_for_backward(grad, x, weight)
        ctx.groups = groups

    @staticmethod
    def backward(
        ctx: Any, of_x: Tensor, of_weight: Tensor, of_bias: Tensor
    ) -> tuple[Tensor | None, ...]:
        """Second derivatives, by the same maps."""
        grad, x, weight = ctx.saved_tensors
        groups = ctx.groups
        into_grad = grouped_linear(of_x, weight, None, groups) + grouped_linear(
            x, of_weight, of_bias, groups
        )
        into_x = grouped_linear(grad, of_weight.mT, None, groups)
        _, into_weight, _ = _Backward.apply(grad, of_x, weight, groups)
        return into_grad, into_x, into_weight, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], *args: Any
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        grad, x, weight = _replicas(info.batch_size, args[:3], in_dims[:3])
        return _Backward.apply(grad, x, weight, args[3]), (0, 0, 0)


def _replicas(count: int, args: tuple[Any, ...], dims: tuple[Any, ...]) -> list[Any]:
    return [
        None if arg is None
        else arg.movedim(dim, 0) if dim is not None
        else arg.expand(count, *arg.shape)
        for arg, dim in zip(args, dims, strict=True)
    ]  # fmt: skip


def grouped_linear(x: Tensor, weight: Tensor, bias: Tensor | None, groups: Groups) -> Tensor:
    r"""For every group (start, stop, j) of rows,

    .. math::
        y_i = x_i W_j + b_j, \qquad start \le i < stop

    Rows in no group come out as zero. Shapes: x [rows, f], weight [maps, f, o], bias [maps, o] or
    ``None`` → [rows, o].
    """
    kind = x.device.type
    if torch.is_autocast_enabled(kind):
        lower = torch.get_autocast_dtype(kind)
        x, weight = x.to(lower), weight.to(lower)
        bias = None if bias is None else bias.to(lower)
    out: Tensor = _GroupedLinear.apply(x, weight, bias, groups)
    return out
