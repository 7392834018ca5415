"""How much room batches need, settled before the first."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from ...graph.kernels.unions import union_sizes
from .flat import Resident, Shared
from .rows import with_none

__all__ = ["Capacity", "capacity"]

AT_ONCE = 2**25
"""Numbers that are looked at together."""


@dataclass(frozen=True)
class Capacity:
    """Room of a batch: rows by group of every kind, shared ones too; entries of every direction
    and link and members of all lists of shared things, those of all replicas together."""

    replicas: int
    graphs: int
    rows: dict[str, tuple[int, ...]]
    entries: dict[str, int]
    members: int = 0
    links: dict[str, int] = field(default_factory=dict)


def capacity(resident: Resident, plan: Tensor) -> Capacity:
    """The least room for every batch of a plan of graph numbers, -1 for none, [batches, R, B]."""
    replicas, size = plan.shape[-2:]
    plan = plan.long().to(resident.components.device)
    counts = with_none(torch.cat([kind.counts for kind in resident.kinds.values()], 1))
    by_graph = {name: link.counts for name, link in resident.links.items()}
    of_links = {name: own for name, own in by_graph.items() if own is not None}
    sums = {name: one.counts for name, one in resident.directions.items()} | of_links
    if resident.shared is not None:
        sums["members"] = resident.shared.counts
    entries = with_none(torch.stack(list(sums.values()), 1))
    most_rows, most_entries = counts[-1].long(), entries[-1].long()
    width = max(1, replicas * size * max(counts.shape[1], entries.shape[1]))
    for batch in plan.split(max(1, AT_ONCE // width)):
        most_rows = torch.maximum(most_rows, counts[batch].sum(2).amax((0, 1)))
        most_entries = torch.maximum(most_entries, entries[batch].sum((1, 2)).amax(0))
    rows, at = {}, 0
    for name, kind in resident.kinds.items():
        rows[name] = tuple(most_rows[at : at + kind.groups].tolist())
        at += kind.groups
    room = {name: max(1, n) for name, n in zip(sums, most_entries.tolist(), strict=True)}
    members = room.pop("members", 0)
    links = {name: room.pop(name) for name in of_links}
    if resident.shared is not None:
        held, others = _shared_capacity(resident, resident.shared, plan)
        rows |= held
        links |= others
    total = sum(room.values()) + sum(links.values())
    if max(total, members) >= 2**31:
        raise InputError(
            f"A batch of {replicas} replicas has {total:,} entries, more than can be numbered. Use "
            "fewer replicas at once, smaller batches or a smaller d."
        )
    return Capacity(replicas, size, rows, room, members, links)


def _shared_capacity(
    resident: Resident, shared: Shared, plan: Tensor
) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """Rows by kind and group of shared things, and entries of the links they have."""
    sizes = [size for groups in shared.sizes.values() for size in groups]
    kinds = {kind: number for number, kind in enumerate(shared.sizes)}
    own = {name: link for name, link in resident.links.items() if link.counts is None}
    cost = np.zeros((shared.total, 2), np.int32)
    column: dict[str, tuple[int, int]] = {}
    for name, link in own.items():
        taken = sum(kind == kinds[link.rows] for kind, _ in column.values())
        cost[slice(*shared.range(link.rows)), taken] = link.degree.cpu().numpy()
        column[name] = kinds[link.rows], taken
    constants = (
        np.append(shared.first.cpu().numpy(), len(shared.member)),
        shared.member.cpu().numpy(),
        np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
        np.repeat(np.arange(len(kinds)), [len(groups) for groups in shared.sizes.values()]),
        cost,
        len(kinds),
    )
    pieces = np.array_split(plan.cpu().numpy(), min(16, os.cpu_count() or 1))
    with ThreadPoolExecutor(len(pieces)) as pool:
        found = list(pool.map(lambda piece: union_sizes(piece, *constants), pieces))
    most, dearest = (np.max(part, 0) for part in zip(*found, strict=True))
    bounds = np.cumsum([len(groups) for groups in shared.sizes.values()])[:-1]
    rows = {
        kind: tuple(part.tolist()) for kind, part in zip(kinds, np.split(most, bounds), strict=True)
    }
    return rows, {name: max(1, int(dearest[at])) for name, at in column.items()}
