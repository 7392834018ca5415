"""Dot products over all entries of a replica, in spans; plain PyTorch takes two passes."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

__all__ = ["replica_dots"]

SIZE, SPAN = 1024, 16 * 1024


@triton.jit(do_not_specialize=["size", "span", "spans"])
def _dots(x, y, parts, size, span, spans, SIZE: tl.constexpr):
    s, r = tl.program_id(0), tl.program_id(1).to(tl.int64)
    total = tl.zeros((SIZE,), dtype=tl.float32)
    for first in range(s * span, tl.minimum((s + 1) * span, size), SIZE):
        at = first + tl.arange(0, SIZE)
        left = tl.load(x + r * size + at, mask=at < size, other=0)
        total += left * tl.load(y + r * size + at, mask=at < size, other=0)
    tl.store(parts + r * spans + s, tl.sum(total))


def replica_dots(x: Tensor, y: Tensor) -> Tensor:
    """Σ x y over all entries of a replica, in a fixed order. Shapes: [R, …] twice → [R]."""
    replicas, size = len(x), x[0].numel()
    spans = max(1, triton.cdiv(size, SPAN))
    parts = x.new_empty(replicas, spans)
    _dots[(spans, replicas)](x.contiguous(), y.contiguous(), parts, size, SPAN, spans, SIZE)
    return parts.sum(1)
