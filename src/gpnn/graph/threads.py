"""Kernels on stretches of a graph, several at a time. They release the interpreter's lock, so plain
threads do; no pool outlives the call, and a process may fork before and after it."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["on_spans", "spans"]

T = TypeVar("T")

WORTH = 20_000
"""Units of work below which a second thread costs more than it saves."""
PIECES = 16
"""Stretches per thread, so that an uneven one does not keep the others waiting."""


def spans(ends: NDArray[np.integer]) -> list[tuple[int, int]]:
    """Stretches of rows with about the same work, of which ``ends`` is what is before every row,
    [n + 1]."""
    rows, work = len(ends) - 1, int(ends[-1])
    count = max(1, min(PIECES * threads(), work // WORTH, rows))
    cuts = np.searchsorted(ends, np.linspace(0, work, count + 1)[1:-1])
    bounds = np.unique(np.concatenate(([0], cuts, [rows])))
    return [(int(a), int(b)) for a, b in pairwise(bounds)] or [(0, 0)]


def on_spans(function: Callable[[int, int], T], stretches: list[tuple[int, int]]) -> list[T]:
    """``function(low, high)`` of every stretch, in order."""
    if len(stretches) == 1 or threads() == 1:
        return [function(*one) for one in stretches]
    with ThreadPoolExecutor(min(threads(), len(stretches))) as pool:
        return list(pool.map(lambda one: function(*one), stretches))


def threads() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return min(16, len(os.sched_getaffinity(0)))
    return min(16, os.cpu_count() or 1)
