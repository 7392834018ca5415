"""Selects the custom kernels for a tensor."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import torch
from torch import Tensor

__all__ = ["as_cuda", "fast", "kernels", "on_gpu"]

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
"""Whether Triton interprets its kernels on the CPU, to test them without a GPU."""


def as_cuda(x: Tensor) -> bool:
    """Whether a tensor is processed as on a GPU."""
    return x.is_cuda or (INTERPRETED and x.dtype is torch.float32)


def kernels(x: Tensor) -> ModuleType | None:
    """:mod:`gpnn.nn.kernels.cuda` for tensors on a GPU where Triton is installed,
    :mod:`gpnn.nn.kernels.cpu` for floats on a CPU, otherwise ``None``, which means plain PyTorch.
    Also ``None`` under ``torch.compile``, which generates its own kernels."""
    if torch.compiler.is_compiling():
        return None
    if as_cuda(x):
        return _module("cuda") if _triton() else None
    if x.is_cpu and x.dtype in (torch.float32, torch.float64):
        return _module("cpu")
    return None


def on_gpu(x: Tensor) -> bool:
    """Whether the CUDA kernels take this tensor: it is on a GPU, and Triton is installed."""
    return as_cuda(x) and _triton()


def fast(x: Tensor) -> bool:
    """Whether there are CUDA kernels for stacked rows like these."""
    stacked = x.dim() == 3 and x.dtype is torch.float32
    return stacked and not torch.compiler.is_compiling() and on_gpu(x)


@cache
def _module(name: str) -> ModuleType:
    return import_module(f".{name}", __package__)


@cache
def _triton() -> bool:
    return find_spec("triton") is not None
