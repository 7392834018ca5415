"""The numba decorator of the network's kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....graph.kernels._jit import compiled

__all__ = ["jit"]


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` and cache the machine code on disk. Sums may be reordered, so that the
    compiler can use vector instructions."""
    return compiled(function, fastmath={"contract", "reassoc", "nsz"})
