"""Weighted batch normalisation; the plain code is :mod:`gpnn.nn.norm`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...ranks import added_up, gathered, ranks
from .jit import jit
from .sums import NO_NUMBERS
from .threads import on_rows

__all__ = ["normalise", "scale_rows"]


BLOCK = 64
"""Rows summed in the precision of the data; sums of blocks are added in double precision."""
STRETCH = 2**16
"""Rows per partial sum; fixed, so that results do not depend on the number of threads."""


@jit
def _moments(x, weight, parts, low, high):
    """Σ w, the mean and Σ w (x - mean)² of every feature over a range of rows."""
    replicas, _, width = x.shape
    out = parts[low // STRETCH]
    unit = x.dtype.type(1)
    part, middle = np.empty(width, x.dtype), np.empty(width, x.dtype)
    for r in range(replicas):
        mean, spread = np.zeros(width), np.zeros(width)
        total = 0.0
        for start in range(low, high, BLOCK):
            part[:] = 0
            for i in range(start, min(start + BLOCK, high)):
                w = weight[r, i] if len(weight) else unit
                total += w
                for c in range(width):
                    part[c] += w * x[r, i, c]
            for c in range(width):
                mean[c] += part[c]
        for c in range(width):
            mean[c] = mean[c] / total if total > 0 else 0.0
            middle[c] = mean[c]
        for start in range(low, high, BLOCK):
            part[:] = 0
            for i in range(start, min(start + BLOCK, high)):
                w = weight[r, i] if len(weight) else unit
                for c in range(width):
                    off = x[r, i, c] - middle[c]
                    part[c] += w * off * off
            for c in range(width):
                spread[c] += part[c]
        for c in range(width):
            out[r, 0, c], out[r, 1, c], out[r, 2, c] = total, mean[c], spread[c]


@jit
def _join(moments, out):
    """Merge the moments of several sets of rows, [parts, R, 3, f] → [R, 3, f]."""
    for r in range(out.shape[0]):
        for c in range(out.shape[2]):
            total, mean, spread = 0.0, 0.0, 0.0
            for k in range(len(moments)):
                total += moments[k, r, 0, c]
                mean += moments[k, r, 0, c] * moments[k, r, 1, c]
            mean /= max(total, 1.0)
            for k in range(len(moments)):
                off = moments[k, r, 1, c] - mean
                spread += moments[k, r, 2, c] + moments[k, r, 0, c] * off * off
            out[r, 0, c], out[r, 1, c], out[r, 2, c] = total, mean, spread


@jit
def _settle(moments, gain, bias, running_mean, running_var, eps, flat, momentum, steep, shift):
    """Compute the scale and shift of rows and update the running statistics. In ``moments``,
    Σ w (x - mean)² is replaced by 1/σ."""
    for r in range(moments.shape[0]):
        for c in range(moments.shape[2]):
            total, mean = max(moments[r, 0, c], 1.0), moments[r, 1, c]
            variance = moments[r, 2, c] / total
            constant = variance < flat * mean * mean
            scale = 0.0 if constant else 1 / np.sqrt(variance + eps)
            moments[r, 0, c], moments[r, 2, c] = total, scale
            steep[r, c] = scale * gain[r, c]
            shift[r, c] = bias[r, c] - mean * scale * gain[r, c]
            unbiased = 0.0 if constant else variance * total / max(total - 1, 1.0)
            pace = 1.0 if constant and running_var[r, c] == 1 else momentum
            running_mean[r, c] += momentum * (mean - running_mean[r, c])
            running_var[r, c] += pace * (unbiased - running_var[r, c])


@jit
def _slopes(x, grad, out, stats, relu, parts, low, high):
    """Σ g and Σ g (x - mean) of every feature over a range of rows."""
    replicas, _, width = x.shape
    into = parts[low // STRETCH]
    zero = x.dtype.type(0)
    first, second = np.empty(width, x.dtype), np.empty(width, x.dtype)
    middle = np.empty(width, x.dtype)
    for r in range(replicas):
        for c in range(width):
            middle[c] = stats[r, 1, c]
            into[r, 0, c] = into[r, 1, c] = 0
        for start in range(low, high, BLOCK):
            first[:] = 0
            second[:] = 0
            for i in range(start, min(start + BLOCK, high)):
                for c in range(width):
                    g = grad[r, i, c]
                    if relu:
                        g = g if out[r, i, c] > zero else zero
                    first[c] += g
                    second[c] += g * (x[r, i, c] - middle[c])
            for c in range(width):
                into[r, 0, c] += first[c]
                into[r, 1, c] += second[c]


@jit
def _unapply(x, weight, grad, out, gain, stats, sums, relu, into, low, high):
    """The gradient of the rows; ``sums`` are Σ g and Σ g (x - mean) over all rows in the
    statistics."""
    replicas, _, width = x.shape
    zero, unit = x.dtype.type(0), x.dtype.type(1)
    middle, steep = np.empty(width, x.dtype), np.empty(width, x.dtype)
    level, slope = np.empty(width, x.dtype), np.empty(width, x.dtype)
    for r in range(replicas):
        for c in range(width):
            total, scale = stats[r, 0, c], stats[r, 2, c]
            middle[c] = stats[r, 1, c]
            steep[c] = scale * gain[r, c]
            level[c] = scale * gain[r, c] * sums[r, 0, c] / total
            slope[c] = scale * gain[r, c] * scale * scale * sums[r, 1, c] / total
        for i in range(low, high):
            w = weight[r, i] if len(weight) else unit
            for c in range(width):
                g = grad[r, i, c]
                if relu:
                    g = g if out[r, i, c] > zero else zero
                into[r, i, c] = steep[c] * g - w * (level[c] + slope[c] * (x[r, i, c] - middle[c]))


@jit
def _scale(x, steep, shift, relu, out, low, high):
    replicas, _, width = x.shape
    zero = x.dtype.type(0)
    for r in range(replicas):
        for i in range(low, high):
            for c in range(width):
                value = x[r, i, c] * steep[r, c] + shift[r, c]
                out[r, i, c] = max(value, zero) if relu else value


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        gain: Tensor,
        bias: Tensor,
        running: tuple[Tensor, Tensor],
        eps: float,
        flat: float,
        momentum: float,
        relu: bool,
        plain: Any,
    ) -> Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        stats = torch.empty(*gain.shape[:-1], 3, gain.shape[-1], dtype=torch.float64)
        rows, moments = _stacked(x, 3).numpy(), _stacked(stats, 3).numpy()
        each = _stretches(rows)
        parts = np.empty((len(each), *moments.shape))
        on_rows(_moments, (rows, _weights(weight, x), parts), each, x.numel())
        _join(parts, moments)
        if ranks() > 1:
            _join(gathered(stats).numpy().reshape(-1, *moments.shape), moments)
        arrays = [_stacked(part, 2).numpy() for part in (gain, bias, *running)]
        steep, shift = np.empty_like(arrays[0]), np.empty_like(arrays[0])
        _settle(moments, *arrays, eps, flat, momentum, steep, shift)
        on_rows(_scale, (rows, steep, shift, relu, _stacked(out, 3).numpy()), each, x.numel())
        ctx.save_for_backward(x, weight, gain, bias, out, stats)
        ctx.relu, ctx.plain = relu, plain
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, gain, bias, out, stats = ctx.saved_tensors
        if torch.is_grad_enabled():  # second derivatives use the plain code
            again = ctx.plain(x, weight, gain, bias)
            slopes = torch.autograd.grad(again, (x, gain, bias), grad, create_graph=True)
            return slopes[0], None, *slopes[1:], *(None,) * 6
        grad = grad.contiguous()
        into = torch.empty_like(x)
        sums = torch.empty(*gain.shape[:-1], 2, gain.shape[-1], dtype=torch.float64)
        rows, slope, made, moments = (_stacked(part, 3).numpy() for part in (x, grad, out, stats))
        each, total = _stretches(rows), _stacked(sums, 3).numpy()
        parts = np.empty((len(each), *total.shape))
        on_rows(_slopes, (rows, slope, made, moments, ctx.relu, parts), each, x.numel())
        np.sum(parts, axis=0, out=total)
        of_bias = sums[..., 0, :].to(gain.dtype)  # over the rows of this process only
        of_gain = (sums[..., 1, :] * stats[..., 2, :]).to(gain.dtype)
        arrays = (
            rows, _weights(weight, x), slope, made, _stacked(gain, 2).numpy(), moments,
            _stacked(added_up(sums), 3).numpy(), ctx.relu, _stacked(into, 3).numpy(),
        )  # fmt: skip
        on_rows(_unapply, arrays, each, x.numel())
        return into, None, of_gain, of_bias, *(None,) * 6


def normalise(
    x: Tensor,
    weight: Tensor | None,
    gain: Tensor,
    bias: Tensor,
    running: tuple[Tensor, Tensor],
    eps: float,
    flat: float,
    momentum: float,
    relu: bool,
    plain: Any,
) -> Tensor:
    """:class:`gpnn.nn.norm.WeightedBatchNorm` in training; updates the running statistics.

    Args:
        plain: the same function of x, weight, gain and bias, in a form differentiable twice.

    Shapes: x [(R,) rows, f], weight [(R,) rows], gain, bias and statistics [(R,) f].
    """
    out: Tensor = _Normalise.apply(x, weight, gain, bias, running, eps, flat, momentum, relu, plain)
    return out


def scale_rows(x: Tensor, steep: Tensor, shift: Tensor, relu: bool) -> Tensor:
    """x · steep + shift, with negative entries set to zero if ``relu``; no gradient."""
    x = x.contiguous()
    out = torch.empty_like(x)
    tensors = (_stacked(x, 3), _stacked(steep, 2), _stacked(shift, 2))
    rows, *scales = (part.numpy() for part in tensors)
    arrays = (rows, *scales, relu, _stacked(out, 3).numpy())
    on_rows(_scale, arrays, _stretches(rows), x.numel())
    return out


def _stretches(x: np.ndarray) -> list[tuple[int, int]]:
    rows = x.shape[1]
    return [(k, min(k + STRETCH, rows)) for k in range(0, max(rows, 1), STRETCH)]


def _stacked(x: Tensor, dimensions: int) -> Tensor:
    x = x.detach()
    return x if x.dim() == dimensions else x.unsqueeze(0)


def _weights(weight: Tensor | None, x: Tensor) -> np.ndarray:
    if weight is None:
        return NO_NUMBERS[x.dtype].reshape(0, 0)
    weights: np.ndarray = _stacked(weight.to(x.dtype), 2).numpy()
    return weights
