"""Batches for many replicas, assembled on the device by index arithmetic.

The layout is fixed in advance: every kind of row has space for the largest batch of the plan, group
by group, and so has every list of entries. The remainder is padding with weight 0. All shapes are
static and nothing is read back, so that the work can be captured.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ...nn.batch import AlphaRound, CellBatch, CellRows, Edges, GraphBatch, PairRows
from ...nn.segments import Segments
from .capacity import Capacity
from .class_rows import Held, SharedLayout
from .class_sums import LinkLayout, Links
from .graph_rows import INT, RowLayout, Rows, group_of, groups
from .graph_sums import Entries, EntryLayout
from .tables import Resident, cell_kind

__all__ = ["Assembler"]


class Assembler:
    """Assembles batches of a set of graphs, within a capacity."""

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
        self.start, self.start_features, self.edge_label, self.edge_features = (
            _padded_or_none(values)
            for values in (
                resident.start,
                resident.start_features,
                resident.edge_label,
                resident.edge_features,
            )
        )
        self.walks, self.given = map(_padded_or_none, (resident.walks, resident.descriptors))

        for name, weight in self.entries.weight.items():
            self.entries.weight[name] = _padded(weight.to(dtype))
        self.cells = {
            kind: {name: _padded(values) for name, values in attributes.items()}
            for kind, attributes in resident.cells.items()
        }

    def batch(self, graphs: Tensor) -> GraphBatch:
        """The batch of the given graphs, integers [R, B], without labels. Where a replica has fewer
        than B graphs, its row ends with -1."""
        ids = graphs.long()
        rows = self.rows.fill(ids)
        entries = self.entries.fill(ids, rows)
        vertices = self._of("vertex", rows.source)
        neighbours = self._sums(entries, "neighbours", "neighbours")
        near = neighbours if self.shared is None else self._sums(entries, "near", "near")
        start, features, rounds = self._interactions(ids, rows)
        return GraphBatch(
            features=self.x[vertices].to(self.dtype),
            part=self.part,
            neighbours=neighbours,
            near=near,
            edges=self._edges(rows, entries),
            start=start,
            start_features=features,
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
            pairs=_pair_rows(near) if self.resident.pairwise else None,
            walks=None if self.walks is None else self.walks[vertices].to(self.dtype),
            descriptors=None if self.given is None else self.given[ids].to(self.dtype),
            cells=self._cells(rows, entries) if self.resident.relations else None,
        )

    def _interactions(
        self, ids: Tensor, rows: Rows
    ) -> tuple[Tensor, Tensor | None, tuple[AlphaRound, ...]]:
        """Start classes, their features, and rounds; empty for a base GNN alone."""
        if self.shared is None or self.links is None or self.start is None:
            return ids, None, ()
        shared_rows = self.shared.fill(ids)
        links = self.links.fill(rows, shared_rows)
        which = self._held("start", shared_rows.source)
        features = self.start_features
        given = None if features is None else features[which].to(self.dtype)
        rounds = tuple(self._round(k, shared_rows, links) for k in range(len(self.tables)))
        return self.start[which], given, rounds

    def _round(self, number: int, shared_rows: Held, links: Links) -> AlphaRound:
        assert self.links is not None
        part, rows = self.tables[number]
        previous, met, tuples, pairs = (
            self.links.sums(links, f"{name} {number + 1}")
            for name in ("previous", "met", "tuples", "pairs")
        )
        weight, tuple_weight = (
            self._held(f"{name} {number + 1}", shared_rows.weight).to(self.dtype)
            for name in ("class", "tuple")
        )
        own = self.links.each(links, f"pairs {number + 1}") if self.resident.pairwise else None
        return AlphaRound(previous, met, tuples, weight, tuple_weight, part, pairs, rows, own)

    def _edges(self, rows: Rows, entries: Entries) -> Edges | None:
        if "edge" not in self.resident.kinds:
            return None
        source = self._of("edge", rows.source)
        assert self.edge_label is not None
        floats = self.edge_features
        features = None if floats is None else floats[source].to(self.dtype)
        gather, collect = self._sums(entries, "gather"), self._sums(entries, "collect")
        return Edges(gather, collect, self.edge_label[source], features)

    def _cells(self, rows: Rows, entries: Entries) -> CellBatch:
        """The input of a peer."""
        cells = {}
        for kind, attributes in self.cells.items():
            places = cell_kind(kind)
            source, weight = (self._of(places, part) for part in (rows.source, rows.weight))
            own = {name: values[source] for name, values in attributes.items()}
            label, features = own.pop("label", None), own.pop("features", None)
            features = None if features is None else features.to(self.dtype)
            cells[kind] = CellRows(weight, source, label, features, own)
        sums = {
            name: self._sums(entries, f"peer {name}", back)
            for name, back in self.resident.relations.items()
        }
        return CellBatch(cells, sums)

    def _of(self, kind: str, values: Tensor) -> Tensor:
        """Values of the rows of a kind, [R, rows]."""
        return values[self.rows.slice[kind]].view(self.room.replicas, -1)

    def _held(self, kind: str, values: Tensor) -> Tensor:
        """Values of the rows of a kind of shared items, [R, rows]."""
        assert self.shared is not None
        return values[self.shared.slice[kind]].view(self.room.replicas, -1)

    def _sums(self, entries: Entries, name: str, back: str | None = None) -> Segments:
        return self.entries.sums(entries, name, back or f"{name} back")


def _pair_rows(near: Segments) -> PairRows:
    """The entries of Σ over N_d(v) as separate rows; padding comes last."""
    number = torch.arange(len(near.source), dtype=INT, device=near.source.device)
    real = number < near.ptr[-1]
    last = torch.iinfo(INT).max
    _, order = torch.where(real, near.source, last).sort(stable=True)
    row = torch.searchsorted(near.ptr, number, right=True, out_int32=True) - 1
    return PairRows.of(near, order.to(INT), row.clamp(max=len(near.ptr) - 2))


def _padded(values: Tensor) -> Tensor:
    """Append a row of zeros for padding."""
    return torch.cat([values, values.new_zeros(1, *values.shape[1:])])


def _padded_or_none(values: Tensor | None) -> Tensor | None:
    return None if values is None else _padded(values)
