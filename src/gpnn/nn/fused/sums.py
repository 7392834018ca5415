"""Sums over segments in one kernel; the plain code is :mod:`gpnn.nn.segments`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["segment_sums"]


SHORT, DEEP = 32, 64


@triton.jit(do_not_specialize=["rows"])
def _sums(x, source, ptr, weight, out, rows, width, WEIGHTED: tl.constexpr, ROWS: tl.constexpr,
          COLUMNS: tl.constexpr, SHORT: tl.constexpr, DEEP: tl.constexpr):  # fmt: skip
    """Rows of a program lie far apart, because long segments lie together. The first entries of
    all rows are added one by one, what a long segment has beyond in blocks."""
    lane = tl.arange(0, ROWS)
    row = tl.program_id(0) + lane * tl.num_programs(0)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = row < rows
    fits = column[None, :] < width
    first = tl.load(ptr + row, mask=inside, other=0).to(tl.int32)
    count = tl.load(ptr + row + 1, mask=inside, other=0).to(tl.int32) - first
    total = tl.zeros((ROWS, COLUMNS), dtype=out.dtype.element_ty)
    longest = tl.max(count)
    for k in range(tl.minimum(longest, SHORT)):
        live = k < count
        at = tl.load(source + first + k, mask=live, other=0).to(tl.int64)
        place = at[:, None] * width + column[None, :]
        value = tl.load(x + place, mask=live[:, None] & fits, other=0)
        if WEIGHTED:
            value *= tl.load(weight + first + k, mask=live, other=0)[:, None]
        total += value
    if longest > SHORT:
        deep = tl.arange(0, DEEP)
        for r in range(ROWS):
            begin = tl.sum(tl.where(lane == r, first, 0))
            end = begin + tl.sum(tl.where(lane == r, count, 0))
            rest = tl.zeros((DEEP, COLUMNS), dtype=out.dtype.element_ty)
            for k in range(begin + SHORT, end, DEEP):
                live = k + deep < end
                at = tl.load(source + k + deep, mask=live, other=0).to(tl.int64)
                place = at[:, None] * width + column[None, :]
                value = tl.load(x + place, mask=live[:, None] & fits, other=0)
                if WEIGHTED:
                    value *= tl.load(weight + k + deep, mask=live, other=0)[:, None]
                rest += value
            total += tl.where((lane == r)[:, None], tl.sum(rest, 0)[None, :], 0)
    place = row.to(tl.int64)[:, None] * width + column[None, :]
    tl.store(out + place, total, mask=inside[:, None] & fits)


def segment_sums(x: Tensor, source: Tensor, ptr: Tensor, weight: Tensor | None) -> Tensor:
    """See :class:`gpnn.nn.segments.Segments`. Shapes: x [columns, f] → [rows, f]."""
    rows, width = ptr.shape[0] - 1, x.shape[1]
    out = torch.empty(rows, width, dtype=x.dtype, device=x.device)
    if not out.numel():
        return out
    columns = min(128, triton.next_power_of_2(width))
    tall = max(1, min(16, 1024 // columns))  # taller blocks of int64 numbers break the compiler
    grid = (triton.cdiv(rows, tall), triton.cdiv(width, columns))
    x = x.contiguous()
    _sums[grid](x, source, ptr, x if weight is None else weight, out, rows, width,
                weight is not None, tall, columns, SHORT, DEEP)  # fmt: skip
    return out
