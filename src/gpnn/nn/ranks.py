"""Several processes that train one network, each on its share of every batch.

Sums that go over a batch are taken over the batches of all processes, and so are their gradients.
Where there is one process, everything here does nothing.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import Tensor, distributed

__all__ = ["all_sum", "join_ranks", "rank", "ranks", "together"]


def join_ranks() -> int:
    """Join the processes that ``torchrun`` started, where it did; how many there are."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not distributed.is_initialized():
        store, number, size = next(distributed.rendezvous("env://"))
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        # Processes that were killed have left their addresses in the store.
        own = distributed.PrefixStore(f"gpnn-{attempt}", store)
        distributed.init_process_group("gloo", store=own, rank=number, world_size=size)
    return ranks()


def ranks() -> int:
    """How many processes train together."""
    there = distributed.is_available() and distributed.is_initialized()
    return distributed.get_world_size() if there else 1


def rank() -> int:
    """The number of this one; 0 writes and speaks."""
    return distributed.get_rank() if ranks() > 1 else 0


def together() -> None:
    """Wait for all others."""
    if ranks() > 1:
        distributed.barrier()


def all_sum(x: Tensor) -> Tensor:
    """The sum over all processes, the same in each.

    The loss is a sum over processes too, so the gradient of an entry is the sum of the gradients
    that all of them have for it.
    """
    if ranks() == 1:
        return x
    out: Tensor = _AllSum.apply(x)
    return out


class _AllSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:  # noqa: ARG004
        out = x.detach().clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:  # noqa: ARG004
        out = grad.clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(out)
        return out
