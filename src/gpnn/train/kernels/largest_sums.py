"""Largest sums over batches."""

from __future__ import annotations

import numpy as np

from ...graph.kernels._jit import jit

__all__ = ["largest_sums"]


@jit
def largest_sums(plan, times, rows, entries):
    """``(most, dearest)`` over a plan of batches: graphs by replica, [batches, R, B], -1 for none.

    Replica r stands for ``times[r]`` equal replicas. ``most`` is the largest sum of ``rows``
    [graphs, m] over the graphs of one replica in a batch, column by column; ``dearest`` is the
    largest sum of ``entries`` [graphs, k] over the graphs of all replicas in a batch.
    """
    most = np.zeros(rows.shape[1], np.int64)
    dearest = np.zeros(entries.shape[1], np.int64)
    count = np.zeros(rows.shape[1], np.int64)
    spent = np.zeros(entries.shape[1], np.int64)
    for step in range(plan.shape[0]):
        spent[:] = 0
        for r in range(plan.shape[1]):
            count[:] = 0
            for b in range(plan.shape[2]):
                g = plan[step, r, b]
                if g < 0:
                    continue
                for m in range(len(count)):
                    count[m] += rows[g, m]
                for k in range(len(spent)):
                    spent[k] += times[r] * entries[g, k]
            most = np.maximum(most, count)
        dearest = np.maximum(dearest, spent)
    return most, dearest
