"""A step of AdamW in one kernel; the reference implementation is :mod:`gpnn.train.adamw`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import triton
import triton.language as tl
from torch import Tensor

if TYPE_CHECKING:
    from ..adamw import StackedAdamW

__all__ = ["adamw_step"]


@triton.jit(do_not_specialize=["size"])
def _adam(value, first, second, slope, lr, decay, rate, step, size, beta1, beta2, eps,
          DECAY: tl.constexpr, SIZE: tl.constexpr):  # fmt: skip
    at = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    inside = at < size
    p = tl.load(value + at, mask=inside)
    g = tl.load(slope + at, mask=inside)
    m = tl.load(first + at, mask=inside)
    v = tl.load(second + at, mask=inside)
    m += (1 - beta1) * (g - m)
    v = beta2 * v + (1 - beta2) * g * g
    count = (tl.load(step) + 1).to(tl.float32)
    one = 1 - tl.exp2(count * tl.log2(beta1))
    two = 1 - tl.exp2(count * tl.log2(beta2))
    size_of = tl.load(lr + at, mask=inside) * tl.load(rate)
    if DECAY:
        p *= 1 - size_of * tl.load(decay + at, mask=inside)
    p -= size_of / one * m / (tl.sqrt(v / two) + eps)
    tl.store(value + at, p, mask=inside)
    tl.store(first + at, m, mask=inside)
    tl.store(second + at, v, mask=inside)


def adamw_step(
    adam: StackedAdamW, slope: Tensor, rate: Tensor, betas: tuple[float, float], eps: float
) -> None:
    """See :class:`gpnn.train.adamw.StackedAdamW`."""
    size = adam.value.numel()
    block = 1024
    decay = adam.value if adam.decay is None else adam.decay
    _adam[(triton.cdiv(size, block),)](
        adam.value, adam.first, adam.second, slope, adam.lr, decay, rate, adam.step, size, *betas,
        eps, adam.decay is not None, block,
    )  # fmt: skip
