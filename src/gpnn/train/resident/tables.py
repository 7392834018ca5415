"""The flat tensors of a set of graphs: rows by kind, sums over rows, and items shared by graphs."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Direction", "Kind", "Link", "Resident", "Shared", "as_tensor", "cell_kind"]


def as_tensor(array: NDArray[np.generic]) -> Tensor:
    """A tensor from an array with any strides."""
    return torch.from_numpy(np.ascontiguousarray(array))


def cell_kind(name: str) -> str:
    """Name, among all kinds of rows, of a kind that a peer reads."""
    return name if name in ("vertex", "graph") else f"cell {name}"


@dataclass
class Kind:
    """Rows of one kind, sorted by graph and, within a graph, by group.

    Attributes:
        groups: number of groups that a batch keeps separate (parts, or 1).
        counts: rows by graph and group, [G, groups]; ``first``: their first row, [G, groups].
        graph, group, rank: of every row; the rank counts within graph and group, [rows].
        place: the row of every item, in input order, [rows].
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
    """Entries by row: the rows of the kind ``into`` that every row of the kind ``rows`` sums over.

    Attributes:
        degree: number of entries of every row, [rows].
        value, tag: rank and group of the target row, [entries].
        counts: number of entries by graph, [G].
        weight: weight of every entry, or ``None``.
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
    """Items shared by graphs: start classes, classes and tuples of every round. All of them are
    numbered consecutively, kind by kind and, within a kind, group by group.

    Attributes:
        sizes: number of items by kind and group.
        counts: number of items of every graph, [G]; ``first``: start of its list, [G].
        member, times: items of the graphs and their multiplicities, [members], int32.
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
        """The range (start, stop) of the numbers of a kind."""
        names = list(self.sizes)
        low = sum(sum(self.sizes[name]) for name in names[: names.index(kind)])
        return low, low + sum(self.sizes[kind])


@dataclass
class Link:
    """Entries by row that point at shared items: into a table of one or two kinds, with ``fold``
    rows for every item.

    Attributes:
        rows: a kind of rows, or of shared items.
        into, fold: the kinds of the table, and its rows per item.
        degree: number of entries of every row or item, [rows].
        target: number of the target item, [entries].
        side: which of the rows of the item, the first by default, [entries].
        weight: weight of every entry, or ``None``.
        counts: number of entries by graph, where rows belong to graphs, [G].
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
        directions: by name; ``name`` and ``name back`` are a sum and its gradient, a symmetric
            direction is its own gradient.
        shared: ``start``, ``class l`` and ``tuple l`` for every round l, if there are rounds.
        links: sums over shared items, by name.
        pairwise: whether the network reads pairs one by one.
        cells: input of a peer: for every kind, codes and attributes of its rows by name.
        relations: the relations of a peer, and the directions of their gradients.
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
        """A copy on a device; a tensor that several fields share is sent once."""
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
        """Add a direction with the entries (row, column), items of two kinds in input order."""
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
