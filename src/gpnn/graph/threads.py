"""Run kernels on spans of a graph in parallel. Kernels release the GIL, so threads suffice. No pool
outlives the call, so a process may fork before and after it."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["balanced", "on_spans", "spans"]

T = TypeVar("T")

WORTH = 20_000
"""Units of work below which a second thread costs more than it saves."""
PIECES = 16
"""Spans per thread, to balance the load."""


def spans(ends: NDArray[np.integer]) -> list[tuple[int, int]]:
    """Spans of rows with about equal work; ``ends`` is the cumulative work before every row,
    [n + 1]."""
    return balanced(ends, min(PIECES * threads(), int(ends[-1]) // WORTH, len(ends) - 1))


def balanced(ends: NDArray[np.integer], count: int) -> list[tuple[int, int]]:
    """At most ``count`` spans (at least one) with about equal work."""
    cuts = np.searchsorted(ends, np.linspace(0, int(ends[-1]), max(1, count) + 1)[1:-1])
    bounds = np.unique(np.concatenate(([0], cuts, [len(ends) - 1])))
    return [(int(a), int(b)) for a, b in pairwise(bounds)] or [(0, 0)]


def on_spans(function: Callable[[int, int], T], stretches: list[tuple[int, int]]) -> list[T]:
    """Call ``function(low, high)`` for every span; results are in order."""
    if len(stretches) == 1 or threads() == 1:
        return [function(*one) for one in stretches]
    with ThreadPoolExecutor(min(threads(), len(stretches))) as pool:
        return list(pool.map(lambda one: function(*one), stretches))


def threads() -> int:
    """Number of cores that this process may use, at most 16."""
    if hasattr(os, "sched_getaffinity"):
        return min(16, len(os.sched_getaffinity(0)))
    return min(16, os.cpu_count() or 1)
