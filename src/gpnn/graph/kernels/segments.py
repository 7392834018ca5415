"""Counting sorts that group (row, column) pairs into segments, for forward and backward sums."""

from __future__ import annotations

import numpy as np

from ._jit import jit

__all__ = ["group"]


@jit
def group(key, size):  # type: ignore[no-untyped-def]
    """``(order, ptr)``: positions of the entries with key k are ``order[ptr[k]:ptr[k+1]]``, in
    order of appearance."""
    ptr = np.zeros(size + 1, np.int64)
    for i in range(len(key)):
        ptr[key[i] + 1] += 1
    for k in range(size):
        ptr[k + 1] += ptr[k]
    fill = ptr[:-1].copy()
    order = np.empty(len(key), np.int64)
    for i in range(len(key)):
        order[fill[key[i]]] = i
        fill[key[i]] += 1
    return order, ptr
