"""How large the unions of lists get."""

from __future__ import annotations

import numpy as np

from ...graph.kernels._jit import jit

__all__ = ["union_sizes"]


@jit
def union_sizes(plan, times, ptr, member, block, kind, cost, kinds):
    """``(most, dearest)`` over batches of replicas of lists, [batches, R, B] with -1 for none.

    Replica r stands for ``times[r]`` equal ones. List g holds the things
    ``member[ptr[g]:ptr[g + 1]]``; the lists of a replica are united. A thing belongs to a block and
    has two costs, [things, 2]; a block belongs to a kind. ``most`` is the largest number of things
    by block that a replica has, ``dearest`` the largest costs by kind of all replicas of a batch
    together, [kinds, 2].
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
