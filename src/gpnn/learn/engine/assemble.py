"""Batches for many replicas, put together on the device by index arithmetic.

The layout is fixed beforehand: every kind of row has room for the fullest batch that will ever be
asked for, group by group, and so has every list of entries. What is left over is padding of weight
0. All shapes are static and nothing is read back, so that the work can be captured.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ...errors import InputError
from ...nn.batch import AlphaRound, Edges, GraphBatch
from ...nn.segments import Segments
from .entries import Entries, EntryLayout
from .flat import Resident
from .rows import RowLayout, Rows

__all__ = ["Assembler", "Capacity", "capacity"]

AT_ONCE = 2**25
"""Numbers that are looked at together."""


@dataclass(frozen=True)
class Capacity:
    """Room of a batch: rows by group of every kind, and entries of every direction, those of all
    replicas together."""

    replicas: int
    graphs: int
    rows: dict[str, tuple[int, ...]]
    entries: tuple[int, ...]


def capacity(resident: Resident, plan: Tensor) -> Capacity:
    """The least room for every batch of a plan of graph numbers, -1 for none, [batches, R, B]."""
    replicas, size = plan.shape[-2:]
    counts = torch.cat([kind.counts for kind in resident.kinds.values()], 1)
    entries = torch.stack([one.counts for one in resident.directions.values()], 1)
    counts, entries = (torch.cat([part, torch.zeros_like(part[:1])]) for part in (counts, entries))
    most_rows, most_entries = counts[-1], entries[-1]
    width = max(1, replicas * size * max(counts.shape[1], entries.shape[1]))
    for batch in plan.long().to(counts.device).split(max(1, AT_ONCE // width)):
        most_rows = torch.maximum(most_rows, counts[batch].sum(2).amax((0, 1)))
        most_entries = torch.maximum(most_entries, entries[batch].sum((1, 2)).amax(0))
    rows, at = {}, 0
    for name, kind in resident.kinds.items():
        rows[name] = tuple(most_rows[at : at + kind.groups].tolist())
        at += kind.groups
    if int(most_entries.sum()) >= 2**31:
        raise InputError(
            f"A batch of {replicas} replicas has {int(most_entries.sum()):,} entries, more than "
            "can be numbered. Use fewer replicas at once, smaller batches or a smaller d."
        )
    return Capacity(replicas, size, rows, tuple(max(1, n) for n in most_entries.tolist()))


class Assembler:
    """Puts batches of a set of graphs together, within a capacity."""

    def __init__(self, resident: Resident, room: Capacity, dtype: torch.dtype) -> None:
        self.resident, self.room, self.dtype = resident, room, dtype
        self.rows = RowLayout(resident, room.rows, room.replicas, room.graphs, dtype)
        self.entries = EntryLayout(resident, self.rows, room.entries, room.replicas, dtype)
        self.part, self.groups = self.rows.group_of("vertex"), self.rows.groups("vertex")
        tables = [(f"class {number}", "start") for number in range(1, resident.rounds + 1)]
        self.tables = [(self.rows.group_of(*kinds), self.rows.groups(*kinds)) for kinds in tables]
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
        return GraphBatch(
            x=self.x[vertices].to(self.dtype),
            part=self.part,
            neighbours=neighbours,
            near=self._sums(entries, "near", "near") if self.tables else neighbours,
            edges=self._edges(rows, entries),
            start=ids if self.start is None else self.start[self._of("start", rows.source)],
            start_features=None,
            rounds=tuple(self._round(number, rows, entries) for number in range(len(self.tables))),
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

    def _round(self, number: int, rows: Rows, entries: Entries) -> AlphaRound:
        part, groups = self.tables[number]
        name = number + 1
        return AlphaRound(
            previous=self._sums(entries, f"previous {name}"),
            met=self._sums(entries, f"met {name}"),
            tuples=self._sums(entries, f"tuples {name}"),
            weight=self._of(f"class {name}", rows.weight),
            tuple_weight=self._of(f"tuple {name}", rows.weight),
            part=part,
            pairs=self._sums(entries, f"pairs {name}"),
            groups=groups,
        )

    def _edges(self, rows: Rows, entries: Entries) -> Edges | None:
        if "edge" not in self.resident.kinds:
            return None
        source = self._of("edge", rows.source)
        label = torch.zeros_like(source) if self.edge_label is None else self.edge_label[source]
        return Edges(self._sums(entries, "gather"), self._sums(entries, "collect"), label, None)

    def _of(self, kind: str, values: Tensor) -> Tensor:
        """Values of the rows of a kind, [R, rows]."""
        return values[self.rows.slice[kind]].view(self.room.replicas, -1)

    def _sums(self, entries: Entries, name: str, back: str | None = None) -> Segments:
        return self.entries.sums(entries, name, back or f"{name} back")


def _padded(values: Tensor) -> Tensor:
    """With a last row of zeros, for padding."""
    return torch.cat([values, torch.zeros_like(values[:1])])
