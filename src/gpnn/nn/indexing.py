"""Converts an index with NumPy's semantics to numbers of graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

__all__ = ["graph_numbers"]


def graph_numbers(index: Any, count: int) -> NDArray[np.int64]:
    """Numbers of graphs, 0 to count - 1.

    Args:
        index: a slice, a boolean mask with one entry per graph, or integers, where negative ones
            count from the end; ``None`` for all.
    """
    if index is None:
        return np.arange(count)
    if isinstance(index, slice):
        return np.arange(count)[index]
    if hasattr(index, "detach"):
        index = index.detach().cpu().numpy()
    numbers = np.atleast_1d(np.asarray(index))
    if numbers.ndim != 1:
        raise InputError(f"Graphs are named by a list of numbers; got shape {numbers.shape}.")
    if numbers.dtype == np.bool_:
        if len(numbers) != count:
            raise InputError(
                f"A mask needs one entry per graph, {count:,} in all; got {len(numbers):,}."
            )
        return np.flatnonzero(numbers)
    if not numbers.size:
        return np.zeros(0, np.int64)
    if numbers.dtype.kind not in "iu":
        raise InputError(f"Graphs are named by whole numbers; got {numbers.ravel()[0]!r}.")
    wrong = numbers[(numbers < -count) | (numbers >= count)]
    if len(wrong):
        raise InputError(f"There is no graph {wrong[0]}: there are {count:,}, numbered from 0.")
    return np.where(numbers < 0, numbers + count, numbers).astype(np.int64)
