"""The numba decorator of small kernels that are called millions of times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._jit import compiled

__all__ = ["lean"]


def lean(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` as ``jit`` does, but without reference counts.

    It may read and write the arrays it is given, not create any. Ordinarily every array argument
    is counted, atomically, when a function is entered and left, unless the compiler can prove that
    needless; a loop keeps it from that. Where a call does little else this took two thirds of the
    time.
    """
    return compiled(function, _nrt=False)
