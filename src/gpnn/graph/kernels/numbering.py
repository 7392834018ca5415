"""Numbering of distinct keys in order of first appearance, without sorting all keys.

Keys are distributed into buckets by a few bits of their hash, span by span. Every bucket is small
enough for a hash table that fits in the cache. A final pass numbers the first occurrences.
"""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .colour_hash import table_size
from .hashing import mix

__all__ = ["bucket_counts", "deal", "first_of_bucket", "number_firsts"]


@jit
def _hash(keys, i):  # type: ignore[no-untyped-def]
    total = np.uint64(0)
    for lane in range(keys.shape[1]):
        total = mix(total + keys[i, lane] + np.uint64(0x9E3779B97F4A7C15))
    return total


@jit
def bucket_counts(keys, low, high, shift, counts):  # type: ignore[no-untyped-def]
    """Count the keys ``low:high`` in every bucket, which is the hash shifted right by ``shift``."""
    for i in range(low, high):
        counts[_hash(keys, i) >> shift] += 1


@jit
def deal(keys, low, high, shift, at, place, dealt):  # type: ignore[no-untyped-def]
    """Copy keys ``low:high`` and their positions to their buckets, at the offsets ``at``."""
    for i in range(low, high):
        bucket = _hash(keys, i) >> shift
        k = at[bucket]
        at[bucket] += 1
        place[k] = i
        for lane in range(keys.shape[1]):
            dealt[k, lane] = keys[i, lane]


@jit
def first_of_bucket(place, dealt, low, high, first):  # type: ignore[no-untyped-def]
    """The position of the first equal key for every key of a bucket, in ascending order."""
    slots = np.full(table_size(high - low), -1, np.int64)
    mask = np.uint64(len(slots) - 1)
    lanes = dealt.shape[1]
    for k in range(low, high):
        at = _hash(dealt, k) & mask
        while True:
            other = slots[at]
            if other < 0:
                slots[at] = k
                first[place[k]] = place[k]
                break
            same = True
            for lane in range(lanes):
                same &= dealt[other, lane] == dealt[k, lane]
            if same:
                first[place[k]] = place[other]
                break
            at = (at + np.uint64(1)) & mask


@jit
def number_firsts(first):  # type: ignore[no-untyped-def]
    """Replace ``first`` by the number of every key; returns the first position of each number."""
    count = 0
    for i in range(len(first)):
        count += first[i] == i
    places = np.empty(count, np.int64)
    count = 0
    for i in range(len(first)):
        if first[i] == i:
            places[count] = i
            first[i] = count
            count += 1
        else:
            first[i] = first[first[i]]
    return places
