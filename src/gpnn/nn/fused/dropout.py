"""Masks of dropout in one kernel; the plain code is :mod:`gpnn.nn.dropout`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

if TYPE_CHECKING:
    from ..dropout import Draw

__all__ = ["dropout_mask"]


@triton.jit
def _mix(x):
    x = (x ^ (x >> 16)) * 0x85EBCA6B
    x = (x ^ (x >> 13)) * 0xC2B2AE35
    return x ^ (x >> 16)


@triton.jit(do_not_specialize=["count", "site"])
def _mask(seed, step, rate, rows, out, count, width, site, SIZE: tl.constexpr):
    r = tl.program_id(1)
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    inside = at < count * width
    row, column = at // width, at % width
    key = _mix(_mix(_mix(tl.load(seed + r).to(tl.uint32)) ^ tl.load(step).to(tl.uint32)) + site)
    number = tl.load(rows + r.to(tl.int64) * count + row, mask=inside, other=0).to(tl.uint32)
    bits = _mix(_mix(number ^ key) + column.to(tl.uint32) * 0x9E3779B1)
    share = tl.load(rate + r)
    keep = bits.to(tl.float64) >= share * 4294967296.0
    value = tl.where(keep, 1 / (1 - share), 0.0)
    tl.store(out + r.to(tl.int64) * count * width + at, value.to(out.dtype.element_ty), mask=inside)


def dropout_mask(draw: Draw, place: int, rows: Tensor, width: int, dtype: torch.dtype) -> Tensor:
    """See :func:`gpnn.nn.dropout.kept`."""
    replicas, count = rows.shape
    out = torch.empty(replicas, count, width, dtype=dtype, device=rows.device)
    size = 1024
    grid = (triton.cdiv(count * width, size), replicas)
    _mask[grid](draw.seed, draw.step, draw.rate, rows.contiguous(), out, count, width, place, size)
    return out
