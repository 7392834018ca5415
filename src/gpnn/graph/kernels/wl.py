"""1-WL, graph by graph until the partition is stable."""

from __future__ import annotations

import numpy as np

from ._jit import jit
from .colour_hash import NEIGHBOUR, OWN, bag, copy_rows, count_classes, table_size, words
from .hashing import chain
from .record import close_record, note, open_record, seal

__all__ = ["wl"]


@jit
def wl(ptr, indptr, indices, start, labels, rounds, most):  # type: ignore[no-untyped-def]
    """γ_v ← hash(γ_v, {{(label of vu, γ_u) : u ∈ N(v)}}), starting from ``start`` ([n, 2]).

    ``labels`` holds random words of the label of every CSR entry, or is empty. ``rounds``, ``most``
    and the result are as in ``record``.
    """
    record, widest = open_record(ptr)
    gamma_space = np.empty((widest, 2), np.uint64)
    word = np.empty((widest, 2), np.uint64)
    table = np.empty(table_size(widest), np.int64)
    for g in range(len(ptr) - 1):
        base = ptr[g]
        n = ptr[g + 1] - base
        gamma = gamma_space[:n]
        copy_rows(start[base:], n, gamma, 0)
        r = 0
        while True:
            classes = count_classes(gamma, table)
            record, more = note(record, g, r, gamma, bag(gamma), classes, rounds, most)
            if not more:
                break
            r += 1
            words(gamma, NEIGHBOUR, word)
            for v in range(n):
                low = np.uint64(0)
                high = np.uint64(0)
                for at in range(indptr[base + v], indptr[base + v + 1]):
                    u = indices[at] - base
                    if len(labels) > 0:
                        low += word[u, 0] * labels[at, 0]
                        high += word[u, 1] * labels[at, 1]
                    else:
                        low += word[u, 0]
                        high += word[u, 1]
                gamma[v, 0], gamma[v, 1] = chain(gamma[v, 0], gamma[v, 1], low, high, OWN)
        seal(record, g, rounds, (np.uint64(0), np.uint64(0)))
    return close_record(record)
