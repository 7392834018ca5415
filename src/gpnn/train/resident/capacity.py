"""Capacity that batches need, determined before the first batch."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...errors import InputError
from ..kernels.largest_sums import largest_sums
from ..kernels.union_sizes import union_sizes
from .tables import Resident, Shared, cell_kind

__all__ = ["Capacity", "capacity"]

IntArray = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Capacity:
    """Capacity of a batch: rows by group of every kind, including shared kinds, per replica;
    entries of every direction and link, and members of all lists of shared items, summed over all
    replicas."""

    replicas: int
    graphs: int
    rows: dict[str, tuple[int, ...]]
    entries: dict[str, int]
    members: int = 0
    links: dict[str, int] = field(default_factory=dict)


def capacity(resident: Resident, plan: Tensor) -> Capacity:
    """The minimum capacity for all batches of a plan of graph numbers, -1 for none,
    [batches, R, B]; computed on the CPU."""
    replicas, size = plan.shape[-2:]
    batches, times = _distinct(plan.numpy())
    by_graph = {name: link.counts for name, link in resident.links.items()}
    of_links = {name: own for name, own in by_graph.items() if own is not None}
    sums = {name: one.counts for name, one in resident.directions.items()} | of_links
    if resident.shared is not None:
        sums["members"] = resident.shared.counts
    counts = torch.cat([kind.counts for kind in resident.kinds.values()], 1).numpy()
    entries = torch.stack(list(sums.values()), 1).numpy()
    most, dearest = _largest(lambda some: largest_sums(some, times, counts, entries), batches)
    bounds = np.cumsum([kind.groups for kind in resident.kinds.values()])[:-1]
    rows = {
        name: tuple(part.tolist())
        for name, part in zip(resident.kinds, np.split(most, bounds), strict=True)
    }
    for kind in resident.cells:  # kernels need at least one row; grids are whole squares or empty
        if not kind.startswith("grid "):
            name = cell_kind(kind)
            rows[name] = tuple(max(1, count) for count in rows[name])
    room = {name: max(1, n) for name, n in zip(sums, dearest.tolist(), strict=True)}
    members = room.pop("members", 0)
    links = {name: room.pop(name) for name in of_links}
    if resident.shared is not None:
        shared_rows, others = _shared_capacity(resident, resident.shared, batches, times)
        rows |= shared_rows
        links |= others
    total = sum(room.values()) + sum(links.values())
    if max(total, members) >= 2**31:
        raise InputError(
            f"A batch of {replicas} replicas has {total:,} entries, more than can be numbered. Use "
            "fewer replicas at once, smaller batches or a smaller d."
        )
    return Capacity(replicas, size, rows, room, members, links)


def _distinct(plan: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct batches of the replicas, and how many replicas share each of them: replicas of
    one fold are measured on the same graphs, replicas of one origin are also trained on the same.
    """
    alike: dict[bytes, list[int]] = {}
    for r in range(plan.shape[1]):
        alike.setdefault(plan[:, r].tobytes(), []).append(r)
    first = [same[0] for same in alike.values()]
    return plan.take(first, 1), np.array([len(same) for same in alike.values()])


def _largest(
    count: Callable[[IntArray], tuple[IntArray, IntArray]], plan: IntArray
) -> tuple[IntArray, IntArray]:
    """The maximum of both results over all batches, counted in several threads."""
    pieces = np.array_split(plan, min(16, os.cpu_count() or 1))
    with ThreadPoolExecutor(len(pieces)) as pool:
        most, dearest = zip(*pool.map(count, pieces), strict=True)
    return np.max(most, 0), np.max(dearest, 0)


def _shared_capacity(
    resident: Resident, shared: Shared, plan: IntArray, times: IntArray
) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """Rows by kind and group of shared items, and entries of their links."""
    sizes = [size for groups in shared.sizes.values() for size in groups]
    kinds = {kind: number for number, kind in enumerate(shared.sizes)}
    own = {name: link for name, link in resident.links.items() if link.counts is None}
    cost = np.zeros((shared.total, 2), np.int32)
    column: dict[str, tuple[int, int]] = {}
    for name, link in own.items():
        taken = sum(kind == kinds[link.rows] for kind, _ in column.values())
        cost[slice(*shared.range(link.rows)), taken] = link.degree.numpy()
        column[name] = kinds[link.rows], taken
    constants = (
        np.append(shared.first.numpy(), len(shared.member)),
        shared.member.numpy(),
        np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
        np.repeat(np.arange(len(kinds)), [len(groups) for groups in shared.sizes.values()]),
        cost,
        len(kinds),
    )
    most, dearest = _largest(lambda some: union_sizes(some, times, *constants), plan)
    bounds = np.cumsum([len(groups) for groups in shared.sizes.values()])[:-1]
    rows = {
        kind: tuple(part.tolist()) for kind, part in zip(kinds, np.split(most, bounds), strict=True)
    }
    return rows, {name: max(1, int(dearest[at])) for name, at in column.items()}
