"""A step of AdamW on a CPU in one pass; the reference is :mod:`gpnn.train.adamw`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from ...nn.kernels.cpu.jit import jit
from ...nn.kernels.cpu.sums import NO_NUMBERS

if TYPE_CHECKING:
    from ..adamw import StackedAdamW

__all__ = ["adamw_step"]


@jit
def _adamw(value, first, second, slope, lr, decay, rate, beta1, beta2, one, two, eps):
    number = value.dtype.type
    keep1, keep2 = number(1 - beta1), number(1 - beta2)
    beta, rate, eps = number(beta2), number(rate), number(eps)
    one, two = number(1 / one), number(1 / two)
    for i in range(len(value)):
        size = lr[i] * rate
        g = slope[i]
        m = first[i] + keep1 * (g - first[i])
        v = beta * second[i] + keep2 * g * g
        p = value[i]
        if len(decay):
            p *= 1 - size * decay[i]
        first[i], second[i] = m, v
        value[i] = p - size * (m * one) / ((v * two) ** number(0.5) + eps)


def adamw_step(
    adam: StackedAdamW, slope: Tensor, rate: Tensor, betas: tuple[float, float], eps: float
) -> None:
    """See :class:`gpnn.train.adamw.StackedAdamW`."""
    count = int(adam.step) + 1
    arrays = (adam.value, adam.first, adam.second, slope, adam.lr)
    decay = NO_NUMBERS[slope.dtype] if adam.decay is None else adam.decay.numpy()
    _adamw(*(part.detach().numpy() for part in arrays), decay, float(rate), *betas,
           1 - betas[0] ** count, 1 - betas[1] ** count, eps)  # fmt: skip
