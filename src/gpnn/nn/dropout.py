"""Dropout with independent masks for stacked replicas."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .kernels.dispatch import kernels

__all__ = ["Draw", "Dropout", "kept"]

MASK = 0xFFFFFFFF
CALLS = 64


@dataclass
class Draw:
    """What the masks of a stacked dropout depend on.

    Attributes:
        seed: seed of every replica, [R]; ``step``: number of steps taken, [1]; both int64.
        rate: the fraction dropped in every replica, float [R].
        site: the number of the module in the network.
    """

    seed: Tensor
    step: Tensor
    rate: Tensor
    site: int


class Dropout(nn.Dropout):
    r"""Dropout. For stacked replicas, the mask of an entry depends only on the seed of its replica,
    the step, the place in the network, its row in the whole dataset and its column:

    .. math::
        y_{ri} = \frac{x_{ri}}{1 - p_r} \,
            \big[\, hash(seed_r, step, place, row_i, column_i) \ge 2^{32} p_r \,\big]

    so that the masks of a replica do not depend on the replicas that it is trained with.

    Shapes: x [..., rows, features], rows [R, rows] → like x. A module that is called several times
    in a step passes the number of the ``call``. A ``fixed`` module uses its own probability in all
    replicas.
    """

    draw: Draw | None = None
    fixed = False

    def forward(self, x: Tensor, rows: Tensor | None = None, call: int = 0) -> Tensor:
        if self.draw is None:
            return super().forward(x)
        if not self.training:
            return x
        assert rows is not None
        if x.dim() == 2:
            return self.forward(x.unsqueeze(0), rows.view(1, -1), call).squeeze(0)
        own = kernels(x)
        if own is not None:
            out: Tensor = own.drop(x, self.draw, CALLS * self.draw.site + call, rows)
            return out
        return x * kept(self.draw, call, rows, x.shape[-1], x.dtype)


def kept(draw: Draw, call: int, rows: Tensor, width: int, dtype: torch.dtype) -> Tensor:
    """0 for dropped entries, 1 / (1 - p) for kept ones, [R, rows, width]."""
    key = mix(mix(mix(draw.seed) ^ draw.step) + CALLS * draw.site + call)
    row = mix(rows.long() ^ key.unsqueeze(1))
    bits = mix(row.unsqueeze(2) + torch.arange(width, device=rows.device) * 0x9E3779B1)
    rate = draw.rate.double()[:, None, None]
    return (bits >= (rate * 2**32)).to(dtype) / (1 - rate).to(dtype)


def mix(x: Tensor) -> Tensor:
    """A hash of 32-bit numbers stored in int64 (the finaliser of MurmurHash 3)."""
    x = x & MASK
    x = (x ^ (x >> 16)) * 0x85EBCA6B & MASK
    x = (x ^ (x >> 13)) * 0xC2B2AE35 & MASK
    return x ^ (x >> 16)
