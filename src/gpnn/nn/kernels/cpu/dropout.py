"""Dropout in one pass, without a mask in memory; the plain code is :mod:`gpnn.nn.dropout`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from .jit import jit

if TYPE_CHECKING:
    from ...dropout import Draw

__all__ = ["drop"]


@jit
def _mix(x):
    """The finaliser of MurmurHash 3; numba widens results to 64 bits, so they are truncated."""
    x = np.uint32((x ^ (x >> 16)) * 0x85EBCA6B)
    x = np.uint32((x ^ (x >> 13)) * 0xC2B2AE35)
    return np.uint32(x ^ (x >> 16))


@jit
def _drop(x, seed, step, rate, rows, site, out):
    replicas, count, width = x.shape
    zero = x.dtype.type(0)
    for r in range(replicas):
        limit = np.int64(np.ceil(rate[r] * 4294967296.0))
        scale = x.dtype.type(1 / (1 - rate[r]))
        key = _mix(np.uint32(_mix(np.uint32(_mix(np.uint32(seed[r])) ^ np.uint32(step))) + site))
        for i in range(count):
            row = _mix(np.uint32(rows[r, i]) ^ key)
            for c in range(width):
                bits = _mix(np.uint32(row + c * 0x9E3779B1))
                out[r, i, c] = x[r, i, c] * scale if np.int64(bits) >= limit else zero


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, draw: Draw, site: int, step: int, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.draw, ctx.site, ctx.step = draw, site, step
        return _dropped(x, draw, site, step, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (rows,) = ctx.saved_tensors
        if torch.is_grad_enabled():
            into: Tensor = _Dropped.apply(grad, ctx.draw, ctx.site, ctx.step, rows)
        else:
            into = _dropped(grad, ctx.draw, ctx.site, ctx.step, rows)
        return into, None, None, None, None


def _dropped(x: Tensor, draw: Draw, site: int, step: int, rows: Tensor) -> Tensor:
    x = x.detach().contiguous()
    out = torch.empty_like(x)
    shape = (len(draw.seed), -1, x.shape[-1])
    arrays = (draw.rate.double(), rows.reshape(len(draw.seed), -1))
    rate, numbers = (part.numpy() for part in arrays)
    _drop(x.view(shape).numpy(), draw.seed.numpy(), step, rate, numbers, site,
          out.view(shape).numpy())  # fmt: skip
    return out


def drop(x: Tensor, draw: Draw, site: int, rows: Tensor) -> Tensor:
    """x times :func:`gpnn.nn.dropout.kept`, with identical values. Shapes: x [(R,) rows, f], rows
    [(R,) rows] → like x."""
    out: Tensor = _Dropped.apply(x, draw, site, int(draw.step), rows)
    return out
