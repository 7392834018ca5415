"""Partitions: every vertex is in one part, every edge is within a part or between two parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .graphs import Graphs
from .schemes import Scheme, get_scheme

__all__ = ["Partition", "Statistics", "partition", "unique_rows"]

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Statistics:
    """Averages over the graphs of a set; edges are counted in both directions."""

    graphs: int
    partitions: int
    cross_edges: float
    within_edges: float


@dataclass(frozen=True, eq=False)
class Partition:
    """The parts of one graph or of many under one scheme.

    Attributes:
        graphs: the partitioned graphs.
        scheme: the partitioning rule.
        colours: colour of every vertex, [vertices, width].
        parts: the distinct colours, ascending, [k, width].
        part: index into ``parts`` for every vertex, [vertices].
    """

    graphs: Graphs
    scheme: Scheme
    colours: IntArray
    parts: IntArray
    part: NDArray[np.int32]

    @property
    def num_parts(self) -> int:
        return len(self.parts)

    @cached_property
    def labels(self) -> list[str]:
        """A short description of every part, for tables and legends."""
        return [self.scheme.describe(row) for row in self.parts.tolist()]

    @cached_property
    def sizes(self) -> IntArray:
        """Number of vertices in every part, [k]."""
        return np.bincount(self.part, minlength=self.num_parts)

    @cached_property
    def cross(self) -> BoolArray:
        """Mask of the entries of ``graphs.indices`` that lead to another part."""
        from .kernels.shells import cross_entries

        entries: BoolArray = cross_entries(self.graphs.indptr, self.graphs.indices, self.part)
        return entries

    def cross_edges(self) -> IntArray:
        """Edges with ends in two parts, each once with u < v: [2, edges]."""
        return self._edges(self.cross)

    def within_edges(self) -> IntArray:
        """Edges with both ends in one part, each once with u < v: [2, edges]."""
        return self._edges(~self.cross)

    def _edges(self, chosen: BoolArray) -> IntArray:
        rows = self.graphs.rows
        once = chosen & (rows < self.graphs.indices)
        return np.stack([rows[once], self.graphs.indices[once].astype(np.int64)])

    @cached_property
    def border(self) -> BoolArray:
        """Mask of the border vertices, which are those with a cross edge, [vertices]."""
        border = np.zeros(self.graphs.num_nodes, np.bool_)
        border[self.graphs.indices[self.cross]] = True
        return border

    def boundary(self) -> tuple[Graphs, IntArray]:
        """The subgraphs induced by the border vertices, including within edges between them, and
        the ids of their vertices."""
        return self.graphs.induced(self.border)

    def subgraph(self, part: int) -> tuple[Graphs, IntArray]:
        """The subgraphs induced by one part in every graph, and the ids of their vertices."""
        if not 0 <= part < self.num_parts:
            raise InputError(
                f"There is no part {part}: parts are numbered 0 to {self.num_parts - 1}."
            )
        return self.graphs.induced(self.part == part)

    def components(self) -> IntArray:
        """Number of connected components of the subgraph induced by each part, [graphs, k]."""
        from .kernels.components import components, count_by_part

        root = components(self.graphs.indptr, self.graphs.indices, self.part)
        count: IntArray = count_by_part(self.graphs.ptr, root, self.part, self.num_parts)
        return count

    def statistics(self) -> Statistics:
        """Number of parts, and mean number of directed cross and within edges per graph."""
        graphs = len(self.graphs)
        if graphs == 0:
            raise InputError("There are no graphs to average over: the set is empty.")
        cross = int(self.cross.sum())
        within = len(self.cross) - cross
        return Statistics(graphs, self.num_parts, cross / graphs, within / graphs)

    def __repr__(self) -> str:
        return f"Partition({self.scheme.name}: {self.num_parts} parts of {self.graphs!r})"


def partition(source: Any, scheme: str | Scheme = "core-degree") -> Partition:
    """Partition one graph or many.

    Args:
        source: any input of :func:`~gpnn.graph.convert.as_graphs`: a PyG ``Data``, ``Batch`` or
            in-memory dataset, a networkx graph, a SciPy matrix, an edge array, a path.
        scheme: a name from :func:`~gpnn.graph.registry.list_schemes`, or several joined by ``+``.
    """
    rule = get_scheme(scheme)
    if not isinstance(source, Graphs):
        from .convert import as_graphs

        source = as_graphs(source)
    colours = rule(source)
    parts, part = unique_rows(colours)
    return Partition(source, rule, colours, parts, part.astype(np.int32))


def unique_rows(rows: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct rows in ascending order, and the index of every row among them.

    Works column by column, so that each step sorts or counts integers instead of whole rows.
    """
    place = np.zeros(len(rows), np.int64)
    for column in rows.T:
        values = _unique(column)
        place = _unique(place * max(1, values.max(initial=0) + 1) + values)
    first = np.zeros(place.max(initial=-1) + 1, np.int64)
    first[place] = np.arange(len(place))
    return rows[first], place


def _unique(values: IntArray) -> IntArray:
    """The rank of every value among the distinct values."""
    if len(values) and values.min() >= 0 and values.max() <= 4 * len(values) + 1024:
        occurs = np.bincount(values) > 0
        return (np.cumsum(occurs) - 1)[values]
    return np.unique(values, return_inverse=True)[1]
