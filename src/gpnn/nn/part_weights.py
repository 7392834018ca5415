r"""Weights that belong to parts: one entry per part along some dimensions of a parameter.

A module lists these dimensions in ``part_dims`` (name of the parameter or buffer → dimensions, from
0). The last part is reserved for colours unseen in training.

**Drawn by colour.** The initial weights of a part depend only on a seed and on its colour,

.. math::
    w_{j i} = F^{-1}\big(hash(seed, key_j, i)\big),

so they do not depend on the other parts of a network: a fold that is trained together with others,
in arrays large enough for the colours of all, starts as it would alone.

**Reserved.** The weights of the reserved part start at zero. No training graph contains it, so it
gets no gradient and stays at zero. So does a part that is :func:`forgotten <forget_parts>`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

__all__ = ["draw_parts", "forget_parts", "keep_parts", "part_keys"]

Bits = NDArray[np.uint64]


def part_keys(colours: NDArray[np.int64]) -> Tensor:
    """A key for every colour, equal only for equal colours, and 0 for the reserved part; colours
    [k, width] → int64 [k + 1]."""
    rows = np.ascontiguousarray(colours, np.int64)
    digests = (hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in rows)
    keys = [int.from_bytes(digest, "little") >> 1 for digest in digests]
    return torch.tensor([*keys, 0], dtype=torch.int64)


@torch.no_grad()
def draw_parts(
    parameter: Tensor,
    dims: Sequence[int],
    keys: Tensor,
    *,
    normal: float | None = None,
    uniform: float | None = None,
) -> None:
    """Draw a parameter by colour, normal with a given standard deviation or uniform within a bound;
    the reserved part is zero. Takes one number from torch's generator, regardless of the number of
    parts."""
    if parameter.is_meta:
        return
    seed = int(torch.empty((), dtype=torch.int64).random_())
    bits = _mix(np.array(seed, np.uint64))
    for dim, size in enumerate(parameter.shape):
        each = keys.numpy().astype(np.uint64) if dim in dims else np.arange(size, dtype=np.uint64)
        shape = [1] * parameter.dim()
        shape[dim] = size
        bits = _mix(bits ^ _mix(each + np.uint64(dim + 1)).reshape(shape))
    share = torch.from_numpy(((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)
    if normal is not None:
        drawn = normal * torch.special.ndtri(share)
    else:
        assert uniform is not None
        drawn = uniform * (2 * share - 1)
    parameter.copy_(drawn)
    for dim in dims:
        parameter.select(dim, -1).zero_()


def _mix(x: Bits) -> Bits:
    """The finaliser of SplitMix64."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _each(net: nn.Module) -> Iterator[tuple[nn.Module, str, Tensor, tuple[int, ...]]]:
    for module in net.modules():
        for name, dims in getattr(module, "part_dims", {}).items():
            value = getattr(module, name)
            if value is not None:
                yield module, name, value, dims


@torch.no_grad()
def forget_parts(net: nn.Module, unseen: Tensor) -> None:
    """Set parts that do not occur in training, [parts], to zero, like the reserved part."""
    for _, _, value, dims in _each(net):
        if isinstance(value, nn.Parameter):
            for dim in dims:
                value.index_fill_(dim, unseen.nonzero().flatten(), 0)


@torch.no_grad()
def keep_parts(net: nn.Module, kept: Tensor) -> None:
    """Drop all parts of a network except ``kept``, part numbers in ascending order with the
    reserved part last."""
    for module, name, value, dims in list(_each(net)):
        for dim in dims:
            value = value.index_select(dim, kept)
        old = getattr(module, name)
        setattr(module, name, nn.Parameter(value) if isinstance(old, nn.Parameter) else value)
    for module in net.modules():
        keys = getattr(module, "keys", None)
        if hasattr(module, "part_dims") and isinstance(keys, Tensor):
            module.keys = keys[kept]
