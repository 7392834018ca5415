"""The numba decorator used by every kernel, typed so that callers stay checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["compiled", "jit"]


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` without the interpreter and cache the machine code on disk."""
    return compiled(function)


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile with further options; where no folder for the machine code can be written, it is
    compiled in every process."""
    usual = {"nogil": True, "error_model": "numpy", **options}
    try:
        found: Callable[..., Any] = numba.njit(cache=True, **usual)(function)
    except RuntimeError:  # numba finds no such folder
        found = numba.njit(**usual)(function)
    return found
