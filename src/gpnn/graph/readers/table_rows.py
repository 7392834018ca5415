"""Build graphs from rows (graph, source, target) of names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..graphs import Graphs

__all__ = ["Rows"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rows:
    """Edges as codes of names; a target of -1 declares the source as a vertex without an edge.

    If ``names`` (``graph_names``) is None, the codes are themselves the names.
    """

    graph: Ints
    src: Ints
    dst: Ints
    names: list[str] | None = None
    graph_names: list[str] | None = None
    many: bool = False

    def by_id(self, num_nodes: int) -> Graphs:
        """A single graph whose vertex names are the ids 0 … num_nodes - 1."""
        if self.many or self.names is not None:
            raise InputError("num_nodes needs one graph whose vertices are whole numbers from 0.")
        edge = self.dst >= 0
        largest = int(self.src.max(initial=-1))
        if largest >= num_nodes:
            raise InputError(f"Vertex {largest} is not below num_nodes = {num_nodes}.")
        return Graphs.from_edges(self.src[edge], self.dst[edge], num_nodes)

    def by_name(self) -> Graphs:
        """Graphs whose vertices are the names in their rows, in order of their codes."""
        labels, graph = np.unique(self.graph, return_inverse=True)
        order = np.argsort(graph, kind="stable") if len(labels) > 1 else slice(None)
        graph, src, dst = graph[order], self.src[order], self.dst[order]
        edge = dst >= 0
        span = int(max(src.max(initial=0), dst.max(initial=0))) + 1
        count = len(labels) if self.many else 1
        if span * (count + 1) >= 2**62:
            raise InputError(f"A vertex is named {span - 1}: too large a number.")
        key = np.concatenate([graph * span + src, graph[edge] * span + dst[edge]])
        vertices, ids = np.unique(key, return_inverse=True)
        owner, name = np.divmod(vertices, span)
        sizes = np.bincount(owner, minlength=count)
        local = np.arange(len(name)) - (np.cumsum(sizes) - sizes)[owner]
        return Graphs.from_edges(
            ids[: len(src)][edge],
            ids[len(src) :],
            sizes,
            bounds=np.searchsorted(graph[edge], np.arange(count + 1)),
            vertex_names=self._vertex_names(name, local),
            graph_names=self._graph_names(labels),
        )

    def _vertex_names(self, name: Ints, local: Ints) -> list[str] | None:
        if self.names is not None:
            return [self.names[v] for v in name]
        return None if np.array_equal(name, local) else [str(v) for v in name]

    def _graph_names(self, labels: Ints) -> list[str] | None:
        if not self.many:
            return None
        if self.graph_names is not None:
            return [self.graph_names[g] for g in labels]
        return [str(g) for g in labels]
