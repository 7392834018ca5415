"""Dropout in one kernel, without a mask in memory; the plain code is :mod:`gpnn.nn.dropout`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from ...dropout import Draw

__all__ = ["drop"]


@triton.jit
def _mix(x):
    x = (x ^ (x >> 16)) * 0x85EBCA6B
    x = (x ^ (x >> 13)) * 0xC2B2AE35
    return x ^ (x >> 16)


@triton.jit(do_not_specialize=["count", "site"])
def _drop(x, seed, step, rate, rows, out, count, width, site, SIZE: tl.constexpr):
    r = tl.program_id(1)
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    inside = at < count * width
    row, column = at // width, at % width
    key = _mix(_mix(_mix(tl.load(seed + r).to(tl.uint32)) ^ tl.load(step).to(tl.uint32)) + site)
    number = tl.load(rows + r.to(tl.int64) * count + row, mask=inside, other=0).to(tl.uint32)
    bits = _mix(_mix(number ^ key) + column.to(tl.uint32) * 0x9E3779B1)
    share = tl.load(rate + r)
    keep = bits.to(tl.float64) >= share * 4294967296.0
    place = r.to(tl.int64) * count * width + at
    value = tl.load(x + place, mask=inside, other=0)
    factor = tl.where(keep, 1 / (1 - share), 0.0).to(value.dtype)
    tl.store(out + place, value * factor, mask=inside)


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, draw: Draw, place: int, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.draw, ctx.place = draw, place
        return _dropped(x, draw, place, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (rows,) = ctx.saved_tensors
        return _dropped(grad, ctx.draw, ctx.place, rows), None, None, None


def _dropped(x: Tensor, draw: Draw, place: int, rows: Tensor) -> Tensor:
    replicas, count, width = x.shape
    x = x.contiguous()
    out, size = torch.empty_like(x), 1024
    if not out.numel():
        return out
    grid = (triton.cdiv(count * width, size), replicas)
    _drop[grid](x, draw.seed, draw.step, draw.rate, rows, out, count, width, place, size)
    return out


def drop(x: Tensor, draw: Draw, place: int, rows: Tensor) -> Tensor:
    """x times :func:`gpnn.nn.dropout.kept`, with identical values. The gradient draws the mask
    again, so it must be computed before the next step. Shapes: x [R, rows, f], rows [R, rows] →
    like x."""
    out: Tensor = _Dropped.apply(x, draw, place, rows.contiguous())
    return out
