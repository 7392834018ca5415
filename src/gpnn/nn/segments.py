"""Sums over segments, used wherever the network sums rows of a tensor."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from ..graph.kernels.segments import group
from .kernels.dispatch import kernels

__all__ = ["Segments", "bags"]


class Segments(NamedTuple):
    r"""Defines which rows of ``x`` are summed into which row of the result.

    .. math::
        y_i = \sum_{e = ptr_i}^{ptr_{i+1} - 1} w_e \, x_{source_e}

    The gradient is a sum of the same kind over the transposed structure, which is also stored.
    Neither direction scatters: every row is written once, and always in the same order.

    Stacked replicas are concatenated: rows and columns of replica r are offset by r times the rows
    and columns of one replica, and x is [R, columns, features].

    Attributes:
        source, ptr: [entries], [rows + 1]; entries from ``ptr[-1]`` on are padding.
        back_source, back_ptr: the transposed structure, [entries], [columns + 1].
        weight, back_weight: one factor per entry, or ``None`` for ones.
    """

    source: Tensor
    ptr: Tensor
    back_source: Tensor
    back_ptr: Tensor
    weight: Tensor | None = None
    back_weight: Tensor | None = None

    @classmethod
    def build(
        cls,
        row: np.ndarray,
        column: np.ndarray,
        rows: int,
        columns: int,
        weight: np.ndarray | None = None,
    ) -> Segments:
        """From entries (row, column[, weight]) in any order."""
        forth, ptr = group(row, rows)
        back, back_ptr = group(column, columns)
        parts = [column[forth], ptr, row[back], back_ptr]
        if weight is not None:
            parts += [weight[forth], weight[back]]
        return cls(*(torch.from_numpy(part) for part in parts))

    def sum(self, x: Tensor, onto: Tensor | None = None, factor: Tensor | None = None) -> Tensor:
        r"""The sums as a tensor [..., rows, features], differentiable in ``x`` [..., columns,
        features]; half precision is summed in single precision.

        With ``onto`` the result is :math:`f z_i + y_i`, where z is ``onto`` [..., rows, features]
        and f is ``factor``, one number, [...].
        """
        assert factor is None or onto is not None
        if x.dtype in (torch.bfloat16, torch.float16):
            x = x.float()
        if torch.compiler.is_compiling():
            return self._sum_compiled(x, onto, factor)
        base = None if onto is None or onto is x else onto.to(x.dtype)
        out: Tensor = _Sums.apply(x, base, factor, onto is x, self)
        return out

    def _sum_compiled(self, x: Tensor, onto: Tensor | None, factor: Tensor | None) -> Tensor:
        from .ops import segment_sums_op

        weights = [None if w is None else w.to(x.dtype) for w in (self.weight, self.back_weight)]
        flat = segment_sums_op(x.flatten(0, -2), *self[:4], *weights)
        out = flat.view(*x.shape[:-2], -1, x.shape[-1])
        return out if onto is None else _scaled(onto, factor) + out

    @property
    def transposed(self) -> Segments:
        """The transposed structure, which the gradient sums over."""
        weights = (self.back_weight, self.weight)
        return Segments(self.back_source, self.back_ptr, self.source, self.ptr, *weights)


def bags(
    x: Tensor, where: Segments, onto: Tensor | None = None, factor: Tensor | None = None
) -> Tensor:
    """The sums without a gradient."""
    flat = x.detach() if x.dim() == 2 else x.detach().flatten(0, -2)
    shape = (*x.shape[:-2], -1, x.shape[-1])
    source, ptr, weight = where.source, where.ptr, where.weight
    if not flat.shape[0]:
        out = flat.new_zeros(ptr.shape[0] - 1, flat.shape[1])
    elif (own := kernels(flat)) is not None:
        weight = None if weight is None else weight.to(flat.dtype)
        base = None if onto is None else onto.detach().flatten(0, -2)
        return own.segment_sums(flat, source, ptr, weight, base, factor).view(shape)
    else:
        weight = None if weight is None else weight.to(flat.dtype)
        out = embedding_bag(source, flat, ptr, mode="sum", per_sample_weights=weight)
        out = out[:-1]  # the last bag holds the padding
    out = out.view(shape)
    return out if onto is None else _scaled(onto.detach(), factor) + out


def _scaled(onto: Tensor, factor: Tensor | None) -> Tensor:
    return onto if factor is None else factor[..., None, None] * onto


class _Sums(torch.autograd.Function):
    """f z + S x, with z = x if ``itself``; the gradient is a sum of the same kind."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        onto: Tensor | None,
        factor: Tensor | None,
        itself: bool,
        where: Segments,
    ) -> Tensor:
        base = x if itself else onto
        ctx.save_for_backward(None if factor is None else base, factor)
        ctx.itself, ctx.where, ctx.onto = itself, where, onto is not None
        return bags(x, where, base, factor)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        base, factor = ctx.saved_tensors
        back, again = ctx.where.transposed, torch.is_grad_enabled()
        grad = grad.contiguous()
        onto = grad if ctx.itself else None
        step = factor if ctx.itself else None
        into = back.sum(grad, onto, step) if again else bags(grad, back, onto, step)
        of_onto = _scaled(grad, factor) if ctx.onto and ctx.needs_input_grad[1] else None
        of_factor = None
        if factor is not None and ctx.needs_input_grad[2]:
            of_factor = _dots(base, grad, factor, again)
        return into, of_onto, of_factor, None, None


def _dots(x: Tensor, y: Tensor, like: Tensor, again: bool) -> Tensor:
    """Σ x y over all entries of a replica, shaped like ``like``."""
    own = None if again else kernels(x)
    if own is None:
        return (x * y).sum((-2, -1))
    stacked = (part if like.dim() else part.unsqueeze(0) for part in (x.detach(), y.detach()))
    out: Tensor = own.replica_dots(*stacked)
    return out.view(like.shape)
