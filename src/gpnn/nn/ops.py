"""Segment sums and grouped linear maps as custom operators for ``torch.compile``.

Otherwise the compiler would trace into the kernels, or recompile for every batch because groups of
rows are Python numbers. Operators are opaque: a network compiles once, with dynamic shapes. Without
a compiler the operators are bypassed, which costs less.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["grouped_linear_op", "segment_sums_op"]


@torch.library.custom_op("gpnn::segment_sums", mutates_args=())
def segment_sums_op(
    x: Tensor,
    source: Tensor,
    ptr: Tensor,
    back_source: Tensor,
    back_ptr: Tensor,
    weight: Tensor | None,
    back_weight: Tensor | None,
) -> Tensor:
    """See :class:`~gpnn.nn.segments.Segments`; x [columns, f] → [rows, f]."""
    from .segments import Segments, bags

    return bags(x, Segments(source, ptr, back_source, back_ptr, weight, back_weight))


@segment_sums_op.register_fake
def _(x: Tensor, source: Tensor, ptr: Tensor, *_: Any) -> Tensor:  # noqa: ARG001
    return x.new_empty(ptr.shape[0] - 1, x.shape[1])


def _sums_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ARG001
    ctx.save_for_backward(*inputs[1:])


def _sums_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    source, ptr, back_source, back_ptr, weight, back_weight = ctx.saved_tensors
    turned = (back_source, back_ptr, source, ptr, back_weight, weight)
    return segment_sums_op(grad.contiguous(), *turned), *(None,) * 6


segment_sums_op.register_autograd(_sums_backward, setup_context=_sums_context)


@torch.library.custom_op("gpnn::grouped_linear", mutates_args=())
def grouped_linear_op(x: Tensor, weight: Tensor, bias: Tensor | None, groups: Tensor) -> Tensor:
    """See :func:`~gpnn.nn.grouped.grouped_linear`."""
    from .grouped import map_groups

    return map_groups(x, weight, bias, groups)


@grouped_linear_op.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor | None, groups: Tensor) -> Tensor:  # noqa: ARG001
    return x.new_empty(*x.shape[:-1], weight.shape[-1])


@torch.library.custom_op("gpnn::grouped_linear_backward", mutates_args=())
def _grouped_backward_op(
    grad: Tensor, x: Tensor, weight: Tensor, groups: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    from .grouped import unmap_groups

    return unmap_groups(grad, x, weight, groups)


@_grouped_backward_op.register_fake
def _(
    grad: Tensor,  # noqa: ARG001
    x: Tensor,
    weight: Tensor,
    groups: Tensor,  # noqa: ARG001
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.empty_like(x), torch.empty_like(weight), torch.empty_like(weight[..., 0, :])


def _grouped_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ARG001
    x, weight, bias, groups = inputs
    ctx.save_for_backward(x, weight, groups)
    ctx.biased = bias is not None


def _grouped_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    x, weight, groups = ctx.saved_tensors
    into, slope, shift = _grouped_backward_op(grad.contiguous(), x, weight, groups)
    return into, slope, shift if ctx.biased else None, None


grouped_linear_op.register_autograd(_grouped_backward, setup_context=_grouped_context)
