"""The numba decorator used by every kernel, typed so that callers stay checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["jit"]


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` without the interpreter and cache the machine code on disk."""
    compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return compiled
