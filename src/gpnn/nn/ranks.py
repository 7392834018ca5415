"""Several processes that train one network, each on its share of every batch.

Sums that go over a batch are taken over the batches of all processes, and so are their gradients.
Where there is one process, everything here does nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, distributed

from ..errors import InputError

if TYPE_CHECKING:
    from .board import Board

__all__ = [
    "added_up",
    "all_sum",
    "device_of_rank",
    "gathered",
    "join_ranks",
    "rank",
    "ranks",
    "together",
]

_board: Board | None = None
"""Through which the processes of one machine add up on their CPUs."""


def device_of_rank(device: str, local: int, beside: int, gpus: int) -> str:
    """The device of a process: the GPU of its number on this machine, or the CPU.

    Args:
        device: what was asked for; ``auto`` takes GPUs where every process has one.
        local: the number of the process on this machine, ``beside`` how many it has.
        gpus: of this machine.
    """
    if device == "cpu" or (device == "auto" and gpus < beside):
        return "cpu"
    if device not in ("auto", "cuda"):
        raise InputError(
            f"Several processes cannot share --device {device}: each takes the GPU of its number. "
            "Use --device cuda, or --device cpu."
        )
    if gpus < beside:
        raise InputError(
            f"{beside} processes need {beside} GPUs, one each; this machine has {gpus}. Start "
            "fewer, or use --device cpu."
        )
    return f"cuda:{local}"


def join_ranks(device: str = "cpu") -> str:
    """Join the processes that ``torchrun`` started, where it did: by NCCL on GPUs; on CPUs through
    shared memory where all are on one machine, else by gloo. The device of this one; ``device``
    itself where there is one process."""
    global _board
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return device
    local, beside = (int(os.environ[f"LOCAL_{name}"]) for name in ("RANK", "WORLD_SIZE"))
    device = device_of_rank(device, local, beside, torch.cuda.device_count())
    if not distributed.is_initialized():
        if device != "cpu":
            torch.cuda.set_device(device)
        store, number, size = next(distributed.rendezvous("env://"))
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        # Processes that were killed have left their addresses in the store.
        own = distributed.PrefixStore(f"gpnn-{attempt}", store)
        backend = "gloo" if device == "cpu" else "nccl"
        distributed.init_process_group(backend, store=own, rank=number, world_size=size)
        if device == "cpu" and beside == size:
            from .board import Board

            _board = Board.join(own, number, size)
    return device


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


def added_up(x: Tensor) -> Tensor:
    """The sum over all processes of a tensor without a gradient."""
    if ranks() == 1:
        return x
    out = x.detach().clone(memory_format=torch.contiguous_format)
    if _board is not None and out.is_cpu:
        _board.add_up(out)
    else:
        distributed.all_reduce(out)
    return out


def gathered(x: Tensor) -> Tensor:
    """The tensors of all processes, one after another, [ranks, …]."""
    out = x.new_zeros(ranks(), *x.shape)
    out[rank()] = x
    return added_up(out)


def rows_of_all(x: Tensor) -> Tensor:
    """The rows of all processes, those of the first first; shares that are shorter than others are
    filled up with zeros. Shapes: [R, rows, …] → [R, all rows, …]."""
    own = x.to(torch.int32) if x.dtype is torch.bool else x
    most = int(gathered(torch.tensor([x.shape[1]], device=x.device)).max())
    filled = own.new_zeros(x.shape[0], most, *x.shape[2:])
    filled[:, : x.shape[1]] = own
    return gathered(filled).transpose(0, 1).flatten(1, 2).to(x.dtype)


class _AllSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:  # noqa: ARG004
        return added_up(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:  # noqa: ARG004
        return added_up(grad)
