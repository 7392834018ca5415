"""The shared items of a batch: start classes, classes and tuples, each once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .graph_rows import INT, Room, with_none
from .tables import Shared

__all__ = ["Held", "SharedLayout"]


@dataclass(frozen=True)
class Held:
    """The shared items of a batch.

    Attributes:
        source: index, within its kind, of the item in every row, ordered by kind and replica; for
            padding, the number of items of the kind.
        weight: multiplicity of the item in the batch, 0 for padding, in the same order.
        place: the row, within replica and kind, of every item that occurs, [R · items].
    """

    source: Tensor
    weight: Tensor
    place: Tensor


class SharedLayout:
    """Space for the shared items of every batch, and the constants to fill it.

    The lists of the graphs of a batch are counted together, item by item; the items that occur get
    rows in the order of their numbers, group by group.

    Args:
        room: number of rows by group, for every kind.
        members: total length of all lists of a batch.
        replicas: R.
    """

    def __init__(self, shared: Shared, room: Room, members: int, replicas: int) -> None:
        self.members, self.replicas, self.things = members, replicas, shared.total
        self.height = {kind: sum(room[kind]) for kind in shared.sizes}
        self.counts, self.first = with_none(shared.counts), with_none(shared.first)
        self.member, self.times = with_none(shared.member), with_none(shared.times)
        device = shared.counts.device
        every = torch.tensor([size for sizes in shared.sizes.values() for size in sizes])
        self.slice: dict[str, slice] = {}
        starts: list[Tensor] = []
        columns: list[Tensor] = []
        groups_before, rows_before, things_before = 0, 0, 0  # of earlier kinds
        for kind, sizes in shared.sizes.items():
            rooms = torch.tensor(room[kind])
            first = rooms.cumsum(0) - rooms
            group = torch.arange(len(sizes)).repeat_interleave(rooms)
            rank = torch.arange(len(group)) - first[group]
            replica = torch.arange(replicas).repeat_interleave(len(group))
            seat = replica * len(every) + (groups_before + group).repeat(replicas)
            none = torch.full_like(seat, sum(sizes))
            lows = things_before + replica * self.things
            columns.append(torch.stack([seat, rank.repeat(replicas), lows, none]))
            starts.append(first)
            self.slice[kind] = slice(rows_before, rows_before + len(seat))
            groups_before += len(sizes)
            rows_before += len(seat)
            things_before += sum(sizes)
        self.start = torch.cat(starts).to(device, INT)
        self.seat, rank, self.low, self.none = torch.cat(columns, 1).to(device)
        self.rank = rank.to(INT)
        self.block = torch.arange(len(every)).repeat_interleave(every).to(device)
        edges = torch.cat([torch.zeros(1, dtype=torch.int64), every.cumsum(0)])
        self.edges = (torch.arange(replicas).unsqueeze(1) * self.things + edges).to(device)
        self.number = torch.arange(members, device=device, dtype=INT)

    def fill(self, graphs: Tensor) -> Held:
        """The shared items of the given graphs, int64 [R, B] with -1 for none."""
        times = self._count(graphs)
        before = torch.zeros(len(times) + 1, dtype=INT, device=times.device)
        torch.cumsum(times > 0, 0, dtype=INT, out=before[1:])
        edges = before[self.edges]
        first, count = edges[:, :-1], edges.diff()
        there = self.rank < count.flatten()[self.seat]
        wanted = first.flatten()[self.seat] + self.rank + 1
        index = torch.searchsorted(before[1:], wanted).clamp(max=len(times) - 1)
        source = torch.where(there, index - self.low, self.none)
        place = before[:-1].view(self.replicas, -1) + (self.start - first)[:, self.block]
        return Held(source, times[index] * there, place.flatten())

    def _count(self, graphs: Tensor) -> Tensor:
        """Multiplicity of every item in the graphs of every replica, [R · items]; integers, so that
        the sum does not depend on the order."""
        length = self.counts[graphs].flatten()
        ends = length.cumsum(0, dtype=INT)
        spare = self.members - ends[-1:]
        chunk = torch.repeat_interleave(torch.cat([length, spare]), output_size=self.members).long()
        lead = torch.cat([self.first[graphs].flatten() - ends + length, torch.zeros_like(spare)])
        none = len(self.member) - 1
        source = torch.where(chunk < len(length), lead[chunk] + self.number, none).long()
        key = chunk // graphs.shape[1] * self.things + self.member[source]
        total = torch.zeros(self.replicas * self.things + 1, dtype=INT, device=graphs.device)
        return total.index_add_(0, key, self.times[source])[:-1]
