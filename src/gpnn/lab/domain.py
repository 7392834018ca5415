"""A finite set of graphs on which claims are checked, with every colouring computed once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..graph.graphs import Graphs
from ..graph.partition import Partition, partition, unique_rows
from ..graph.readers.graph6 import format_graph6
from ..graph.schemes import Scheme
from .methods import Method

__all__ = ["Domain", "Pair"]

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Pair:
    """Two graphs as an example or counterexample, in graph6."""

    left: str
    right: str
    detail: str = ""


@dataclass
class Domain:
    """Graphs to compare, each with every other. ``equal(method)`` numbers the classes of graphs
    that a method cannot distinguish."""

    name: str
    graphs: Graphs
    _classes: dict[object, IntArray] = field(default_factory=dict, repr=False)
    _cuts: dict[Scheme, Partition] = field(default_factory=dict, repr=False)

    @property
    def pairs(self) -> int:
        """Unordered pairs of different graphs."""
        return len(self.graphs) * (len(self.graphs) - 1) // 2

    @cached_property
    def sizes(self) -> IntArray:
        """(vertices, edges) of every graph, the order in which small examples are preferred."""
        edges = np.diff(self.graphs.indptr[self.graphs.ptr]) // 2
        return np.stack([np.diff(self.graphs.ptr), edges], axis=1)

    def cut(self, scheme: Scheme) -> Partition:
        if scheme not in self._cuts:
            self._cuts[scheme] = partition(self.graphs, scheme)
        return self._cuts[scheme]

    def equal(self, method: Method, scheme: Scheme | None = None) -> IntArray:
        """The class of every graph under a method; ``scheme`` need not be a registered one."""
        key = (method, scheme)
        if key not in self._classes:
            cut = None if scheme is None else self.cut(scheme)
            digest = method.sameness(self.graphs, cut).digest
            self._classes[key] = unique_rows(digest.view(np.int64))[1]
        return self._classes[key]

    def find(self, same: IntArray, differ: IntArray) -> tuple[int, int] | None:
        """A pair of graphs with equal ``same`` and different ``differ``; prefers small graphs."""
        order = np.lexsort((differ, same))
        new = (same[order][1:] == same[order][:-1]) & (differ[order][1:] != differ[order][:-1])
        pairs = [(int(order[i]), int(order[i + 1])) for i in np.flatnonzero(new)]
        if not pairs:
            return None
        return min(pairs, key=lambda p: (self.sizes[p[1]].tolist(), self.sizes[p[0]].tolist(), p))

    def pair(self, graphs: tuple[int, int], detail: str = "") -> Pair:
        left, right = (format_graph6(self.graphs[g]) for g in graphs)
        return Pair(left, right, detail)
