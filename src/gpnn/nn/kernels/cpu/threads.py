"""Kernels on stretches of rows, on as many threads as torch uses.

A kernel takes the first row and the one after the last as its last two arguments, writes these rows
and no others, and releases the interpreter's lock. Which thread writes a row does not change it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import torch

__all__ = ["on_entries", "on_rows"]

WORTH = 2**23
"""Numbers that a call must read for threads to pay: they start anew in every call, beside those of
torch, which wait for work in a busy loop."""
PIECES = 4
"""Stretches per thread, so that an uneven one does not keep the others waiting."""


def on_rows(
    kernel: Callable[..., Any], arguments: tuple[Any, ...], rows: list[tuple[int, int]], work: int
) -> None:
    """``kernel(*arguments, low, high)`` of every stretch; all together read ``work`` numbers."""
    threads = min(torch.get_num_threads(), len(rows))
    if threads <= 1 or work < WORTH:
        for one in rows:
            kernel(*arguments, *one)
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(kernel, *arguments, *one) for one in rows]:
            done.result()


def on_entries(
    kernel: Callable[..., Any], arguments: tuple[Any, ...], ptr: np.ndarray, width: int
) -> None:
    """The same for rows whose entries begin at ``ptr[i]`` and read ``width`` numbers each, in
    stretches with about as many entries each."""
    rows, entries, threads = len(ptr) - 1, int(ptr[-1]), torch.get_num_threads()
    if threads == 1 or entries * width < WORTH:
        kernel(*arguments, 0, rows)
        return
    cuts = np.searchsorted(ptr, np.linspace(0, entries, PIECES * threads + 1)[1:-1])
    bounds = np.unique(np.concatenate(([0], cuts, [rows])))
    each = [(int(a), int(b)) for a, b in pairwise(bounds)]
    on_rows(kernel, arguments, each, entries * width)
