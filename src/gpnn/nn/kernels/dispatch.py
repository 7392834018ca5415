"""Whether kernels of our own can run on a tensor."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

__all__ = ["fast", "fused"]


def fused(x: Tensor) -> bool:
    """Whether the CUDA kernels take this tensor: it lies on a GPU, and Triton is installed."""
    return x.is_cuda and _triton()


def fast(x: Tensor) -> bool:
    """Whether there are kernels of our own for stacked rows like these."""
    return x.dim() == 3 and x.dtype is torch.float32 and fused(x)


@cache
def _triton() -> bool:
    return find_spec("triton") is not None
