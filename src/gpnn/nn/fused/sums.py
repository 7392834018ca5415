"""Sums over segments in one kernel; the plain code is :mod:`gpnn.nn.segments`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["replica_dots", "segment_sums"]

ROWS, COLUMNS, SHORT, DEEP = 16, 32, 32, 64
"""Taller blocks of int64 numbers break the compiler; wider ones were slower at any width."""
SIZE, SPAN = 1024, 16


@triton.jit(do_not_specialize=["rows", "block"])
def _sums(x, source, ptr, weight, onto, factor, out, rows, width, block, WEIGHTED: tl.constexpr,
          ONTO: tl.constexpr, SCALED: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
          SHORT: tl.constexpr, DEEP: tl.constexpr):  # fmt: skip
    """Rows of a program lie far apart, because long segments lie together. The first entries of
    all rows are added one by one, what a long segment has beyond in blocks."""
    lane = tl.arange(0, ROWS)
    row = tl.program_id(0) + lane * tl.num_programs(0)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = row < rows
    fits = column[None, :] < width
    first = tl.load(ptr + row, mask=inside, other=0).to(tl.int32)
    count = tl.load(ptr + row + 1, mask=inside, other=0).to(tl.int32) - first
    place = row.to(tl.int64)[:, None] * width + column[None, :]
    written = inside[:, None] & fits
    total = tl.zeros((ROWS, COLUMNS), dtype=out.dtype.element_ty)
    if ONTO:
        total = tl.load(onto + place, mask=written, other=0)
        if SCALED:
            total *= tl.load(factor + row // block, mask=inside, other=0)[:, None]
    longest = tl.max(count)
    for k in range(tl.minimum(longest, SHORT)):
        live = k < count
        at = tl.load(source + first + k, mask=live, other=0).to(tl.int64)
        value = tl.load(x + at[:, None] * width + column[None, :],
                        mask=live[:, None] & fits, other=0)  # fmt: skip
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
                value = tl.load(x + at[:, None] * width + column[None, :],
                                mask=live[:, None] & fits, other=0)  # fmt: skip
                if WEIGHTED:
                    value *= tl.load(weight + k + deep, mask=live, other=0)[:, None]
                rest += value
            total += tl.where((lane == r)[:, None], tl.sum(rest, 0)[None, :], 0)
    tl.store(out + place, total, mask=written)


@triton.jit(do_not_specialize=["size", "span", "spans"])
def _dots(x, y, parts, size, span, spans, SIZE: tl.constexpr):
    s, r = tl.program_id(0), tl.program_id(1).to(tl.int64)
    total = tl.zeros((SIZE,), dtype=tl.float32)
    for first in range(s * span, tl.minimum((s + 1) * span, size), SIZE):
        at = first + tl.arange(0, SIZE)
        left = tl.load(x + r * size + at, mask=at < size, other=0)
        total += left * tl.load(y + r * size + at, mask=at < size, other=0)
    tl.store(parts + r * spans + s, tl.sum(total))


def segment_sums(
    x: Tensor,
    source: Tensor,
    ptr: Tensor,
    weight: Tensor | None,
    onto: Tensor | None = None,
    factor: Tensor | None = None,
) -> Tensor:
    """See :class:`gpnn.nn.segments.Segments`. Shapes: x [columns, f], onto [rows, f], factor [R]
    of all rows of a replica → [rows, f]."""
    rows, width = ptr.shape[0] - 1, x.shape[1]
    out = torch.empty(rows, width, dtype=x.dtype, device=x.device)
    if not out.numel():
        return out
    grid = (triton.cdiv(rows, ROWS), triton.cdiv(width, COLUMNS))
    x, onto = x.contiguous(), None if onto is None else onto.contiguous()
    block = rows if factor is None else rows // len(factor)
    _sums[grid](x, source, ptr, x if weight is None else weight, x if onto is None else onto,
                x if factor is None else factor, out, rows, width, block, weight is not None,
                onto is not None, factor is not None, ROWS, COLUMNS, SHORT, DEEP)  # fmt: skip
    return out


def replica_dots(x: Tensor, y: Tensor) -> Tensor:
    """Σ x y over all of a replica, in a fixed order. Shapes: [R, …] twice → [R]."""
    replicas, size = len(x), x[0].numel()
    spans = max(1, triton.cdiv(size, SPAN * SIZE))
    parts = x.new_empty(replicas, spans)
    _dots[(spans, replicas)](x.contiguous(), y.contiguous(), parts, size, SPAN * SIZE, spans, SIZE)
    return parts.sum(1)
