"""Sums over segments: the one way in which rows of a tensor are added up here."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from ..graph.kernels.segments import group

__all__ = ["Segments", "eager", "segment_sum"]


class Segments(NamedTuple):
    r"""Which rows of ``x`` add up to which row of the result.

    .. math::
        y_i = \sum_{e = ptr_i}^{ptr_{i+1} - 1} w_e \, x_{source_e}

    The gradient is a sum of the same kind over the transposed structure, which is kept beside it,
    so neither direction scatters: every row is written once, and always in the same order.

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

    def sum(self, x: Tensor) -> Tensor:
        """The sums as a tensor [rows, features], differentiable in ``x``; half precision is summed
        in single."""
        if x.dtype in (torch.bfloat16, torch.float16):
            x = x.float()
        weights: tuple[Tensor | None, Tensor | None] = (None, None)
        if self.weight is not None and self.back_weight is not None:
            weights = (self.weight.to(x.dtype), self.back_weight.to(x.dtype))
        out: Tensor = segment_sum(x, *self[:4], *weights)
        return out


def _bags(x: Tensor, source: Tensor, ptr: Tensor, weight: Tensor | None) -> Tensor:
    """Rows ``ptr[i]:ptr[i+1]`` of ``source`` summed up; the last bag takes the padding and is left
    out."""
    return embedding_bag(source, x.detach(), ptr, mode="sum", per_sample_weights=weight)[:-1]


def eager() -> bool:
    """Whether plain kernels will do: no second derivative is asked for and no transform of
    ``torch.func`` looks on."""
    return not (torch.is_grad_enabled() or torch._C._are_functorch_transforms_active())


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

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Tensor, int]:
        """Replicas laid one after another: one call, rows and entries shifted by replica."""
        count = info.batch_size
        moved: list[Any] = [
            None if arg is None
            else arg.movedim(dim, 0) if dim is not None
            else arg.expand(count, *arg.shape)
            for arg, dim in zip(args, in_dims, strict=True)
        ]  # fmt: skip
        x, source, ptr, back_source, back_ptr, weight, back_weight = moved
        replica = torch.arange(count, device=x.device).unsqueeze(1)
        rows, columns = ptr.shape[1], back_ptr.shape[1]
        # A row more than there are on either side, for the padding of every replica.
        wide = torch.nn.functional.pad(x, (0, 0, 0, columns - x.shape[1]))
        out = segment_sum(
            wide.reshape(count * columns, -1),
            (source + replica * columns).reshape(-1),
            _with_end(ptr + replica * source.shape[1], count * source.shape[1]),
            (back_source + replica * rows).reshape(-1),
            _with_end(back_ptr + replica * back_source.shape[1], count * back_source.shape[1]),
            None if weight is None else weight.reshape(-1),
            None if back_weight is None else back_weight.reshape(-1),
        )
        return out.reshape(count, rows, -1)[:, :-1], 0


def _with_end(starts: Tensor, end: int) -> Tensor:
    return torch.cat([starts.reshape(-1), starts.new_full((1,), end)])


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
