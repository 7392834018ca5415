"""Largest sizes of unions of lists."""

from __future__ import annotations

import numpy as np

from ...graph.kernels._jit import jit

__all__ = ["union_sizes"]


@jit
def union_sizes(plan, times, ptr, member, block, kind, cost, kinds):
    """``(most, dearest)`` over a plan of batches: lists by replica, [batches, R, B], -1 for none.

    Replica r stands for ``times[r]`` equal replicas. List g holds the items
    ``member[ptr[g]:ptr[g + 1]]``; the lists of a replica in a batch are united. An item belongs to
    a block and has two costs, [items, 2]; a block belongs to a kind. ``most`` is the largest number
    of items by block in one replica, ``dearest`` the largest sum of costs by kind over all
    replicas of a batch, [kinds, 2].
    """
    blocks = len(kind)
    most = np.zeros(blocks, np.int64)
    dearest = np.zeros((kinds, 2), np.int64)
    seen = np.zeros(len(block), np.int32)
    count = np.zeros(blocks, np.int64)
    spent = np.zeros((kinds, 2), np.int64)
    now = 0
    for step in range(plan.shape[0]):
        spent[:] = 0
        for r in range(plan.shape[1]):
            now += 1
            count[:] = 0
            for b in range(plan.shape[2]):
                g = plan[step, r, b]
                if g < 0:
                    continue
                for at in range(ptr[g], ptr[g + 1]):
                    thing = member[at]
                    if seen[thing] != now:
                        seen[thing] = now
                        own = block[thing]
                        count[own] += 1
                        spent[kind[own], 0] += times[r] * cost[thing, 0]
                        spent[kind[own], 1] += times[r] * cost[thing, 1]
            most = np.maximum(most, count)
        dearest = np.maximum(dearest, spent)
    return most, dearest
