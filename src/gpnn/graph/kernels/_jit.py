"""The numba decorator used by every kernel, typed so that callers are type-checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["compiled", "jit"]


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` in nopython mode and cache the machine code on disk."""
    return compiled(function)


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile with further options. If no cache folder is writable, the function is compiled in
    every process."""
    usual = {"nogil": True, "error_model": "numpy", **options}
    try:
        kernel: Callable[..., Any] = numba.njit(cache=True, **usual)(function)
    except RuntimeError:  # no writable cache folder
        kernel = numba.njit(**usual)(function)
    return kernel
