"""Runs kernels on ranges of rows, with as many threads as torch uses.

The last two arguments of a kernel are the first row and the row after the last. It writes only
these rows and releases the interpreter lock. Results do not depend on which thread writes a row.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

from ....graph.threads import balanced

__all__ = ["on_entries", "on_rows"]

WORTH = 2**23
"""Minimum number of values that a call must read for threads to pay off: they are started in every
call, in addition to torch's own threads, which busy-wait for work."""
PIECES = 4
"""Ranges per thread, so that an uneven one does not delay the others."""


def on_rows(
    kernel: Callable[..., Any], arguments: tuple[Any, ...], rows: list[tuple[int, int]], work: int
) -> None:
    """Call ``kernel(*arguments, low, high)`` for every range; all together read ``work`` values."""
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
    """The same for rows whose entries begin at ``ptr[i]`` and read ``width`` values each, in ranges
    with about equally many entries."""
    work, threads = int(ptr[-1]) * width, torch.get_num_threads()
    few = threads == 1 or work < WORTH
    rows = [(0, len(ptr) - 1)] if few else balanced(ptr, PIECES * threads)
    on_rows(kernel, arguments, rows, work)
