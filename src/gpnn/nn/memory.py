"""Decides how much of a large batch a step keeps in memory at a time."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from ..errors import InputError
from ..sizes import available_bytes
from .batch import GraphBatch
from .ranks import ranks

__all__ = ["fits_often", "recomputes", "tuple_chunk"]

LIVE_ROWS = 6
"""Rows of the network's width that a tuple (α_vw, α_uw) keeps alive in a training step."""
MOST, CHUNK = 2**31, 2**28
"""Maximum bytes of these rows in a layer on a CPU, and bytes of a chunk if there are more. On a GPU
the limit is the free memory."""
VERTEX_ROWS, CLASS_ROWS = 20, 10
"""Rows that a vertex keeps alive in every layer, including the base GNN, and a class in its own."""


def tuple_chunk(tuples: int, like: Tensor) -> int | None:
    """The number of tuples that a layer may hold at a time, or ``None`` if it may hold all. Chunks
    are the same on every CPU, so results do not depend on other programs.

    Stacked replicas and several processes take all tuples at once, or raise an error.
    """
    if torch.compiler.is_compiling():
        return None
    row = LIVE_ROWS * like.shape[-1] * like.element_size()
    need = row * tuples
    if need <= MOST:
        return None
    free = free_bytes(like.device)
    if like.dim() == 2 and ranks() == 1:
        if like.device.type == "cpu":
            return max(1, CHUNK // row)
        return None if need <= free else max(1, free // 4 // row)
    if need > free:
        raise InputError(
            f"The pairs of this batch make {tuples:,} tuples, which need about "
            f"{need / 2**30:,.1f} GiB; {free / 2**30:,.1f} GiB are free. Use smaller batches, a "
            "smaller d or width, interactions='cross', or train one network in one process."
        )
    return None


def recomputes(batch: GraphBatch, width: int, like: Tensor) -> bool:
    """Whether a network keeps only the inputs and outputs of its layers, because a step would
    otherwise keep more than half of the free memory."""
    if torch.compiler.is_compiling() or like.dim() > 2 or not torch.is_grad_enabled():
        return False
    need = _kept_bytes(batch, width, like)
    return need > MOST and need > free_bytes(like.device) // 2


def _kept_bytes(batch: GraphBatch, width: int, like: Tensor) -> int:
    """Approximate bytes that a step keeps of vertices and classes until the backward pass."""
    rows = sum(CLASS_ROWS * len(one.weight) + VERTEX_ROWS * batch.num_nodes for one in batch.rounds)
    return rows * width * like.element_size()


def fits_often(batch: GraphBatch, width: int, like: Tensor, replicas: int = 1) -> bool:
    """Whether there is room for all memory that steps over this batch ever allocate if none of it
    is returned to the system in between. Where measured, that was less than twice what a step
    keeps, plus the size of the batch."""
    tensors = (leaf for leaf in tree_leaves(batch) if isinstance(leaf, Tensor))
    batch_bytes = sum(leaf.numel() * leaf.element_size() for leaf in tensors)
    need = batch_bytes + 2 * replicas * _kept_bytes(batch, width, like)
    return need < free_bytes(like.device)


def free_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return 2 * available_bytes()
