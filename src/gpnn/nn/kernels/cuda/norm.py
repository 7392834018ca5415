"""Weighted batch normalisation, two kernels each way; the plain code is :mod:`gpnn.nn.norm`.

Rows are processed in spans. Every span stores partial statistics, and kernels that need the total
sum these again, in a fixed order.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["normalise"]

TALL = 64
SPANS = 64
"""Maximum number of spans per replica."""


@triton.jit
def _tile(weight, rows, width, r, first, column, TALL: tl.constexpr):
    """Offsets of a tile of rows, the mask of its valid entries, and its weights."""
    row = first + tl.arange(0, TALL)
    inside = row < rows
    there = inside[:, None] & (column < width)[None, :]
    place = r * rows + row
    at = place[:, None] * width + column[None, :]
    return at, there, tl.load(weight + place, mask=inside, other=0)


@triton.jit(do_not_specialize=["rows", "span", "spans"])
def _moments(x, weight, parts, rows, width, span, spans, TALL: tl.constexpr,
             COLUMNS: tl.constexpr):  # fmt: skip
    """Weight, mean and squared deviations of every span, accumulated tile by tile."""
    s, r = tl.program_id(0), tl.program_id(2).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS,), dtype=tl.float32)
    mean = tl.zeros((COLUMNS,), dtype=tl.float32)
    spread = tl.zeros((COLUMNS,), dtype=tl.float32)
    for first in range(s * span, tl.minimum((s + 1) * span, rows), TALL):
        at, there, w = _tile(weight, rows, width, r, first, column, TALL)
        value = tl.load(x + at, mask=there, other=0)
        count = tl.sum(w, 0)
        middle = tl.sum(value * w[:, None], 0) / tl.maximum(count, 1e-30)
        off = value - middle[None, :]
        both = tl.maximum(total + count, 1e-30)
        apart = middle - mean
        spread += tl.sum(off * off * w[:, None], 0) + apart * apart * total * count / both
        mean += apart * count / both
        total += count
    fits = column < width
    place = (r * spans + s) * 3 * width + column
    tl.store(parts + place, total, mask=fits)
    tl.store(parts + place + width, mean, mask=fits)
    tl.store(parts + place + 2 * width, spread, mask=fits)


@triton.jit(do_not_specialize=["rows", "span", "spans"])
def _apply(x, weight, parts, gain, bias, out, stats, running_mean, running_var, rows, width, span,
           spans, eps, flat, momentum, RELU: tl.constexpr, TALL: tl.constexpr,
           COLUMNS: tl.constexpr, SPANS: tl.constexpr):  # fmt: skip
    s, r = tl.program_id(0), tl.program_id(2).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    fits = column < width
    every = tl.arange(0, SPANS)
    known = (every < spans)[:, None] & fits[None, :]
    place = ((r * spans + every) * 3)[:, None] * width + column[None, :]
    count = tl.load(parts + place, mask=known, other=0)
    means = tl.load(parts + place + width, mask=known, other=0)
    spread = tl.load(parts + place + 2 * width, mask=known, other=0)
    total = tl.maximum(tl.sum(count, 0), 1)
    mean = tl.sum(count * means, 0) / total
    off = means - mean[None, :]
    variance = (tl.sum(spread, 0) + tl.sum(count * off * off, 0)) / total
    constant = variance < flat * mean * mean
    scale = tl.where(constant, 0, 1 / tl.sqrt(variance + eps))
    own = r * width + column
    steep = scale * tl.load(gain + own, mask=fits, other=0)
    shift = tl.load(bias + own, mask=fits, other=0)
    for first in range(s * span, tl.minimum((s + 1) * span, rows), TALL):
        at, there, _ = _tile(weight, rows, width, r, first, column, TALL)
        value = tl.load(x + at, mask=there, other=0)
        result = (value - mean[None, :]) * steep[None, :] + shift[None, :]
        if RELU:
            result = tl.maximum(result, 0)
        tl.store(out + at, result, mask=there)
    if s == 0:
        tl.store(stats + 3 * r * width + column, mean, mask=fits)
        tl.store(stats + (3 * r + 1) * width + column, scale, mask=fits)
        tl.store(stats + (3 * r + 2) * width + column, total, mask=fits)
        unbiased = tl.where(constant, 0, variance * total / tl.maximum(total - 1, 1))
        old = tl.load(running_mean + own, mask=fits, other=0)
        tl.store(running_mean + own, old + momentum * (mean - old), mask=fits)
        old = tl.load(running_var + own, mask=fits, other=0)
        pace = tl.where(constant & (old == 1), 1.0, momentum)
        tl.store(running_var + own, old + pace * (unbiased - old), mask=fits)


@triton.jit(do_not_specialize=["rows", "span", "spans"])
def _slopes(x, weight, grad, stats, gain, bias, parts, rows, width, span, spans,
            RELU: tl.constexpr, TALL: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """Σ g and Σ g x̂ of every span, where g is the gradient of the output."""
    s, r = tl.program_id(0), tl.program_id(2).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    fits = column < width
    mean = tl.load(stats + 3 * r * width + column, mask=fits, other=0)
    scale = tl.load(stats + (3 * r + 1) * width + column, mask=fits, other=0)
    steep = scale * tl.load(gain + r * width + column, mask=fits, other=0)
    shift = tl.load(bias + r * width + column, mask=fits, other=0)
    of_bias = tl.zeros((COLUMNS,), dtype=tl.float32)
    of_gain = tl.zeros((COLUMNS,), dtype=tl.float32)
    for first in range(s * span, tl.minimum((s + 1) * span, rows), TALL):
        at, there, _ = _tile(weight, rows, width, r, first, column, TALL)
        off = tl.load(x + at, mask=there, other=0) - mean[None, :]
        g = tl.load(grad + at, mask=there, other=0)
        if RELU:  # computing the sign of the output is cheaper than reading it
            g = tl.where(off * steep[None, :] + shift[None, :] > 0, g, 0)
        unit = off * scale[None, :]
        of_bias += tl.sum(g, 0)
        of_gain += tl.sum(g * unit, 0)
    place = (r * spans + s) * 2 * width + column
    tl.store(parts + place, of_bias, mask=fits)
    tl.store(parts + place + width, of_gain, mask=fits)


@triton.jit(do_not_specialize=["rows", "span", "spans"])
def _unapply(x, weight, grad, stats, gain, bias, parts, into, into_gain, into_bias, rows, width,
             span, spans, RELU: tl.constexpr, TALL: tl.constexpr, COLUMNS: tl.constexpr,
             SPANS: tl.constexpr):  # fmt: skip
    s, r = tl.program_id(0), tl.program_id(2).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    fits = column < width
    every = tl.arange(0, SPANS)
    known = (every < spans)[:, None] & fits[None, :]
    place = ((r * spans + every) * 2)[:, None] * width + column[None, :]
    of_bias = tl.sum(tl.load(parts + place, mask=known, other=0), 0)
    of_gain = tl.sum(tl.load(parts + place + width, mask=known, other=0), 0)
    mean = tl.load(stats + 3 * r * width + column, mask=fits, other=0)
    scale = tl.load(stats + (3 * r + 1) * width + column, mask=fits, other=0)
    total = tl.load(stats + (3 * r + 2) * width + column, mask=fits, other=1)
    steep = scale * tl.load(gain + r * width + column, mask=fits, other=0)
    shift = tl.load(bias + r * width + column, mask=fits, other=0)
    for first in range(s * span, tl.minimum((s + 1) * span, rows), TALL):
        at, there, w = _tile(weight, rows, width, r, first, column, TALL)
        off = tl.load(x + at, mask=there, other=0) - mean[None, :]
        g = tl.load(grad + at, mask=there, other=0)
        if RELU:
            g = tl.where(off * steep[None, :] + shift[None, :] > 0, g, 0)
        unit = off * scale[None, :]
        share = w[:, None] / total[None, :]
        slope = steep[None, :] * (g - share * (of_bias[None, :] + unit * of_gain[None, :]))
        tl.store(into + at, slope, mask=there)
    if s == 0:
        tl.store(into_gain + r * width + column, of_gain, mask=fits)
        tl.store(into_bias + r * width + column, of_bias, mask=fits)


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        gain: Tensor,
        bias: Tensor,
        running_mean: Tensor,
        running_var: Tensor,
        eps: float,
        flat: float,
        momentum: float,
        relu: bool,
    ) -> Tensor:
        replicas, rows, width = x.shape
        columns = min(64, triton.next_power_of_2(width))
        span = TALL * triton.cdiv(triton.cdiv(rows, SPANS), TALL)
        spans = triton.cdiv(rows, span)
        grid = (spans, triton.cdiv(width, columns), replicas)
        parts = x.new_empty(replicas, spans, 3, width)
        stats = x.new_empty(replicas, 3, width)
        out = torch.empty_like(x)
        _moments[grid](x, weight, parts, rows, width, span, spans, TALL, columns)
        _apply[grid](x, weight, parts, gain, bias, out, stats, running_mean, running_var, rows,
                     width, span, spans, eps, flat, momentum, relu, TALL, columns,
                     SPANS)  # fmt: skip
        ctx.save_for_backward(x, weight, gain, bias, stats)
        ctx.shape, ctx.relu = (grid, rows, width, span, spans, columns), relu
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, gain, bias, stats = ctx.saved_tensors
        grid, rows, width, span, spans, columns = ctx.shape
        grad = grad.contiguous()
        parts = x.new_empty(x.shape[0], spans, 2, width)
        into, of_gain, of_bias = (torch.empty_like(part) for part in (x, gain, gain))
        _slopes[grid](x, weight, grad, stats, gain, bias, parts, rows, width, span, spans,
                      ctx.relu, TALL, columns)  # fmt: skip
        _unapply[grid](x, weight, grad, stats, gain, bias, parts, into, of_gain, of_bias, rows,
                       width, span, spans, ctx.relu, TALL, columns, SPANS)  # fmt: skip
        return into, None, of_gain, of_bias, *(None,) * 6


def normalise(
    x: Tensor,
    weight: Tensor,
    gain: Tensor,
    bias: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    eps: float,
    flat: float,
    momentum: float,
    relu: bool,
) -> Tensor:
    """:class:`gpnn.nn.norm.WeightedBatchNorm` in training, for stacked replicas; updates the
    running statistics. Shapes: x [R, rows, f], weight [R, rows], gain, bias and statistics
    [R, f]."""
    out: Tensor = _Normalise.apply(
        x.contiguous(), weight.contiguous(), gain, bias, running_mean, running_var, eps, flat,
        momentum, relu,
    )  # fmt: skip
    return out
