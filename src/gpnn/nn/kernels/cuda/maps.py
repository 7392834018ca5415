r"""Linear maps that differ by group of rows, and their gradients, for all replicas in one kernel;
the plain code is :mod:`gpnn.nn.grouped`.

As a single product, a gradient :math:`\sum_i x_i^T g_i` over many thousands of rows of a small map
would occupy only a few multiprocessors. It is computed in spans of rows, which are summed in a
fixed order.
"""

from __future__ import annotations

from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["all_rows", "map_rows", "outer_rows"]

TALL, SPAN, DEEP = 64, 256, 32
Groups = tuple[tuple[int, int, int], ...]


@triton.jit(do_not_specialize=["rows", "maps"])
def _map(x, weight, bias, out, tiles, rows, inner, outer, maps, BIASED: tl.constexpr,
         TALL: tl.constexpr, DEEP: tl.constexpr, WIDE: tl.constexpr):  # fmt: skip
    tile, replica = tl.program_id(0), tl.program_id(2).to(tl.int64)
    start = tl.load(tiles + 3 * tile)
    stop = tl.load(tiles + 3 * tile + 1)
    number = tl.load(tiles + 3 * tile + 2)
    row = start + tl.arange(0, TALL)
    column = tl.program_id(1) * WIDE + tl.arange(0, WIDE)
    there, fits = row < stop, column < outer
    total = tl.zeros((TALL, WIDE), dtype=tl.float32)
    if number >= 0:
        own = weight + (replica * maps + number) * inner * outer
        for first in range(0, inner, DEEP):
            depth = first + tl.arange(0, DEEP)
            deep = depth < inner
            part = tl.load(x + (replica * rows + row)[:, None] * inner + depth[None, :],
                           mask=there[:, None] & deep[None, :], other=0)  # fmt: skip
            chosen = tl.load(own + depth[:, None] * outer + column[None, :],
                             mask=deep[:, None] & fits[None, :], other=0)  # fmt: skip
            total = tl.dot(part, chosen, total, input_precision="ieee")
        if BIASED:
            shift = tl.load(bias + (replica * maps + number) * outer + column, mask=fits, other=0)
            total += shift[None, :]
    tl.store(out + (replica * rows + row)[:, None] * outer + column[None, :], total,
             mask=there[:, None] & fits[None, :])  # fmt: skip


@triton.jit(do_not_specialize=["rows", "spans"])
def _outer(x, grad, parts, table, rows, inner, outer, spans, size, across, LEFT: tl.constexpr,
           RIGHT: tl.constexpr, DEEP: tl.constexpr, HIGH: tl.constexpr,
           WIDE: tl.constexpr):  # fmt: skip
    """The contribution of a span to a map, followed by its contribution to the sums of rows."""
    span, replica = tl.program_id(0), tl.program_id(2).to(tl.int64)
    high, wide = tl.program_id(1) // across, tl.program_id(1) % across
    start, stop = tl.load(table + 2 * span), tl.load(table + 2 * span + 1)
    line = high * HIGH + tl.arange(0, HIGH)
    column = wide * WIDE + tl.arange(0, WIDE)
    total = tl.zeros((HIGH, WIDE), dtype=tl.float32)
    of_left = tl.zeros((HIGH,), dtype=tl.float32)
    of_right = tl.zeros((WIDE,), dtype=tl.float32)
    for first in range(start, stop, DEEP):
        row = first + tl.arange(0, DEEP)
        there = row < stop
        place = replica * rows + row
        left = tl.load(x + place[None, :] * inner + line[:, None],
                       mask=there[None, :] & (line < inner)[:, None], other=0)  # fmt: skip
        right = tl.load(grad + place[:, None] * outer + column[None, :],
                        mask=there[:, None] & (column < outer)[None, :], other=0)  # fmt: skip
        total = tl.dot(left, right, total, input_precision="ieee")
        if LEFT:
            of_left += tl.sum(left, 1)
        if RIGHT:
            of_right += tl.sum(right, 0)
    own = parts + (replica * spans + span) * size
    tl.store(own + line[:, None] * outer + column[None, :], total,
             mask=(line < inner)[:, None] & (column < outer)[None, :])  # fmt: skip
    own += inner * outer
    if LEFT:
        tl.store(own + line, of_left, mask=line < tl.where(wide == 0, inner, 0))
    if RIGHT:
        tl.store(own + column, of_right, mask=column < tl.where(high == 0, outer, 0))


