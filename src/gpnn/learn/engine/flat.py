"""The flat tensors of a set of graphs: rows by kind, and what rows sum over."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

__all__ = ["Direction", "Kind", "Resident", "Space"]


@dataclass
class Kind:
    """Rows of one kind, sorted by graph and, within a graph, by group.

    Attributes:
        groups: groups a batch keeps apart (parts, or one).
        counts: rows by graph and group, [G, groups]; ``first``: where they begin, [G, groups].
        graph, group, rank: of every row; the rank counts within graph and group, [rows].
        place: the row of every item in the order it was given in, [rows].
        weight: what a row stands for, [rows].
    """

    groups: int
    counts: Tensor
    first: Tensor
    graph: Tensor
    group: Tensor
    rank: Tensor
    place: Tensor
    weight: Tensor

    @property
    def rows(self) -> int:
        return len(self.graph)


@dataclass(frozen=True)
class Space:
    """What entries point into: the rows of one or two kinds, each ``fold`` times."""

    kinds: tuple[str, ...]
    fold: int = 1


@dataclass
class Direction:
    """Entries by row: which rows of ``into`` every row of ``rows`` sums.

    Attributes:
        degree: entries of every row, by kind and row of ``rows``, [rows · fold].
        value, tag: the rank of the row pointed at, and which kind and group of ``into`` that is.
        weight: a factor per entry, or ``None``.
        counts: entries by graph, [G].
    """

    rows: Space
    into: Space
    degree: Tensor
    value: Tensor
    tag: Tensor
    weight: Tensor | None
    counts: Tensor


@dataclass
class Resident:
    """Flat tensors of a whole set.

    Attributes:
        kinds: ``vertex``, ``graph``, and where needed ``input`` (vertices in input order),
            ``edge``, ``start``, ``class l`` and ``tuple l`` for every round l.
        directions: by name; ``name`` and ``name back`` make a sum and its gradient.
        x, y, start, edge_label, components: attributes of rows, in the order of their kind.
    """

    graphs: int
    rounds: int
    parts: int
    kinds: dict[str, Kind]
    directions: dict[str, Direction] = field(default_factory=dict)
    x: Tensor = field(default_factory=lambda: torch.zeros(0))
    y: Tensor = field(default_factory=lambda: torch.zeros(0))
    start: Tensor | None = None
    edge_label: Tensor | None = None
    components: Tensor = field(default_factory=lambda: torch.zeros(0))

    def relate(
        self,
        name: str,
        rows: Space,
        into: Space,
        row: Tensor,
        column: Tensor,
        weight: Tensor | None = None,
    ) -> None:
        """Entries (row, column): items of two spaces in the order they were given in."""
        row, column = self._placed(rows, row), self._placed(into, column)
        self.directions[name] = self._sorted(rows, into, row, column, weight)
        self.directions[f"{name} back"] = self._sorted(into, rows, column, row, weight)

    def _placed(self, space: Space, item: Tensor) -> Tensor:
        """Items of a space, numbered kind after kind, as rows of the space."""
        places, before = [], 0
        for kind in space.kinds:
            places.append(self.kinds[kind].place + before)
            before += self.kinds[kind].rows
        place = torch.cat(places)
        return place[item // space.fold] * space.fold + item % space.fold

    def _sorted(
        self, rows: Space, into: Space, row: Tensor, column: Tensor, weight: Tensor | None
    ) -> Direction:
        order = torch.argsort(row, stable=True)
        column = column[order]
        graph = torch.cat([self.kinds[kind].graph for kind in rows.kinds])
        group, rank, base = [], [], 0
        for kind in into.kinds:
            group.append(self.kinds[kind].group + base)
            rank.append(self.kinds[kind].rank)
            base += self.kinds[kind].groups
        groups, ranks = torch.cat(group), torch.cat(rank)
        target, side = column // into.fold, column % into.fold
        return Direction(
            rows,
            into,
            torch.bincount(row, minlength=len(graph) * rows.fold),
            ranks[target] * into.fold + side,
            groups[target],
            None if weight is None else weight[order],
            torch.bincount(graph[row // rows.fold], minlength=self.graphs),
        )
