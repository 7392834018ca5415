"""Let the process keep freed memory while it trains on a CPU."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

__all__ = ["keep_freed_memory"]

TRIM_THRESHOLD, MMAP_THRESHOLD, MMAP_MAX = -1, -3, -4
"""Numbers of glibc's options, from ``malloc.h``."""
KEPT, LARGEST = 2**29, 2**25


@cache
def keep_freed_memory(all_of_it: bool = False) -> None:
    """Let glibc keep up to 512 MiB of the memory that a step has freed, or all of it, for the next.

    By default glibc returns freed memory to the system at once. Allocating it again page by page
    takes up to a quarter of a step of several replicas, and half of a step on a graph of a million
    edges, whose arrays are too large for the limit. Keeping all of it may take twice the memory
    that a step needs. With other C libraries this does nothing.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    if all_of_it:
        mallopt(TRIM_THRESHOLD, -1)
        mallopt(MMAP_MAX, 0)
    else:
        mallopt(TRIM_THRESHOLD, KEPT)
        mallopt(MMAP_THRESHOLD, LARGEST)
