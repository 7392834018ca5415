"""The room for batches is the least that holds every one of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpnn.graph.kernels.unions import union_sizes

THINGS = 7
BLOCK = np.array([0, 0, 0, 1, 1, 2, 2])
KIND = np.array([0, 0, 1])
COST = np.array([[1, 5], [1, 0], [1, 2], [1, 1], [1, 3], [2, 0], [2, 4]])


@given(
    lists=st.lists(st.sets(st.integers(0, THINGS - 1)), min_size=1, max_size=5),
    data=st.data(),
)
def test_union_sizes_are_those_of_sets(lists: list[set[int]], data: st.DataObject) -> None:
    batches, replicas, width = 3, 2, 3
    number = st.integers(-1, len(lists) - 1)
    flat = data.draw(st.lists(number, min_size=18, max_size=18))
    plan = np.array(flat).reshape(batches, replicas, width)
    ptr = np.concatenate([[0], np.cumsum([len(one) for one in lists])])
    member = np.array([thing for one in lists for thing in sorted(one)], np.int32)
    most, dearest = union_sizes(plan, ptr, member, BLOCK, KIND, COST, 2)
    counts, costs = [], []
    for batch in plan:
        unions = [set().union(*(lists[g] for g in row if g >= 0)) for row in batch]
        counts += [[sum(BLOCK[t] == b for t in one) for b in range(3)] for one in unions]
        each = [[t for one in unions for t in one if KIND[BLOCK[t]] == k] for k in range(2)]
        costs.append([COST[things].sum(0) for things in each])
    assert np.array_equal(most, np.max(counts, 0))
    assert np.array_equal(dearest, np.max(costs, 0))
