"""Sums over segments; the plain code is :mod:`gpnn.nn.segments`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["segment_sums"]

ROWS, COLUMNS, DEEP = 16, 32, 64
"""Dimensions of a block; taller blocks of int64 numbers break the compiler."""
LONG = 32
"""From this mean length on, segments are first summed in pieces."""
SHORT, SHORT_BESIDE_PIECES = 32, 8
"""Segments up to this length are summed entry by entry, without and with pieces."""


@triton.jit
def _entries(x, source, weight, at, live, column, width, WEIGHTED: tl.constexpr):
    """The terms of some entries, [entries, columns]."""
    row = tl.load(source + at, mask=live, other=0).to(tl.int64)
    value = tl.load(x + row[:, None] * width + column[None, :],
                    mask=live[:, None] & (column < width)[None, :], other=0)  # fmt: skip
    if WEIGHTED:
        value *= tl.load(weight + at, mask=live, other=0)[:, None]
    return value


@triton.jit(do_not_specialize=["rows", "bits"])
def _pieces(x, source, ptr, weight, parts, rows, width, bits, WEIGHTED: tl.constexpr,
            COLUMNS: tl.constexpr, DEEP: tl.constexpr):  # fmt: skip
    """Sums of pieces of ``DEEP`` entries, for pieces that are entirely in one segment."""
    piece = tl.program_id(0)
    begin = piece * DEEP
    low, high = piece * 0, piece * 0 + rows
    for _ in range(bits):  # find the last segment that begins at or before the piece
        middle = (low + high) // 2
        before = tl.load(ptr + middle).to(tl.int32) <= begin
        low, high = tl.where(before, middle, low), tl.where(before, high, middle)
    if tl.load(ptr + low + 1).to(tl.int32) >= begin + DEEP:
        at = begin + tl.arange(0, DEEP)
        column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
        value = _entries(x, source, weight, at, at >= 0, column, width, WEIGHTED)
        tl.store(parts + piece.to(tl.int64) * width + column, tl.sum(value, 0), mask=column < width)


@triton.jit(do_not_specialize=["rows", "block"])
def _sums(x, source, ptr, weight, parts, onto, factor, out, rows, width, block,
          WEIGHTED: tl.constexpr, PIECES: tl.constexpr, ONTO: tl.constexpr, SCALED: tl.constexpr,
          SHORT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
          DEEP: tl.constexpr):  # fmt: skip
    """Rows of a program are far apart, because long segments are adjacent. Short segments are
    summed entry by entry, for all rows at once; long ones in blocks, using the sums of whole
    pieces."""
    lane = tl.arange(0, ROWS)
    row = tl.program_id(0) + lane * tl.num_programs(0)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside, fits = row < rows, column < width
    first = tl.load(ptr + row, mask=inside, other=0).to(tl.int32)
    count = tl.load(ptr + row + 1, mask=inside, other=0).to(tl.int32) - first
    place = row.to(tl.int64)[:, None] * width + column[None, :]
    written = inside[:, None] & fits[None, :]
    total = tl.zeros((ROWS, COLUMNS), dtype=out.dtype.element_ty)
    if ONTO:
        total = tl.load(onto + place, mask=written, other=0)
        if SCALED:
            total *= tl.load(factor + row // block, mask=inside, other=0)[:, None]
    few = tl.where(count <= SHORT, count, 0)
    for k in range(tl.max(few)):
        total += _entries(x, source, weight, first + k, k < few, column, width, WEIGHTED)
    if tl.max(count) > SHORT:
        deep = tl.arange(0, DEEP)
        for r in range(ROWS):
            begin = tl.sum(tl.where(lane == r, first, 0))
            end = begin + tl.sum(tl.where(lane == r, count, 0))
            if end > begin + SHORT:
                rest = tl.zeros((DEEP, COLUMNS), dtype=out.dtype.element_ty)
                head, tail = end, end
                if PIECES:
                    low, high = (begin + DEEP - 1) // DEEP, end // DEEP
                    if high > low:
                        head, tail = low * DEEP, high * DEEP
                        for k in range(low, high, DEEP):
                            at = (k + deep).to(tl.int64)[:, None] * width + column[None, :]
                            live = (k + deep < high)[:, None] & fits[None, :]
                            rest += tl.load(parts + at, mask=live, other=0)
                for k in range(begin, head, DEEP):
                    at = k + deep
                    rest += _entries(x, source, weight, at, at < head, column, width, WEIGHTED)
                for k in range(tail, end, DEEP):
                    at = k + deep
                    rest += _entries(x, source, weight, at, at < end, column, width, WEIGHTED)
                total += tl.where((lane == r)[:, None], tl.sum(rest, 0)[None, :], 0)
    tl.store(out + place, total, mask=written)


def segment_sums(
    x: Tensor,
    source: Tensor,
    ptr: Tensor,
    weight: Tensor | None,
    onto: Tensor | None = None,
    factor: Tensor | None = None,
) -> Tensor:
    """See :class:`gpnn.nn.segments.Segments`. Shapes: x [columns, f], onto [rows, f], factor [R],
    one per replica (or a single number) → [rows, f]."""
    rows, width = ptr.shape[0] - 1, x.shape[1]
    out = torch.empty(rows, width, dtype=x.dtype, device=x.device)
    if not out.numel():
        return out
    across = triton.cdiv(width, COLUMNS)
    x, onto = x.contiguous(), None if onto is None else onto.contiguous()
    factors = x if weight is None else weight
    long = len(source) >= max(LONG * rows, DEEP)
    parts = x
    if long:
        count = len(source) // DEEP
        parts = torch.empty(count, width, dtype=x.dtype, device=x.device)
        _pieces[(count, across)](x, source, ptr, factors, parts, rows, width, rows.bit_length(),
                                 weight is not None, COLUMNS, DEEP)  # fmt: skip
    block = rows if factor is None else rows // factor.numel()
    _sums[(triton.cdiv(rows, ROWS), across)](
        x, source, ptr, factors, parts, x if onto is None else onto,
        x if factor is None else factor, out, rows, width, block, weight is not None, long,
        onto is not None, factor is not None, SHORT_BESIDE_PIECES if long else SHORT, ROWS, COLUMNS,
        DEEP,
    )  # fmt: skip
    return out
