"""What the rows of a batch sum: the second half of putting a batch together."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ...errors import InputError
from ...nn.segments import Segments
from .flat import Direction, Resident, Space
from .rows import INT, RowLayout, Rows

__all__ = ["Entries", "EntryLayout"]


@dataclass(frozen=True)
class Entries:
    """All entries of a batch, direction after direction: what each points at, where it was found
    in the whole set, and where the entries of every row begin within their direction."""

    column: Tensor
    found: Tensor
    ptr: Tensor


class EntryLayout:
    """Room for the entries of every direction, all replicas together, and the constants to fill it.

    An entry of the whole set holds the rank of a row within its graph and group, and a *tag* that
    names kind and group; in a batch it points at that rank plus the place of the graph's chunk.
    Every direction ends with one more row, which takes the padding.

    Args:
        room: entries of every direction.
    """

    def __init__(
        self,
        resident: Resident,
        rows: RowLayout,
        room: tuple[int, ...],
        replicas: int,
        dtype: torch.dtype,
    ) -> None:
        self.rows, self.directions = rows, resident.directions
        self.device, self.replicas = resident.components.device, replicas
        tags = self._lay_tags()
        self.slice, self.span, self.weights = {}, {}, {}
        degree: list[Tensor] = []
        values: list[Tensor] = []
        tagged: list[Tensor] = []
        row: list[Tensor] = []
        base: list[Tensor] = []
        fold: list[Tensor] = []
        begins: list[Tensor] = []
        padding: list[int] = []
        at = entry = known = block = 0
        for (name, one), size in zip(self.directions.items(), room, strict=True):
            for own in self._degrees(resident, one):
                degree += [own, own.new_zeros(one.rows.fold)]
            rows_of, bases_of = self._seats(resident, one.rows, block)
            block += sum(resident.kinds[kind].rows + 1 for kind in one.rows.kinds) * one.rows.fold
            count = len(rows_of)
            row += [rows_of, rows_of.new_zeros(1)]
            base += [bases_of, bases_of.new_full((1,), -1)]
            fold += [torch.full_like(rows_of, one.rows.fold), rows_of.new_zeros(1)]
            begins.append(torch.full((count + 1,), entry, device=self.device))
            padding.append(at + count)
            self.slice[name] = slice(at, at + count + 1)
            self.span[name] = slice(entry, entry + size)
            if one.weight is not None:
                weight = torch.cat([one.weight, one.weight.new_zeros(1)]).to(dtype)
                self.weights[name] = (known, weight)
            values.append(one.value)
            tagged.append(one.tag + tags[one.into])
            at, entry, known = at + count + 1, entry + size, known + len(one.value)
        self.total = entry
        self._keep(degree, values, tagged, row, base, fold, begins)
        self.padding = torch.tensor(padding, device=self.device)
        self.size = torch.tensor(room, device=self.device, dtype=INT)
        counts = torch.stack([one.counts for one in self.directions.values()], 1)
        self.counts = torch.cat([counts, torch.zeros_like(counts[:1])]).to(INT)

    def _lay_tags(self) -> dict[Space, int]:
        """Where the chunks of every kind and group of a space begin, but for the graph's own."""
        first: dict[Space, int] = {}
        group: list[int] = []
        scale: list[int] = []
        start: list[int] = []
        stride: list[int] = []
        for space in dict.fromkeys(one.into for one in self.directions.values()):
            first[space] = len(group)
            high, at = sum(self.rows.height[kind] for kind in space.kinds), 0
            for kind in space.kinds:
                for number, size in enumerate(self.rows.room[kind]):
                    group.append(self.rows.group[kind] + number)
                    scale.append(space.fold)
                    start.append(at)
                    stride.append(high)
                    at += size
        self.tag_group = torch.tensor(group, device=self.device)
        self.tag_scale, starts, strides = (
            torch.tensor(values, device=self.device, dtype=INT) for values in (scale, start, stride)
        )
        replica = torch.arange(self.replicas, device=self.device, dtype=INT)[:, None, None]
        self.tag_start = self.tag_scale * (starts + replica * strides)
        return first

    def _degrees(self, resident: Resident, one: Direction) -> tuple[Tensor, ...]:
        """Entries of the rows of every kind of a direction."""
        rows = [resident.kinds[kind].rows * one.rows.fold for kind in one.rows.kinds]
        return one.degree.split(rows)

    def _seats(self, resident: Resident, space: Space, block: int) -> tuple[Tensor, Tensor]:
        """For every row of a space in a batch, the row of its kind, and where the degrees of that
        kind begin."""
        side = torch.arange(space.fold, device=self.device)
        rows, bases = [], []
        for kind in space.kinds:
            high = self.rows.height[kind]
            number = torch.arange(self.replicas * high, device=self.device)
            number = number.view(self.replicas, high, 1) + self.rows.slice[kind].start
            rows.append(number.expand(-1, -1, space.fold))
            bases.append((block + side).expand(self.replicas, high, space.fold))
            block += (resident.kinds[kind].rows + 1) * space.fold
        return torch.cat(rows, 1).flatten(), torch.cat(bases, 1).flatten()

    def _keep(
        self,
        degree: list[Tensor],
        values: list[Tensor],
        tagged: list[Tensor],
        row: list[Tensor],
        base: list[Tensor],
        fold: list[Tensor],
        begins: list[Tensor],
    ) -> None:
        """The constants of all directions in one piece; the last degree and the last value belong
        to padding."""
        if sum(len(part) for part in values) >= 2**31:
            raise InputError(
                "The set of graphs has more interactions than can be numbered. Give fewer graphs, "
                "fewer layers, a smaller d or interactions='cross'."
            )
        none = torch.zeros(1, dtype=torch.int64, device=self.device)
        every = torch.cat([*degree, none])
        first = every.cumsum(0) - every
        first[-1] = sum(len(part) for part in values)
        self.degree, self.first = every.to(INT), first.to(INT)
        self.value = torch.cat([*values, none]).to(INT)
        self.tag = torch.cat([*tagged, none]).to(INT)
        self.row = torch.cat(row)
        bases = torch.cat(base)
        self.base = torch.where(bases < 0, len(every) - 1, bases).to(INT)
        self.fold, self.begin = torch.cat(fold).to(INT), torch.cat(begins).to(INT)
        self.number = torch.arange(self.total, device=self.device, dtype=INT)

    def fill(self, graphs: Tensor, rows: Rows) -> Entries:
        """The entries of the given graphs, int64 [R, B] with -1 for none."""
        start = rows.offset.transpose(1, 2)[..., self.tag_group] * self.tag_scale + self.tag_start
        start = torch.cat([start.flatten(0, 1), torch.zeros_like(start[0, :1])])
        at = self.base + self.fold * rows.source[self.row]
        slot = rows.slot[self.row].index_fill_(0, self.padding, self.rows.spare)
        degree = self.degree[at]
        degree[self.padding] = self.size - self.counts[graphs].sum((0, 1), dtype=INT)
        ptr = degree.cumsum(0, dtype=INT) - degree
        row = torch.repeat_interleave(degree, output_size=self.total)
        found = ((self.first[at] - ptr)[row] + self.number).clamp(max=len(self.value) - 1)
        column = self.value[found] + start[slot[row], self.tag[found]]
        return Entries(column, found, ptr - self.begin)

    def sums(self, entries: Entries, name: str, back: str) -> Segments:
        """The sums of one direction, with another as their gradient."""
        parts = []
        for one in (name, back):
            parts += [entries.column[self.span[one]], entries.ptr[self.slice[one]]]
        for one in (name, back) if name in self.weights else ():
            known, weight = self.weights[one]
            number = (entries.found[self.span[one]] - known).clamp(max=len(weight) - 1)
            parts.append(weight[number])
        return Segments(*parts)
