"""A compact container for one or many simple undirected graphs, in CSR format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import whole_numbers
from ..errors import InputError
from ..sizes import PER_VERTEX, check_memory

if TYPE_CHECKING:
    import networkx as nx
    from scipy.sparse import csr_array

__all__ = ["Graphs", "Normalised"]

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

MEASURED = 1_000_000
"""Number of vertices above which the memory they need is checked first."""


@dataclass(frozen=True, slots=True)
class Normalised:
    """Counts of the changes that made the input simple and undirected, in directed edges."""

    self_loops: int = 0
    duplicates: int = 0
    reversed_added: int = 0

    def __add__(self, other: Normalised) -> Normalised:
        return Normalised(
            self.self_loops + other.self_loops,
            self.duplicates + other.duplicates,
            self.reversed_added + other.reversed_added,
        )

    def __str__(self) -> str:
        shown = [
            f"{number:,} {what}"
            for number, what in (
                (self.self_loops, "self-loops dropped"),
                (self.duplicates, "duplicate edges dropped"),
                (self.reversed_added, "reverse edges added"),
            )
            if number
        ]
        return ", ".join(shown)


@dataclass(frozen=True, slots=True, eq=False)
class Graphs:
    """One or many simple undirected graphs in one CSR structure.

    Attributes:
        ptr: vertices of graph g are ``ptr[g]:ptr[g+1]``; shape [graphs + 1].
        indptr: neighbours of v are ``indices[indptr[v]:indptr[v+1]]``; shape [vertices + 1].
        indices: global vertex ids, ascending in every row; every edge occurs in both rows.
        node_labels: optional integer per vertex (atom, TU node label).
        edge_labels: optional integer per entry of ``indices`` (bond); equal in both directions.
        vertex_names: optional name per vertex, as in the input file.
        graph_names: optional name per graph.
        normalised: edges that were dropped or added when the input was read.
    """

    ptr: IntArray
    indptr: IntArray
    indices: NDArray[Any]
    node_labels: IntArray | None = None
    edge_labels: IntArray | None = None
    vertex_names: Sequence[str] | None = None
    graph_names: Sequence[str] | None = None
    normalised: Normalised = field(default_factory=Normalised)

    @classmethod
    def from_edges(
        cls,
        src: Any,
        dst: Any,
        num_nodes: int | Sequence[int] | IntArray,
        *,
        bounds: Any = None,
        local: bool = False,
        node_labels: Any = None,
        edge_labels: Any = None,
        vertex_names: Sequence[str] | None = None,
        graph_names: Sequence[str] | None = None,
    ) -> Graphs:
        """Build from edge arrays; drops self-loops and duplicates, adds missing reverse edges.

        Args:
            src, dst: integer arrays of equal length.
            num_nodes: number of vertices of the graph, or of each graph.
            bounds: edges of graph g are ``bounds[g]:bounds[g+1]``; required for several graphs.
            local: whether vertex ids start at 0 in every graph instead of being global.
            node_labels, edge_labels: one integer per vertex / per given edge. Different labels
                for the two directions or for copies of an edge are refused.
        """
        from .kernels import csr

        src, dst = whole_numbers(src, "edge sources"), whole_numbers(dst, "edge targets")
        if src.shape != dst.shape:
            raise InputError(
                f"Edge sources and targets differ in length: {len(src)} and {len(dst)}. "
                "Give one target per source."
            )
        sizes = np.atleast_1d(whole_numbers(num_nodes, "numbers of vertices"))
        if len(sizes) and sizes.min() < 0:
            raise InputError(f"A graph cannot have {sizes.min()} vertices.")
        total = int(sizes.sum(dtype=np.float64))
        if total > MEASURED:
            check_memory(PER_VERTEX * total, f"{total:,} vertices", "Give smaller graphs.")
        ptr = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        if bounds is None:
            if len(sizes) != 1:
                raise InputError(f"{len(sizes)} graphs need bounds: where each one's edges start.")
            bounds = np.array([0, len(src)])
        bounds = whole_numbers(bounds, "edge bounds").astype(np.int64, copy=False)
        if (
            len(bounds) != len(ptr)
            or bounds[0] != 0
            or bounds[-1] != len(src)
            or (np.diff(bounds) < 0).any()
        ):
            raise InputError(
                f"Edge bounds must rise from 0 to {len(src)} in {len(ptr)} steps, one more than "
                f"graphs; got {len(bounds)} values."
            )
        owner = int(local)
        dtype = np.int32 if ptr[-1] < 2**31 else np.int64
        indptr, indices = np.empty(ptr[-1] + 1, np.int64), np.empty(len(src), dtype)
        loops = duplicates = 0
        ordered, symmetric = csr.copy_sorted(src, dst, ptr, bounds, owner, indptr, indices)
        if not ordered:
            degree, loops, bad = csr.scan_edges(src, dst, ptr, bounds, owner)
            if bad >= 0:
                g = int(np.searchsorted(bounds, bad, side="right") - 1)
                low = 0 if local else int(ptr[g])
                where = f" of graph {g}" if len(sizes) > 1 else ""
                raise InputError(
                    f"Edge {int(bad - bounds[g])}{where} joins {int(src[bad])} and "
                    f"{int(dst[bad])}, but vertices are numbered {low} to "
                    f"{low + int(sizes[g]) - 1} ({int(sizes[g])} in all). "
                    "Give the right number of vertices or fix the edge."
                )
            indices = indices[: len(src) - loops]
            indptr, duplicates = csr.sort_rows(src, dst, ptr, bounds, owner, degree, indices)
            if loops or duplicates:
                indices = indices[: indptr[-1]].copy()
        added = 0
        if not ordered or ptr[-1] >= 2**32:
            starts = indptr[:-1].astype(np.uint32 if len(indices) < 2**32 else np.uint64)
            symmetric = csr.is_symmetric(indptr, indices, starts)
        if not symmetric:
            indptr, indices, added = csr.transpose_union(indptr, indices)
        graphs = cls(
            ptr,
            indptr,
            indices,
            node_labels=_labels(node_labels, int(ptr[-1]), "node labels"),
            vertex_names=vertex_names,
            graph_names=graph_names,
            normalised=Normalised(int(loops), int(duplicates), int(added)),
        )
        if edge_labels is None:
            return graphs
        labels = _labels(edge_labels, len(src), "edge labels")
        assert labels is not None
        shift = np.repeat(ptr[:-1], np.diff(bounds)) if local else 0
        return graphs.with_edge_labels(src + shift, dst + shift, labels)

    def with_edge_labels(self, src: IntArray, dst: IntArray, labels: IntArray) -> Graphs:
        """Add a label to every edge; edges are given by global vertex ids."""
        from .kernels import csr

        out = np.empty(len(self.indices), np.int64)
        forth = csr.edge_positions(self.indptr, self.indices, src, dst)
        back = csr.edge_positions(self.indptr, self.indices, dst, src)
        real = forth >= 0
        out[back[real]] = labels[real]
        out[forth[real]] = labels[real]
        clash = real.copy()
        clash[real] = (out[forth[real]] != labels[real]) | (out[back[real]] != labels[real])
        if clash.any():
            e = int(np.flatnonzero(clash)[0])
            raise InputError(
                f"The edge between {src[e]} and {dst[e]} has different labels "
                f"({int(labels[e])} and {int(out[forth[e]])}). Graphs are undirected here: give "
                "both directions and all copies of an edge one label."
            )
        return replace(self, edge_labels=out)

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def __repr__(self) -> str:
        extra = "".join(
            f", {name}"
            for name in ("node_labels", "edge_labels")
            if getattr(self, name) is not None
        )
        return (
            f"Graphs({len(self):,} graphs, {self.num_nodes:,} vertices, "
            f"{self.num_edges:,} edges{extra})"
        )

    def __getitem__(self, index: int) -> Graphs:
        """A single graph, with vertices numbered from 0."""
        g = range(len(self))[index]
        low, high = int(self.ptr[g]), int(self.ptr[g + 1])
        first, last = int(self.indptr[low]), int(self.indptr[high])
        return Graphs(
            np.array([0, high - low]),
            self.indptr[low : high + 1] - first,
            self.indices[first:last] - self.indices.dtype.type(low),
            None if self.node_labels is None else self.node_labels[low:high],
            None if self.edge_labels is None else self.edge_labels[first:last],
            None if self.vertex_names is None else self.vertex_names[low:high],
            None if self.graph_names is None else self.graph_names[g : g + 1],
        )

    def __iter__(self) -> Iterator[Graphs]:
        return (self[g] for g in range(len(self)))

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """Number of undirected edges."""
        return len(self.indices) // 2

    @property
    def degree(self) -> IntArray:
        return np.diff(self.indptr)

    @property
    def rows(self) -> IntArray:
        """The row (source vertex) of each entry of ``indices``."""
        return np.repeat(np.arange(self.num_nodes), self.degree)

    @property
    def graph_of(self) -> IntArray:
        """The index of the graph that contains each vertex."""
        return np.repeat(np.arange(len(self)), np.diff(self.ptr))

    def edges(self) -> IntArray:
        """Every undirected edge once, (u, v) with u < v: shape [2, edges]."""
        rows = self.rows
        once = rows < self.indices
        return np.stack([rows[once], self.indices[once].astype(np.int64)])

    def induced(self, keep: BoolArray) -> tuple[Graphs, IntArray]:
        """The subgraphs induced by the kept vertices, and the original ids of these vertices."""
        from .kernels import csr

        ptr, indptr, entries, renumbered = csr.induce(self.ptr, self.indptr, self.indices, keep)
        vertices = np.flatnonzero(keep)
        names = self.vertex_names
        return Graphs(
            ptr,
            indptr,
            renumbered[self.indices[entries]].astype(self.indices.dtype),
            None if self.node_labels is None else self.node_labels[vertices],
            None if self.edge_labels is None else self.edge_labels[entries],
            None if names is None else [names[v] for v in vertices.tolist()],
            self.graph_names,
        ), vertices

    def relabelled(self, order: IntArray) -> Graphs:
        """The same graphs with vertex v renamed ``order[v]``, which must stay in its graph."""
        if not np.array_equal(np.sort(order), np.arange(self.num_nodes)) or not np.array_equal(
            self.graph_of[order], self.graph_of
        ):
            raise InputError(
                "A relabelling must permute the vertices of every graph among themselves."
            )
        src, dst = order[self.rows], order[self.indices]
        by_row = np.lexsort((dst, src))
        indptr = np.concatenate(([0], np.cumsum(np.bincount(src, minlength=self.num_nodes))))
        back = np.argsort(order)
        names = self.vertex_names
        return replace(
            self,
            indptr=indptr.astype(np.int64),
            indices=dst[by_row].astype(self.indices.dtype),
            node_labels=None if self.node_labels is None else self.node_labels[back],
            edge_labels=None if self.edge_labels is None else self.edge_labels[by_row],
            vertex_names=None if names is None else [names[v] for v in back.tolist()],
        )

    def permutation(self, rng: np.random.Generator) -> IntArray:
        """A random permutation for :meth:`relabelled` that keeps every vertex in its graph."""
        keys = rng.random(self.num_nodes)
        order = np.empty(self.num_nodes, np.int64)
        order[np.lexsort((keys, self.graph_of))] = np.arange(self.num_nodes)
        return order

    @staticmethod
    def concatenate(parts: Sequence[Graphs]) -> Graphs:
        """Concatenate several sets of graphs; labels and names are kept if all sets have them."""
        if not parts:
            return Graphs(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int32))
        vertex_base = np.cumsum([0] + [p.num_nodes for p in parts])
        entry_base = np.cumsum([0] + [len(p.indices) for p in parts])
        dtype = np.int32 if vertex_base[-1] < 2**31 else np.int64

        def joined(name: str) -> Any:
            values = [getattr(p, name) for p in parts]
            if any(v is None for v in values):
                return None
            if name.endswith("names"):
                return [item for v in values for item in v]
            return np.concatenate(values)

        return Graphs(
            np.concatenate(
                [[0]] + [p.ptr[1:] + b for p, b in zip(parts, vertex_base, strict=False)]
            ),
            np.concatenate(
                [[0]] + [p.indptr[1:] + b for p, b in zip(parts, entry_base, strict=False)]
            ),
            np.concatenate(
                [(p.indices + b).astype(dtype) for p, b in zip(parts, vertex_base, strict=False)]
            ),
            joined("node_labels"),
            joined("edge_labels"),
            joined("vertex_names"),
            joined("graph_names"),
            sum((p.normalised for p in parts), Normalised()),
        )

    def to_networkx(self) -> nx.Graph:
        """A networkx graph; several graphs become their disjoint union."""
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from(range(self.num_nodes))
        graph.add_edges_from(self.edges().T.tolist())
        return graph

    def to_scipy(self) -> csr_array:
        """The 0/1 adjacency matrix."""
        from scipy.sparse import csr_array

        shape = (self.num_nodes, self.num_nodes)
        return csr_array((np.ones(len(self.indices)), self.indices, self.indptr), shape=shape)


def _labels(values: Any, length: int, what: str) -> IntArray | None:
    if values is None:
        return None
    array = whole_numbers(values, what).astype(np.int64, copy=False)
    if len(array) != length:
        raise InputError(f"Got {len(array)} {what} where {length} are needed.")
    return array
