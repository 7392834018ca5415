"""The room for batches is the least that holds every one of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gpnn.train.kernels.largest_sums import largest_sums
from gpnn.train.kernels.union_sizes import union_sizes
from gpnn.train.replica import Replica
from gpnn.train.resident.capacity import capacity
from gpnn.train.setup import CPU, set_up
from train.sets import samples

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
    times = np.array([1, 3])
    most, dearest = union_sizes(plan, times, ptr, member, BLOCK, KIND, COST, 2)
    counts, costs = [], []
    for batch in plan:
        unions = [set().union(*(lists[g] for g in row if g >= 0)) for row in batch]
        counts += [[sum(BLOCK[t] == b for t in one) for b in range(3)] for one in unions]
        every = [t for one, n in zip(unions, times, strict=True) for t in list(one) * n]
        each = [[t for t in every if KIND[BLOCK[t]] == k] for k in range(2)]
        costs.append([COST[things].sum(0) for things in each])
    assert np.array_equal(most, np.max(counts, 0))
    assert np.array_equal(dearest, np.max(costs, 0))


def test_largest_sums_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    plan, times = rng.integers(-1, 6, (5, 3, 4)), np.array([1, 2, 5])
    rows, entries = rng.integers(0, 9, (6, 2)), rng.integers(0, 9, (6, 3))
    there = (plan >= 0)[..., None]
    most, dearest = largest_sums(plan, times, rows, entries)
    assert np.array_equal(most, (rows[plan] * there).sum(2).max((0, 1)))
    each = (entries[plan] * there).sum(2) * times[:, None]
    assert np.array_equal(dearest, each.sum(1).max(0))


@pytest.mark.parametrize("model", [{"interactions": "edges"}, {"base": "gin", "gpnn": False}])
def test_replicas_that_see_the_same_count_as_often_as_they_are_there(model: dict[str, str]) -> None:
    """The room of a batch is that of all its replicas, found here batch by batch."""
    setup = set_up(samples(), {"hidden": 4, "layers": 2, **model}, [Replica([0], [], [])])
    resident = setup.resident(CPU)
    some = torch.tensor([[0, 1, 2], [3, 4, -1], [5, 5, 6]], dtype=torch.int32)
    other = torch.tensor([[7, 8, -1], [9, 10, 11], [12, 13, 21]], dtype=torch.int32)
    found = capacity(resident, torch.stack([some, other, some, some], 1))
    alone = {id(plan): [capacity(resident, step[None, None]) for step in plan]
             for plan in (some, other)}  # fmt: skip
    pairs = list(zip(alone[id(some)], alone[id(other)], strict=True))
    assert found.replicas == 4
    for name, room in found.entries.items():
        assert room == max(3 * a.entries[name] + b.entries[name] for a, b in pairs)
    for name, room in found.links.items():
        assert room == max(3 * a.links[name] + b.links[name] for a, b in pairs)
    for name, groups in found.rows.items():
        assert groups == tuple(np.max([one.rows[name] for pair in pairs for one in pair], 0))
