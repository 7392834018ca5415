"""A linear map of its own for every group of neighbouring rows, in one differentiable step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from .kernels.dispatch import fast
from .segments import eager

__all__ = ["Groups", "grouped_linear"]

Groups = tuple[tuple[int, int, int], ...]


class _GroupedLinear(torch.autograd.Function):
    """Leading dimensions are replicas: x [..., rows, f], weight [..., maps, f, o]."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor | None, groups: Groups) -> Tensor:
        if fast(x):
            from .kernels.cuda import map_rows

            return map_rows(x, weight, bias, groups)
        pieces = []
        for start, stop, j in _covered(groups, x.shape[-2]):
            rows = x[..., start:stop, :]
            if j < 0:
                pieces.append(rows.new_zeros(*rows.shape[:-1], weight.shape[-1]))
            elif bias is None:
                pieces.append(rows @ weight[..., j, :, :])
            elif x.dim() == 2:
                pieces.append(torch.addmm(bias[j], rows, weight[j]))
            else:
                pieces.append(rows @ weight[..., j, :, :] + bias[..., j, None, :])
        return _joined(pieces, x, weight.shape[-1])

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


class _Backward(torch.autograd.Function):
    """The gradient as a step of its own, which has a gradient too."""

    @staticmethod
    def forward(
        grad: Tensor, x: Tensor, weight: Tensor, groups: Groups
    ) -> tuple[Tensor, Tensor, Tensor]:
        if fast(x):
            from .kernels.cuda import map_rows, outer_rows

            slope, shift = outer_rows(x, grad, weight.shape[1], groups, "right")
            assert shift is not None
            return map_rows(grad, weight.mT, None, groups), slope, shift
        pieces = []
        into_weight: list[Any] = [None] * weight.shape[-3]
        into_bias: list[Any] = [None] * weight.shape[-3]
        for start, stop, j in _covered(groups, x.shape[-2]):
            rows, piece = x[..., start:stop, :], grad[..., start:stop, :]
            if j < 0:
                pieces.append(torch.zeros_like(rows))
                continue
            pieces.append(piece @ weight[..., j, :, :].mT)
            slope, shift = rows.mT @ piece, piece.sum(-2)
            again = into_weight[j] is not None
            into_weight[j] = into_weight[j] + slope if again else slope
            into_bias[j] = into_bias[j] + shift if again else shift
        empty = torch.zeros_like(weight[..., 0, :, :])
        return (
            _joined(pieces, grad, x.shape[-1]),
            torch.stack([empty if one is None else one for one in into_weight], -3),
            torch.stack([empty[..., 0, :] if one is None else one for one in into_bias], -2),
        )

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


def _joined(pieces: list[Tensor], like: Tensor, width: int) -> Tensor:
    if not pieces:
        return like.new_zeros(*like.shape[:-1], width)
    return torch.cat(pieces, -2)


def grouped_linear(x: Tensor, weight: Tensor, bias: Tensor | None, groups: Groups) -> Tensor:
    r"""For every group (start, stop, j) of rows, in ascending order,

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
