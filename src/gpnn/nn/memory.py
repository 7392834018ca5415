"""Say what a step would need before it is killed for it."""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import InputError
from ..sizes import available_bytes

__all__ = ["check_tuples"]

LIVE_ROWS = 6
"""Rows of the network's width that a tuple (α_vw, α_uw) keeps alive in a training step."""
UNCHECKED = 2**30


def check_tuples(tuples: int, like: Tensor) -> None:
    """Refuse a layer whose tuples alone would not fit the memory of the device."""
    if torch.compiler.is_compiling():
        return
    need = LIVE_ROWS * tuples * like.shape[-1] * like.element_size()
    if need < UNCHECKED:
        return
    free = free_bytes(like.device)
    if need > free:
        raise InputError(
            f"The pairs of this batch make {tuples:,} tuples, which need about "
            f"{need / 2**30:,.1f} GiB; {free / 2**30:,.1f} GiB are free. Use smaller batches, a "
            "smaller d or width, or interactions='cross'."
        )


def free_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return 2 * available_bytes()
