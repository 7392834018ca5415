"""Consecutive numbers for the keys that distinguish classes and tuples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .threads import on_spans, spans

__all__ = ["number_keys"]

BUCKET = 2**13
"""Approximate number of keys per bucket, so that the table of a bucket fits in the cache."""
MOST = 2**11
"""Maximum number of buckets; a core cannot write to more places at once efficiently."""


def number_keys(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number keys in order of first appearance. Returns the number of every key, [n], and the
    position of each first occurrence, [numbers]; keys are rows of 64-bit words, [n, words]."""
    from .kernels import numbering as loops

    n = len(keys)
    bits = max(1, int(np.clip(n // BUCKET, 1, MOST)).bit_length())
    shift = np.uint64(64 - bits)
    stretches = spans(np.arange(n + 1))
    counts = np.zeros((len(stretches), 1 << bits), np.int64)
    numbered = {one: row for row, one in enumerate(stretches)}
    on_spans(lambda a, b: loops.bucket_counts(keys, a, b, shift, counts[numbered[a, b]]), stretches)
    ends = np.cumsum(counts.T.ravel())
    at = np.ascontiguousarray((ends - counts.T.ravel()).reshape(-1, len(stretches)).T)
    bounds = np.concatenate(([0], ends[len(stretches) - 1 :: len(stretches)]))
    place, dealt = np.empty(n, np.int32), np.empty_like(keys)
    on_spans(
        lambda a, b: loops.deal(keys, a, b, shift, at[numbered[a, b]], place, dealt), stretches
    )
    first = np.empty(n, np.int32)

    def buckets(low: int, high: int) -> None:
        for b in range(low, high):
            loops.first_of_bucket(place, dealt, bounds[b], bounds[b + 1], first)

    on_spans(buckets, spans(bounds))
    places: NDArray[np.int64] = loops.number_firsts(first)
    return first, places