@triton.jit(do_not_specialize=["spans", "maps", "flat", "size"])
def _add(parts, out, sums, ptr, spans, maps, flat, size, TALL: tl.constexpr,
         WIDE: tl.constexpr):  # fmt: skip
    number, replica = tl.program_id(1), tl.program_id(2).to(tl.int64)
    at = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    inside = at < size
    total = tl.zeros((TALL, WIDE), dtype=tl.float32)
    last = tl.load(ptr + number + 1)
    for first in range(tl.load(ptr + number), last, TALL):
        span = first + tl.arange(0, TALL)
        total += tl.load(parts + (replica * spans + span)[:, None] * size + at[None, :],
                         mask=(span < last)[:, None] & inside[None, :], other=0)  # fmt: skip
    own, value = replica * maps + number, tl.sum(total, 0)
    tl.store(out + own * flat + at, value, mask=at < flat)
    tl.store(sums + own * (size - flat) + at - flat, value, mask=(at >= flat) & inside)


@cache  # never evicted: captured steps read these tensors
def _tiles(groups: Groups, rows: int, device: torch.device) -> Tensor:
    """(start, stop, map) of blocks of at most ``TALL`` rows; -1 for rows of no group."""
    out, at = [], 0
    for start, stop, number in (*groups, (rows, rows, -1)):
        for first, last, own in ((at, start, -1), (start, stop, number)):
            out += [(k, min(k + TALL, last), own) for k in range(first, last, TALL)]
        at = stop
    return torch.tensor(out, dtype=torch.int32, device=device)


@cache
def _spans(groups: Groups, maps: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """(start, stop) of spans of rows, map by map, and where the spans of each map begin."""
    by_map: list[list[tuple[int, int]]] = [[] for _ in range(maps)]
    for start, stop, number in groups:
        by_map[number] += [(k, min(k + SPAN, stop)) for k in range(start, stop, SPAN)]
    ptr = torch.tensor([0] + [len(own) for own in by_map]).cumsum(0)
    flat = [span for own in by_map for span in own] or [(0, 0)]
    return (
        torch.tensor(flat, dtype=torch.int32, device=device),
        ptr.to(device, torch.int32),
    )


def all_rows(x: Tensor) -> Groups:
    """All rows as one group, of map 0."""
    return ((0, x.shape[1], 0),)


def map_rows(x: Tensor, weight: Tensor, bias: Tensor | None, groups: Groups) -> Tensor:
    """Rows times the map of their group. Shapes: x [R, rows, f], weight [R, maps, f, o], bias
    [R, maps, o] → [R, rows, o]."""
    replicas, rows, inner = x.shape
    maps, outer = weight.shape[1], weight.shape[3]
    out = torch.empty(replicas, rows, outer, dtype=x.dtype, device=x.device)
    if not out.numel():
        return out
    tiles = _tiles(groups, rows, x.device)
    wide = min(64, max(16, triton.next_power_of_2(outer)))
    weight = weight.contiguous()  # strided reads of a map would be slow
    _map[(len(tiles), triton.cdiv(outer, wide), replicas)](
        x.contiguous(), weight, weight if bias is None else bias.contiguous(), out, tiles, rows,
        inner, outer, maps, bias is not None, TALL, DEEP, wide,
    )  # fmt: skip
    return out


def outer_rows(
    x: Tensor, grad: Tensor, maps: int, groups: Groups, summed: str = ""
) -> tuple[Tensor, Tensor | None]:
    """Σ x_iᵀ g_i over the rows of every map, and the sum of the rows of x ("left"), of the gradient
    ("right") or of neither (""), as given by ``summed``. Shapes: x [R, rows, f], grad [R, rows, o]
    → [R, maps, f, o], and [R, maps, f] or [R, maps, o]."""
    replicas, rows, inner = x.shape
    outer = grad.shape[2]
    width = {"": 0, "left": inner, "right": outer}[summed]
    size = inner * outer + width
    table, ptr = _spans(groups, maps, x.device)
    spans = len(table)
    parts = x.new_empty(replicas, spans, size)
    high, wide = (min(64, max(16, triton.next_power_of_2(n))) for n in (inner, outer))
    across = triton.cdiv(outer, wide)
    _outer[(spans, triton.cdiv(inner, high) * across, replicas)](
        x.contiguous(), grad.contiguous(), parts, table, rows, inner, outer, spans, size, across,
        summed == "left", summed == "right", DEEP, high, wide,
    )  # fmt: skip
    out, sums = x.new_empty(replicas, maps, inner, outer), x.new_empty(replicas, maps, width)
    _add[(triton.cdiv(size, 128), maps, replicas)](
        parts, out, sums, ptr, spans, maps, inner * outer, size, 16, 128
    )
    return out, sums if summed else None
