"""Batches for many replicas, put together on the device by index arithmetic.

The layout is fixed beforehand: every kind of row has room for the fullest batch that will ever be
asked for, group by group, and so has every list of entries. What is left over is padding of weight
0. All shapes are static and nothing is read back, so that the work can be captured.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from ...graph.kernels.unions import union_sizes
from ...nn.batch import AlphaRound, Edges, GraphBatch
from ...nn.segments import Segments
from .entries import Entries, EntryLayout
from .flat import Resident, Shared
from .links import LinkLayout, Links
from .rows import RowLayout, Rows, group_of, groups, with_none
from .shared import Held, SharedLayout

__all__ = ["Assembler", "Capacity", "capacity"]

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
    names = [name for name, link in resident.links.items() if link.counts is not None]
    sums = [one.counts for one in resident.directions.values()]
    sums += [link.counts for link in resident.links.values() if link.counts is not None]
    sums += [] if resident.shared is None else [resident.shared.counts]
    entries = with_none(torch.stack(sums, 1))
    most_rows, most_entries = counts[-1].long(), entries[-1].long()
    width = max(1, replicas * size * max(counts.shape[1], entries.shape[1]))
    for batch in plan.split(max(1, AT_ONCE // width)):
        most_rows = torch.maximum(most_rows, counts[batch].sum(2).amax((0, 1)))
        most_entries = torch.maximum(most_entries, entries[batch].sum((1, 2)).amax(0))
    rows, at = {}, 0
    for name, kind in resident.kinds.items():
        rows[name] = tuple(most_rows[at : at + kind.groups].tolist())
        at += kind.groups
    named = [*resident.directions, *names, "members"]
    room = dict(zip(named, [max(1, n) for n in most_entries.tolist()], strict=False))
    members = room.pop("members", 0)
    links = {name: room.pop(name) for name in names}
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
    totals = [sum(groups) for groups in shared.sizes.values()]
    own = {name: link for name, link in resident.links.items() if link.counts is None}
    cost = np.zeros((shared.total, 2), np.int64)
    column: dict[str, tuple[int, int]] = {}
    for name, link in own.items():
        taken = sum(kind == kinds[link.rows] for kind, _ in column.values())
        cost[slice(*shared.range(link.rows)), taken] = link.degree.cpu().numpy()
        column[name] = kinds[link.rows], taken
    constants = (
        np.append(shared.first.cpu().numpy(), len(shared.member)),
        shared.member.cpu().numpy(),
        np.repeat(np.arange(len(sizes)), sizes),
        np.repeat(np.arange(len(kinds)), totals),
        cost,
        len(sizes),
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


class Assembler:
    """Puts batches of a set of graphs together, within a capacity."""

    def __init__(self, resident: Resident, room: Capacity, dtype: torch.dtype) -> None:
        self.resident, self.room, self.dtype = resident, room, dtype
        device, replicas = resident.components.device, room.replicas
        self.rows = RowLayout(resident, room.rows, replicas, room.graphs, dtype)
        self.entries = EntryLayout(resident, self.rows, room.entries, replicas)
        self.part = group_of(room.rows, "vertex").to(device)
        self.groups = groups(room.rows, "vertex")
        self.shared = self.links = None
        if resident.shared is not None:
            self.shared = SharedLayout(resident.shared, room.rows, room.members, replicas)
            self.links = LinkLayout(resident, self.rows, self.shared, room.links, replicas)
        tables = [(f"class {number}", "start") for number in range(1, resident.rounds + 1)]
        self.tables = [
            (group_of(room.rows, *kinds).to(device), groups(room.rows, *kinds)) for kinds in tables
        ]
        self.x, self.components = _padded(resident.x), _padded(resident.components)
        self.vertices = _padded(resident.kinds["vertex"].counts.sum(1).to(dtype))
        self.start = None if resident.start is None else _padded(resident.start)
        self.edge_label = None if resident.edge_label is None else _padded(resident.edge_label)

    def batch(self, graphs: Tensor) -> GraphBatch:
        """The batch of the given graphs, whole numbers [R, B]; labels apart. Where a replica has
        fewer than B graphs, its row ends with -1."""
        ids = graphs.long()
        rows = self.rows.fill(ids)
        entries = self.entries.fill(ids, rows)
        vertices = self._of("vertex", rows.source)
        neighbours = self._sums(entries, "neighbours", "neighbours")
        near = neighbours if self.shared is None else self._sums(entries, "near", "near")
        start, rounds = self._interactions(ids, rows)
        return GraphBatch(
            x=self.x[vertices].to(self.dtype),
            part=self.part,
            neighbours=neighbours,
            near=near,
            edges=self._edges(rows, entries),
            start=start,
            start_features=None,
            rounds=rounds,
            readout=self._sums(entries, "readout"),
            components=self.components[ids],
            order=self._sums(entries, "order") if "order" in self.resident.directions else None,
            vertices=self.vertices[ids].unsqueeze(2),
            y=None,
            vertex_weight=self._of("vertex", rows.weight),
            graph_weight=self._of("graph", rows.weight),
            vertex_id=vertices,
            graph_id=ids,
            groups=self.groups,
        )

    def _interactions(self, ids: Tensor, rows: Rows) -> tuple[Tensor, tuple[AlphaRound, ...]]:
        """Start classes and rounds; none where the base GNN is alone."""
        if self.shared is None or self.links is None or self.start is None:
            return ids, ()
        held = self.shared.fill(ids)
        links = self.links.fill(rows, held)
        start = self.start[self._held("start", held.source)]
        return start, tuple(self._round(k, held, links) for k in range(len(self.tables)))

    def _round(self, number: int, held: Held, links: Links) -> AlphaRound:
        assert self.links is not None
        part, rows = self.tables[number]
        previous, met, tuples, pairs = (
            self.links.sums(links, f"{name} {number + 1}")
            for name in ("previous", "met", "tuples", "pairs")
        )
        weight, tuple_weight = (
            self._held(f"{name} {number + 1}", held.weight).to(self.dtype)
            for name in ("class", "tuple")
        )
        return AlphaRound(previous, met, tuples, weight, tuple_weight, part, pairs, rows)

    def _edges(self, rows: Rows, entries: Entries) -> Edges | None:
        if "edge" not in self.resident.kinds:
            return None
        source = self._of("edge", rows.source)
        label = torch.zeros_like(source) if self.edge_label is None else self.edge_label[source]
        return Edges(self._sums(entries, "gather"), self._sums(entries, "collect"), label, None)

    def _of(self, kind: str, values: Tensor) -> Tensor:
        """Values of the rows of a kind, [R, rows]."""
        return values[self.rows.slice[kind]].view(self.room.replicas, -1)

    def _held(self, kind: str, values: Tensor) -> Tensor:
        """Values of the rows of a kind of shared things, [R, rows]."""
        assert self.shared is not None
        return values[self.shared.slice[kind]].view(self.room.replicas, -1)

    def _sums(self, entries: Entries, name: str, back: str | None = None) -> Segments:
        return self.entries.sums(entries, name, back or f"{name} back")


def _padded(values: Tensor) -> Tensor:
    """With a last row of zeros, for padding."""
    return torch.cat([values, torch.zeros_like(values[:1])])
