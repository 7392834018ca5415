"""Sums over other rows of a batch: the second half of assembling a batch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ...errors import InputError
from ...nn.segments import Segments
from .graph_rows import INT, RowLayout, Rows
from .tables import Resident

__all__ = ["Entries", "EntryLayout", "check_numbers"]


@dataclass(frozen=True)
class Entries:
    """All entries of a batch, direction by direction: the target of each entry, the start of the
    entries of every row within their direction, and the number of each entry in the whole set."""

    column: Tensor
    ptr: Tensor
    source: Tensor


class EntryLayout:
    """Space for the entries of every direction, for all replicas together, and the constants to
    fill it.

    An entry of the whole set holds the rank of a row within its graph and group, and a *tag* for
    kind and group; in a batch it points at that rank plus the start of the graph's chunk. Every
    direction ends with one more row, which holds the padding.

    Args:
        room: number of entries of every direction.
    """

    def __init__(
        self, resident: Resident, rows: RowLayout, room: dict[str, int], replicas: int
    ) -> None:
        self.rows, self.replicas = rows, replicas
        self.device, directions = resident.components.device, resident.directions
        tags = self._lay_tags(dict.fromkeys(one.into for one in directions.values()))
        self.slice, self.span = {}, {}
        degree: list[Tensor] = []
        values: list[Tensor] = []
        tagged: list[Tensor] = []
        row: list[Tensor] = []
        base: list[Tensor] = []
        begins: list[Tensor] = []
        padding: list[int] = []
        rows_before, entries_before = 0, 0  # of earlier directions, in a batch
        degrees_before = 0  # of earlier directions, in the whole set
        for name, one in directions.items():
            size, taken = room[name], rows.slice[one.rows]
            count = taken.stop - taken.start
            degree += [one.degree, one.degree.new_zeros(1)]
            row += [torch.arange(taken.start, taken.stop), torch.zeros(1, dtype=torch.int64)]
            base += [torch.full((count,), degrees_before), torch.full((1,), -1)]
            begins.append(torch.full((count + 1,), entries_before))
            padding.append(rows_before + count)
            self.slice[name] = slice(rows_before, rows_before + count + 1)
            self.span[name] = slice(entries_before, entries_before + size)
            values.append(one.value)
            tagged.append(one.tag + tags[one.into])
            rows_before += count + 1
            entries_before += size
            degrees_before += resident.kinds[one.rows].rows + 1
        check_numbers(sum(map(len, values)))
        ends = torch.tensor([0, *map(len, values)]).cumsum(0).tolist()
        self.before = dict(zip(directions, ends, strict=False))
        self.weight = {n: one.weight for n, one in directions.items() if one.weight is not None}
        none = torch.zeros(1, dtype=torch.int64, device=self.device)
        every = torch.cat([*degree, none])
        first = every.cumsum(0) - every
        first[-1] = sum(map(len, values))
        self.degree, self.first = every.to(INT), first.to(INT)
        self.value, self.tag = (torch.cat([*part, none]).to(INT) for part in (values, tagged))
        self.row, bases = torch.cat(row).to(self.device), torch.cat(base)
        self.base = torch.where(bases < 0, len(every) - 1, bases).to(self.device, INT)
        self.real = (bases >= 0).to(self.device, INT)
        self.begin = torch.cat(begins).to(self.device, INT)
        self.total = entries_before
        self.number = torch.arange(entries_before, device=self.device, dtype=INT)
        self.padding = torch.tensor(padding, device=self.device)
        self.size = torch.tensor([room[name] for name in directions], device=self.device, dtype=INT)
        counts = torch.stack([one.counts for one in directions.values()], 1)
        self.counts = torch.cat([counts, torch.zeros_like(counts[:1])]).to(INT)

    def _lay_tags(self, kinds: dict[str, None]) -> dict[str, int]:
        """Start of every kind and group, without the offset of the graph's chunk. Returns the first
        tag of every kind."""
        first: dict[str, int] = {}
        group: list[int] = []
        start: list[int] = []
        stride: list[int] = []
        for kind in kinds:
            first[kind], at = len(group), 0
            for number, size in enumerate(self.rows.room[kind]):
                group.append(self.rows.group[kind] + number)
                start.append(at)
                stride.append(self.rows.height[kind])
                at += size
        self.tag_group = torch.tensor(group, device=self.device)
        starts, strides = (
            torch.tensor(values, device=self.device, dtype=INT) for values in (start, stride)
        )
        replica = torch.arange(self.replicas, device=self.device, dtype=INT)[:, None, None]
        self.tag_start = starts + replica * strides
        return first

    def fill(self, graphs: Tensor, rows: Rows) -> Entries:
        """The entries of the given graphs, int64 [R, B] with -1 for none."""
        start = rows.offset.transpose(1, 2)[..., self.tag_group] + self.tag_start
        start = torch.cat([start.flatten(0, 1), torch.zeros_like(start[0, :1])])
        at = (self.base + self.real * rows.source[self.row]).long()
        slot = rows.slot[self.row].index_fill_(0, self.padding, self.rows.spare)
        degree = self.degree[at]
        degree[self.padding] = self.size - self.counts[graphs].sum((0, 1), dtype=INT)
        ptr = degree.cumsum(0, dtype=INT) - degree
        row = torch.repeat_interleave(degree, output_size=self.total).long()
        source = ((self.first[at] - ptr)[row] + self.number).clamp(max=len(self.value) - 1).long()
        column = self.value[source] + start[slot[row], self.tag[source]]
        return Entries(column, ptr - self.begin, source)

    def sums(self, entries: Entries, name: str, back: str) -> Segments:
        """The sums of one direction, with another as their gradient."""
        parts = []
        for one in (name, back):
            parts += [entries.column[self.span[one]], entries.ptr[self.slice[one]]]
        if name not in self.weight:
            return Segments(*parts)
        return Segments(*parts, *(self._weights(entries, one) for one in (name, back)))

    def _weights(self, entries: Entries, name: str) -> Tensor:
        """Weights of the entries of a direction; those of padding are arbitrary."""
        weight, source = self.weight[name], entries.source[self.span[name]]
        return weight[(source - self.before[name]).clamp(0, len(weight) - 1)]


def check_numbers(count: int) -> None:
    """Raise if a set of graphs has more interactions than 32-bit integers can number."""
    if count >= 2**31:
        raise InputError(
            "The set of graphs has more interactions than can be numbered. Give fewer graphs, "
            "fewer layers, a smaller d or interactions='cross'."
        )
