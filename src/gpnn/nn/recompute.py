"""Pieces of a network that are recomputed in the backward pass instead of being stored."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import torch
from torch.utils.checkpoint import checkpoint

__all__ = ["piece", "recomputing"]

T = TypeVar("T")
_state = threading.local()


def piece(again: bool, function: Callable[..., T], *inputs: Any) -> T:
    """``function(*inputs)``; with ``again`` only inputs and outputs are kept for the gradient.
    Results are the same: running statistics are updated once, and dropout draws the same mask."""
    if not again:
        return function(*inputs)
    out: T = checkpoint(
        function, *inputs, use_reentrant=False, context_fn=lambda: (nullcontext(), _second_time())
    )
    return out


def recomputing() -> bool:
    """Whether a piece is being computed for the second time."""
    return not torch.compiler.is_compiling() and getattr(_state, "again", False)


@contextmanager
def _second_time() -> Iterator[None]:
    before = recomputing()
    _state.again = True
    try:
        yield
    finally:
        _state.again = before
