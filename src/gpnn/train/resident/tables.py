"""The flat tensors of a set of graphs: rows by kind, what rows sum over, and what graphs share."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Direction", "Kind", "Link", "Resident", "Shared", "as_tensor", "cell_kind"]


def as_tensor(array: NDArray[np.generic]) -> Tensor:
    """An array of any strides as a tensor."""
    return torch.from_numpy(np.ascontiguousarray(array))


def cell_kind(name: str) -> str:
    """What a kind of things that a peer reads is called among all kinds of rows."""
    return name if name in ("vertex", "graph") else f"cell {name}"


@dataclass
class Kind:
    """Rows of one kind, sorted by graph and, within a graph, by group.

    Attributes:
        groups: groups a batch keeps apart (parts, or one).
        counts: rows by graph and group, [G, groups]; ``first``: where they begin, [G, groups].
        graph, group, rank: of every row; the rank counts within graph and group, [rows].
        place: the row of every item in the order it was given in, [rows].
    """

    groups: int
    counts: Tensor
    first: Tensor
    graph: Tensor
    group: Tensor
    rank: Tensor
    place: Tensor

    @property
    def rows(self) -> int:
        return len(self.graph)


@dataclass
class Direction:
    """Entries by row: which rows of the kind ``into`` every row of the kind ``rows`` sums.

    Attributes:
        degree: entries of every row, [rows].
        value, tag: rank and group of the row pointed at, [entries].
        counts: entries by graph, [G].
        weight: a factor per entry, or ``None``.
    """

    rows: str
    into: str
    degree: Tensor
    value: Tensor
    tag: Tensor
    counts: Tensor
    weight: Tensor | None = None


@dataclass
class Shared:
    """Things that graphs have in common: start classes, classes and tuples of every round. All of
    them have numbers in one row, kind after kind and, within a kind, group after group.

    Attributes:
        sizes: things by kind and group.
        counts: things of every graph, [G]; ``first``: where its list begins, [G].
        member, times: which things graphs have, and how often, [members], int32.
    """

    sizes: dict[str, tuple[int, ...]]
    counts: Tensor
    first: Tensor
    member: Tensor
    times: Tensor

    @property
    def total(self) -> int:
        return sum(map(sum, self.sizes.values()))

    def range(self, kind: str) -> tuple[int, int]:
        """The numbers of the things of a kind."""
        names = list(self.sizes)
        low = sum(sum(self.sizes[name]) for name in names[: names.index(kind)])
        return low, low + sum(self.sizes[kind])


@dataclass
class Link:
    """Entries by row that point at shared things: into a table of one or two kinds, whose rows are
    there ``fold`` times.

    Attributes:
        rows: a kind of rows, or of shared things.
        into, fold: the table.
        degree: entries of every row or thing, [rows].
        target: the number of the thing pointed at, [entries].
        side: which of the rows of the thing, the first by default, [entries].
        weight: a factor per entry, or ``None``.
        counts: entries by graph, where rows belong to graphs, [G].
    """

    rows: str
    into: tuple[str, ...]
    fold: int
    degree: Tensor
    target: Tensor
    side: Tensor | None = None
    weight: Tensor | None = None
    counts: Tensor | None = None


@dataclass
class Resident:
    """Flat tensors of a whole set.

    Attributes:
        kinds: ``vertex``, ``graph``, and where needed ``input`` (vertices in input order) and
            ``edge``.
        directions: by name; ``name`` and ``name back`` make a sum and its gradient, a symmetric
            one is its own.
        shared: ``start``, ``class l`` and ``tuple l`` for every round l, if there are rounds.
        links: what is summed over shared things, by name.
        pairwise: whether the network reads pairs one by one.
        cells: what a peer reads: for every kind, codes and attributes of its rows by name.
        relations: the directions that are relations of a peer, and what gives their gradients.
        x, y, start, start_features, edge_label, edge_features, components, walks, descriptors:
            attributes of rows, in the order of their kind.
    """

    graphs: int
    rounds: int
    parts: int
    kinds: dict[str, Kind]
    directions: dict[str, Direction] = field(default_factory=dict)
    shared: Shared | None = None
    links: dict[str, Link] = field(default_factory=dict)
    pairwise: bool = False
    x: Tensor = field(default_factory=lambda: torch.zeros(0))
    y: Tensor = field(default_factory=lambda: torch.zeros(0))
    start: Tensor | None = None
    start_features: Tensor | None = None
    edge_label: Tensor | None = None
    edge_features: Tensor | None = None
    components: Tensor = field(default_factory=lambda: torch.zeros(0))
    walks: Tensor | None = None
    descriptors: Tensor | None = None
    cells: dict[str, dict[str, Tensor]] = field(default_factory=dict)
    relations: dict[str, str] = field(default_factory=dict)

    def to(self, device: torch.device) -> Resident:
        """The same on a device; what two of its fields share is sent once."""
        sent: dict[int, Tensor] = {}

        def send(value: Any) -> Any:
            if isinstance(value, Tensor):
                if id(value) not in sent:
                    sent[id(value)] = value.to(device)
                return sent[id(value)]
            if isinstance(value, dict):
                return {key: send(part) for key, part in value.items()}
            if is_dataclass(value) and not isinstance(value, type):
                parts = {each.name: send(getattr(value, each.name)) for each in fields(value)}
                return replace(value, **parts)
            return value

        out: Resident = send(self)
        return out

    def relate(
        self,
        name: str,
        rows: str,
        into: str,
        row: Tensor,
        column: Tensor,
        symmetric: bool = False,
        weight: Tensor | None = None,
    ) -> None:
        """Entries (row, column): items of two kinds in the order they were given in."""
        row, column = self.kinds[rows].place[row], self.kinds[into].place[column]
        self.directions[name] = self._sorted(rows, into, row, column, weight)
        if not symmetric:
            self.directions[f"{name} back"] = self._sorted(into, rows, column, row, weight)

    def _sorted(
        self, rows: str, into: str, row: Tensor, column: Tensor, weight: Tensor | None
    ) -> Direction:
        order = torch.argsort(row, stable=True)
        column = column[order]
        own, other = self.kinds[rows], self.kinds[into]
        return Direction(
            rows,
            into,
            torch.bincount(row, minlength=own.rows),
            other.rank[column],
            other.group[column],
            torch.bincount(own.graph[row], minlength=self.graphs),
            None if weight is None else weight[order],
        )
