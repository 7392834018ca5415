"""Sums over segments: the one way in which rows of a tensor are added up here."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag

from ..graph.kernels.segments import group
from .kernels.dispatch import fast, fused

__all__ = ["Segments", "eager", "segment_sum"]


class Segments(NamedTuple):
    r"""Which rows of ``x`` add up to which row of the result.

    .. math::
        y_i = \sum_{e = ptr_i}^{ptr_{i+1} - 1} w_e \, x_{source_e}

    The gradient is a sum of the same kind over the transposed structure, which is kept beside it,
    so neither direction scatters: every row is written once, and always in the same order.

    Replicas that are stacked lie one after another: rows and columns of replica r are shifted by
    r times the rows and columns of one, and x is [R, columns, features].

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
        features]; half precision is summed in single.

        With ``onto`` they are added to what is there: :math:`f z_i + y_i`, z being ``onto``
        [..., rows, features] and f ``factor``, one number, [...].
        """
        assert factor is None or onto is not None
        if x.dtype in (torch.bfloat16, torch.float16):
            x = x.float()
        weights: tuple[Tensor | None, Tensor | None] = (None, None)
        if self.weight is not None and self.back_weight is not None:
            weights = (self.weight.to(x.dtype), self.back_weight.to(x.dtype))
        if onto is not None and fast(x) and fast(onto):
            total: Tensor = _SumOnto.apply(
                x, None if onto is x else onto, factor, *self[:4], *weights
            )
            return total
        flat = x.flatten(0, -2)
        out = segment_sum(flat, *self[:4], *weights).view(*x.shape[:-2], -1, x.shape[-1])
        if onto is None:
            return out
        return (onto if factor is None else factor[..., None, None] * onto) + out

    @property
    def transposed(self) -> Segments:
        """The sums that the gradient takes."""
        weights = (self.back_weight, self.weight)
        return Segments(self.back_source, self.back_ptr, self.source, self.ptr, *weights)


def _bags(x: Tensor, source: Tensor, ptr: Tensor, weight: Tensor | None) -> Tensor:
    """Rows ``ptr[i]:ptr[i+1]`` of ``source`` summed up; the last bag takes the padding and is left
    out."""
    if not x.shape[0]:
        return x.new_zeros(ptr.shape[0] - 1, x.shape[1])
    if fused(x):
        from .kernels.cuda import segment_sums

        return segment_sums(x, source, ptr, weight)
    return embedding_bag(source, x.detach(), ptr, mode="sum", per_sample_weights=weight)[:-1]


def eager() -> bool:
    """Whether plain kernels will do: no second derivative is asked for."""
    return not torch.is_grad_enabled()


class _SegmentSum(torch.autograd.Function):
    @staticmethod
    def forward(
        x: Tensor,
        source: Tensor,
        ptr: Tensor,
        back_source: Tensor,  # noqa: ARG004
        back_ptr: Tensor,  # noqa: ARG004
        weight: Tensor | None,
        back_weight: Tensor | None,  # noqa: ARG004
    ) -> Tensor:
        return _bags(x, source, ptr, weight)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG004
        _, *structure = inputs
        ctx.save_for_backward(*structure)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        source, ptr, back_source, back_ptr, weight, back_weight = ctx.saved_tensors
        grad = grad.contiguous()
        if eager():
            into = _bags(grad, back_source, back_ptr, back_weight)
        else:
            into = segment_sum(grad, back_source, back_ptr, source, ptr, back_weight, weight)
        return (into, *(None,) * 6)


class _SumOnto(torch.autograd.Function):
    """Stacked sums added to ``onto``, which is x itself if ``None``, in one kernel each way."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, onto: Tensor | None, factor: Tensor | None, *structure: Tensor | None
    ) -> Tensor:
        source, ptr, _, _, weight, _ = structure
        assert source is not None and ptr is not None
        base = x if onto is None else onto
        ctx.save_for_backward(None if factor is None else base, factor, *structure)
        ctx.itself = onto is None
        return _summed(x, source, ptr, weight, base, factor)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from .kernels.cuda import replica_dots

        base, factor, _, _, source, ptr, _, weight = ctx.saved_tensors
        grad = grad.contiguous()
        of_factor = None if factor is None else replica_dots(base, grad)
        if ctx.itself:
            into, of_onto = _summed(grad, source, ptr, weight, grad, factor), None
        else:
            into = _summed(grad, source, ptr, weight, None, None)
            of_onto = grad if factor is None else factor[:, None, None] * grad
        return into, of_onto, of_factor, *(None,) * 6


def _summed(
    x: Tensor,
    source: Tensor,
    ptr: Tensor,
    weight: Tensor | None,
    onto: Tensor | None,
    factor: Tensor | None,
) -> Tensor:
    from .kernels.cuda import segment_sums

    flat = None if onto is None else onto.flatten(0, 1)
    out = segment_sums(x.flatten(0, 1), source, ptr, weight, flat, factor)
    return out.view(len(x), -1, x.shape[2])


def segment_sum(
    x: Tensor,
    source: Tensor,
    ptr: Tensor,
    back_source: Tensor,
    back_ptr: Tensor,
    weight: Tensor | None = None,
    back_weight: Tensor | None = None,
) -> Tensor:
    """See :class:`Segments`."""
    out: Tensor = _SegmentSum.apply(x, source, ptr, back_source, back_ptr, weight, back_weight)
    return out
