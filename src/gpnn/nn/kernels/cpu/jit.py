"""The numba decorator of the network's kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["jit"]


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` and cache the machine code on disk; sums may be taken in another order,
    which lets the compiler use vector instructions."""
    compiled: Callable[..., Any] = numba.njit(
        cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"}
    )(function)
    return compiled
