"""Several processes that train one network, each on its share of every batch.

Sums over a batch, and their gradients, are taken over the shares of all processes. With a single
process, the functions of this module have no effect.
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
"""Shared memory through which the processes of one machine sum tensors on the CPU."""


def device_of_rank(device: str, local: int, beside: int, gpus: int) -> str:
    """The device of a process: the GPU of its rank on this machine, or the CPU.

    Args:
        device: the requested device; ``auto`` uses GPUs if there is one for every process.
        local: number of this process on its machine; ``beside``: how many processes run there.
        gpus: number of GPUs of this machine.
    """
    if device == "cpu" or (device == "auto" and gpus < beside):
        return "cpu"
    if device not in ("auto", "cuda"):
        raise InputError(
            f"Several processes cannot share --device {device}: each uses the GPU of its rank. "
            "Use --device cuda, or --device cpu."
        )
    if gpus < beside:
        raise InputError(
            f"{beside} processes need {beside} GPUs, one each; this machine has {gpus}. Start "
            "fewer, or use --device cpu."
        )
    return f"cuda:{local}"


def join_ranks(device: str = "cpu") -> str:
    """Join the processes that ``torchrun`` started, if any: with NCCL on GPUs; on CPUs through
    shared memory if all are on one machine, otherwise with gloo. Returns the device of this
    process, or ``device`` if it is the only one."""
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
        # Killed processes leave stale addresses in the store.
        own = distributed.PrefixStore(f"gpnn-{attempt}", store)
        backend = "gloo" if device == "cpu" else "nccl"
        distributed.init_process_group(backend, store=own, rank=number, world_size=size)
        if device == "cpu" and beside == size:
            from .board import Board

            _board = Board.join(own, number, size)
    return device


def ranks() -> int:
    """The number of processes that train together."""
    there = distributed.is_available() and distributed.is_initialized()
    return distributed.get_world_size() if there else 1


def rank() -> int:
    """The number of this process; process 0 writes files and prints messages."""
    return distributed.get_rank() if ranks() > 1 else 0


def together() -> None:
    """Wait for all other processes."""
    if ranks() > 1:
        distributed.barrier()


def all_sum(x: Tensor) -> Tensor:
    """The sum over all processes, the same in each.

    The loss is also a sum over processes, so the gradient of an entry is the sum of its gradients
    in all processes.
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
    """The tensors of all processes, stacked, [ranks, …]."""
    out = x.new_zeros(ranks(), *x.shape)
    out[rank()] = x
    return added_up(out)


def rows_of_all(x: Tensor) -> Tensor:
    """The rows of all processes, in process order; shorter shares are padded with zeros. Shapes:
    [R, rows, …] → [R, all rows, …]."""
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
