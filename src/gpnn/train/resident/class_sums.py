"""Sums over shared items in a batch, and the gradients of these sums."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ...nn.segments import Segments
from .class_rows import Held, SharedLayout
from .graph_rows import INT, RowLayout, Rows
from .graph_sums import check_numbers
from .tables import Link, Resident

__all__ = ["LinkLayout", "Links"]


@dataclass(frozen=True)
class Links:
    """All entries of a batch that point at shared items, link by link.

    Attributes:
        column, ptr: target of every entry, and start of the entries of every row.
        row, back_ptr: the rows of the same entries, sorted by column, and start of the entries of
            every column.
        found, order: index of every entry in the whole set; index before sorting of every sorted
            entry.
    """

    column: Tensor
    ptr: Tensor
    row: Tensor
    back_ptr: Tensor
    found: Tensor
    order: Tensor


class LinkLayout:
    """Space for the entries of every link, for all replicas together, and the constants to fill it.

    Rows are vertices or shared items. The items that an item sums over are the same in every batch;
    only their rows differ. The transposed sums, which the gradient uses, follow from one stable
    sort of all entries. Every link ends with one more row and one more column, for the padding.

    Args:
        room: number of entries of every link.
    """

    def __init__(
        self,
        resident: Resident,
        rows: RowLayout,
        shared: SharedLayout,
        room: dict[str, int],
        replicas: int,
    ) -> None:
        self.vertices, self.things = rows.slice["vertex"], shared.things
        self.span: dict[str, slice] = {}
        self.slice: dict[str, slice] = {}
        self.back: dict[str, slice] = {}
        self.weights: dict[str, tuple[int, Tensor]] = {}
        by_row: list[Tensor] = []
        by_entry: list[Tensor] = []
        by_column: list[Tensor] = []
        rows_before, entries_before, columns_before = 0, 0, 0  # of earlier links, in a batch
        degrees_before, targets_before = 0, 0  # of earlier links, in the whole set
        for number, (name, link) in enumerate(resident.links.items()):
            first, height = self._seat(rows, shared, link.rows)
            width = link.fold * sum(shared.height[kind] for kind in link.into)
            count, columns, size = height * replicas, width * replicas, room[name]
            own = torch.cat([torch.arange(count), torch.zeros(1, dtype=torch.int64)])
            base, which = torch.full_like(own, degrees_before), torch.full_like(own, number)
            by_row.append(torch.stack([own, own // max(1, height), own + first, base, which]))
            last = columns_before + columns
            of = [[link.fold], [width], [columns_before], [last], [entries_before]]
            by_entry.append(torch.tensor(of).expand(-1, size))
            bounds = torch.arange(columns_before, last + 1)
            by_column.append(torch.stack([bounds, torch.full_like(bounds, entries_before)]))
            self.span[name] = slice(entries_before, entries_before + size)
            self.slice[name] = slice(rows_before, rows_before + count + 1)
            self.back[name] = slice(columns_before, last + 1)
            if link.weight is not None:
                padded = torch.cat([link.weight, link.weight.new_zeros(1)])
                self.weights[name] = targets_before, padded
            rows_before += count + 1
            entries_before += size
            columns_before = last + 1
            degrees_before += len(link.degree) + 1
            targets_before += len(link.target)
        check_numbers(max(targets_before, columns_before))
        device, links = resident.components.device, resident.links.values()
        self.own, self.replica, self.row, base, self.link = torch.cat(by_row, 1).to(device)
        self.fold, self.stride, self.key, self.last, begin = torch.cat(by_entry, 1).to(device, INT)
        self.bounds, self.shift = torch.cat(by_column, 1).to(device, INT)
        self.heads = torch.tensor([part.start for part in self.slice.values()], device=device)
        self.padding = torch.tensor([part.stop - 1 for part in self.slice.values()], device=device)
        self.real = torch.ones(rows_before, dtype=torch.bool, device=device)
        self.real[self.padding], self.row[self.padding] = False, 0
        base[self.padding] = degrees_before
        self.base = base.to(INT)
        none = torch.zeros(1, dtype=torch.int64, device=device)
        degree = torch.cat([*(part for link in links for part in (link.degree, none)), none])
        ends = degree.cumsum(0)
        self.degree, self.first = degree.to(INT), (ends - degree).to(INT)
        self.target = torch.cat([*(link.target for link in links), none]).to(INT)
        adds = [_before(resident, shared, link) for link in links]
        self.add = torch.cat([*adds, none]).to(INT)
        self.size = torch.tensor([room[name] for name in self.span], device=device, dtype=INT)
        self.number = torch.arange(entries_before, device=device, dtype=INT) - begin

    def _seat(self, rows: RowLayout, shared: SharedLayout, kind: str) -> tuple[int, int]:
        """First row of a kind among the sources of :meth:`fill`, and the number of its rows per
        replica."""
        if kind == "vertex":
            return 0, rows.height[kind]
        vertices = self.vertices.stop - self.vertices.start
        return vertices + shared.slice[kind].start, shared.height[kind]

    def fill(self, rows: Rows, held: Held) -> Links:
        """The entries of a batch."""
        source = torch.cat([rows.source[self.vertices], held.source])
        at = self.base + self.real * source[self.row]
        degree = self.degree[at]
        before = degree.cumsum(0, dtype=INT) - degree
        ptr = before - before[self.heads][self.link]
        degree[self.padding] = self.size - ptr[self.padding]
        row = torch.repeat_interleave(degree, output_size=len(self.number)).long()
        index = ((self.first[at] - ptr)[row] + self.number).clamp(max=len(self.target) - 1).long()
        replica, real = self.replica[row], self.real[row]
        place = held.place[replica * self.things + self.target[index]]
        column = place * self.fold + self.add[index] + (replica * self.stride).to(INT)
        column = torch.where(real, column, 0)
        key, order = torch.where(real, self.key + column, self.last).sort(stable=True)
        back_ptr = torch.searchsorted(key, self.bounds, out_int32=True) - self.shift
        return Links(column, ptr, self.own[row][order].to(INT), back_ptr, index, order)

    def sums(self, links: Links, name: str) -> Segments:
        """The sums of one link, with their gradient."""
        span = self.span[name]
        parts = [links.column[span], links.ptr[self.slice[name]]]
        parts += [links.row[span], links.back_ptr[self.back[name]]]
        if name in self.weights:
            before, weight = self.weights[name]
            own = weight[(links.found[span] - before).clamp(0, len(weight) - 1)]
            parts += [own, own[links.order[span] - span.start]]
        return Segments(*parts)

    def each(self, links: Links, name: str) -> Segments:
        """The target of every entry of a link, as sums of one row each."""
        span = self.span[name]
        column = links.column[span]
        number = torch.arange(len(column) + 1, dtype=INT, device=column.device)
        order = (links.order[span] - span.start).to(INT)
        return Segments(column, number, order, links.back_ptr[self.back[name]])


def _before(resident: Resident, shared: SharedLayout, link: Link) -> Tensor:
    """Number of rows of the table before those of the kind of every target, plus its side."""
    assert resident.shared is not None
    out, before = torch.zeros_like(link.target), 0
    for kind in link.into:
        low, high = resident.shared.range(kind)
        out += before * ((link.target >= low) & (link.target < high))
        before += shared.height[kind]
    out *= link.fold
    return out if link.side is None else out + link.side
