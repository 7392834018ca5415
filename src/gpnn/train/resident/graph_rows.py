"""Sources of the rows of a batch: the first half of assembling a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from .tables import Resident

__all__ = ["INT", "Room", "RowLayout", "Rows", "group_of", "groups", "with_none"]

INT = torch.int32
Room = Mapping[str, tuple[int, ...]]
"""Number of rows by group, for every kind."""


def groups(room: Room, *kinds: str) -> Tensor:
    """(start, stop, group) of the rows of one or more kinds, concatenated, on the CPU."""
    out, at = [], 0
    for kind in kinds:
        for group, size in enumerate(room[kind]):
            if size:
                out.append((at, at + size, group))
            at += size
    return torch.tensor(out, dtype=torch.int64).view(-1, 3)


def group_of(room: Room, *kinds: str) -> Tensor:
    """The group of every row of one or more kinds, concatenated."""
    sizes = [torch.tensor(room[kind]) for kind in kinds]
    numbers = torch.cat([torch.arange(len(size)) for size in sizes])
    return numbers.repeat_interleave(torch.cat(sizes))


@dataclass(frozen=True)
class Rows:
    """The rows of a batch, kind by kind.

    Attributes:
        source: index of the row within its kind in the whole set; for padding, the number of rows
            of that kind.
        slot: replica · B + position of its graph in the batch, or R · B for padding.
        weight: 1, or 0 for padding.
        offset: rows of a group in earlier graphs of the replica, [R, groups, B].
    """

    source: Tensor
    slot: Tensor
    weight: Tensor
    offset: Tensor


class RowLayout:
    """Space for the rows of every batch, and the constants to fill it.

    The rows of a kind are sorted by replica, group and graph; padding follows in every group. A
    *chunk* holds the rows of one graph in one group. Chunks are contiguous, so the sources of all
    rows follow from the lengths of the chunks.

    Args:
        room: number of rows by group, for every kind.
        replicas, graphs: R and B.
    """

    def __init__(
        self,
        resident: Resident,
        room: Room,
        replicas: int,
        graphs: int,
        dtype: torch.dtype,
    ) -> None:
        self.room, self.spare = room, replicas * graphs
        self.height = {name: sum(rows) for name, rows in room.items()}
        kinds, device = resident.kinds, resident.components.device
        self.counts = with_none(torch.cat([kind.counts for kind in kinds.values()], 1))
        self.first = with_none(torch.cat([kind.first for kind in kinds.values()], 1))
        sizes = [size for name in kinds for size in room[name]]
        self.size = torch.tensor(sizes, device=device, dtype=INT)
        groups = len(sizes)
        number = torch.arange(replicas * groups * (graphs + 1), device=device)
        chunk = number.view(replicas, groups, graphs + 1)
        slot = torch.arange(self.spare, device=device).view(replicas, 1, graphs)
        slots = torch.full((replicas, groups, graphs + 1), self.spare, device=device)
        slots[:, :, :-1] = slot
        order, nowhere = [], []
        self.slice, self.group, row, group = {}, {}, 0, 0
        for name, kind in kinds.items():
            order.append(chunk[:, group : group + kind.groups].flatten())
            nowhere.append(torch.full((kind.groups,), kind.rows, device=device))
            high = replicas * self.height[name]
            self.slice[name], self.group[name] = slice(row, row + high), group
            row, group = row + high, group + kind.groups
        self.order = torch.cat(order)
        self.nowhere = torch.cat(nowhere).to(INT).view(1, -1, 1).expand(replicas, -1, 1)
        self.slot = slots.flatten()[self.order].to(INT)
        self.real = self.slot < self.spare
        self.weight = self.real.to(dtype)
        self.number = torch.arange(row, device=device, dtype=INT)

    def fill(self, graphs: Tensor) -> Rows:
        """The rows of the given graphs, int64 [R, B] with -1 for none."""
        counts = self.counts[graphs].transpose(1, 2)
        spare = self.size.unsqueeze(1) - counts.sum(2, keepdim=True, dtype=INT)
        length = torch.cat([counts, spare], 2).flatten()[self.order]
        first = torch.cat([self.first[graphs].transpose(1, 2), self.nowhere], 2)
        first = first.flatten()[self.order]
        lead = torch.where(self.real, first + length - length.cumsum(0, dtype=INT), first)
        chunk = torch.repeat_interleave(length, output_size=len(self.number)).long()
        source = lead[chunk] + self.number * self.real[chunk]
        offset = counts.cumsum(2, dtype=INT) - counts
        return Rows(source, self.slot[chunk], self.weight[chunk], offset)


def with_none(counts: Tensor) -> Tensor:
    """Append a row of zeros for the graph number -1."""
    return torch.cat([counts, torch.zeros_like(counts[:1])]).to(INT)
