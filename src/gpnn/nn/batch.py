"""What the network reads of a batch of graphs: tensors only, apart from a few names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils import _pytree

from ..graph.structure import Structure
from .segments import Segments

__all__ = [
    *("AlphaRound", "CellBatch", "CellRows", "Edges", "GraphBatch", "PairRows", "SampledRows"),
    "Terms",
]


def _tree(cls: Any) -> Any:
    """Let PyTorch map over the tensors of a dataclass; the rest stays as it is."""
    names = [f.name for f in fields(cls)]
    static = {f.name for f in fields(cls) if f.type == "Terms | None"}

    def flatten(value: Any) -> tuple[list[Any], Any]:
        leaves = [getattr(value, name) for name in names if name not in static]
        return leaves, tuple((name, getattr(value, name)) for name in sorted(static))

    def unflatten(leaves: Any, context: Any) -> Any:
        dynamic = (name for name in names if name not in static)
        return cls(**dict(zip(dynamic, leaves, strict=True)), **dict(context))

    _pytree.register_pytree_node(cls, flatten, unflatten)
    return cls


class Terms(NamedTuple):
    """What graphs were prepared with: λ, E^δ, the radius of N_d, whether hop distances and labels
    of vertices count, the random-walk encodings, how many parts there are, and a digest of which
    they are."""

    scheme: str
    interactions: str
    d: int
    distances: bool
    labels: bool
    walks: int
    parts: int
    colours: str

    @classmethod
    def of(cls, structure: Structure, parts: int, colours: str) -> Terms:
        kind = {f.name: getattr(structure, f.name) for f in fields(structure) if f.name != "layers"}
        return cls(**kind, parts=parts, colours=colours)

    def differing(self, other: Terms) -> str:
        """What differs, in words."""
        pairs = zip(self._fields, self, other, strict=True)
        return ", ".join(f"{name}={mine}" for name, mine, its in pairs if mine != its)


@_tree
@dataclass(frozen=True)
class AlphaRound:
    """The classes of one round of Equation 2 that occur in a batch.

    The α table of a round holds its C classes, then the C₀ start classes, which pairs outside
    E^δ keep; both are sorted by the part of u.

    Attributes:
        previous: the row of every class in the α table of the round before.
        met: the tuples (α_vw, α_uw): every tuple takes row 2r of its first and row 2s + 1 of its
            second member, r and s being rows of that table.
        tuples: which tuples every class sums over w ∈ N_d(v).
        weight, tuple_weight: pairs and (pair, w) that a class or tuple stands for, [C], [T].
        part: part of u of every row of this round's table, [C + C₀]; ``groups``: the same as
            (start, stop, part), [groups, 3], always on the CPU.
        pairs: which rows of this round's table every vertex sums over u ∈ N_d(v), by Equation 3.
        own: the row of this round's table of every pair (v, u), in the order of
            :class:`PairRows`; ``None`` where no network reads pairs one by one.
        takes: the shared sum that a class takes beside its own tuples; ``shared``: which tuples
            every shared sum is of (see :class:`~gpnn.graph.class_tables.RoundTable`); ``None``
            where nothing is shared.
    """

    previous: Segments
    met: Segments
    tuples: Segments
    weight: Tensor
    tuple_weight: Tensor
    part: Tensor
    pairs: Segments
    groups: Tensor
    own: Segments | None = None
    takes: Segments | None = None
    shared: Segments | None = None


@_tree
@dataclass(frozen=True)
class PairRows:
    """The pairs (v, u) with u ∈ N_d(v) as rows of their own, sorted by v; of all replicas together,
    without a leading dimension.

    Attributes:
        other: the vertex u of every pair, as sums of one row each.
        centre: Σ over the pairs of every vertex v.
    """

    other: Segments
    centre: Segments

    @classmethod
    def of(cls, near: Segments, order: Tensor, row: Tensor) -> PairRows:
        """From Σ over N_d(v): the entries of its transpose in terms of its own, and the vertex v of
        every entry, [entries] both."""
        count = near.source.shape[0]
        number = torch.arange(count + 1, dtype=near.source.dtype, device=near.source.device)
        other = Segments(near.source, number, order, near.back_ptr)
        return cls(other, Segments(number[:-1], near.ptr, row, number))


@_tree
@dataclass(frozen=True)
class Edges:
    """The directed edges u → v, sorted by v.

    Attributes:
        gather: the vertex u of every edge, as sums of one row each; ``collect``: Σ over the edges
            that end in v.
        label: 0 for none, [m]; ``features``: [m, e] or ``None``.
    """

    gather: Segments
    collect: Segments
    label: Tensor
    features: Tensor | None

    @property
    def index(self) -> Tensor:
        """PyG's ``edge_index``, [2, m], vertices in the order of the batch."""
        return torch.stack([self.gather.source, self.collect.back_source])


@_tree
@dataclass(frozen=True)
class CellRows:
    """Things of one kind, see :class:`~gpnn.graph.peers.structure.Cells`.

    Attributes:
        weight: 1, or 0 for padding, [rows]; ``None``: no padding.
        id: numbers in the whole set, [rows].
        label: of the edge that a thing carries, 0 for none, [rows]; ``features``: its float
            features, [rows, e]; both ``None`` where things carry no edge.
        codes: whole numbers by name, [rows] each.
    """

    weight: Tensor | None
    id: Tensor
    label: Tensor | None
    features: Tensor | None
    codes: dict[str, Tensor]


@_tree
@dataclass(frozen=True)
class CellBatch:
    """What a peer reads of a batch beside vertices and edges, by name."""

    rows: dict[str, CellRows]
    sums: dict[str, Segments]


@_tree
@dataclass(frozen=True)
class SampledRows:
    """What one layer reads of a block (:mod:`gpnn.nn.sampled`): its result is wanted of fewer
    vertices than it is given, the first ``size``.

    Attributes:
        neighbours: Σ over N(v), scaled, for the vertices of Equation 1, or of a convolution.
        near: Σ over N_1(v) for the result, of the vertices of Equation 1.
        part, groups: of the vertices of Equation 1; ``middle``: which of those given they are.
        pairs: the pairs of Equation 3 one by one; the sum over them is scaled.
        vertex_id: of the result, [size]; ``degree``: in the whole graph, [size].
        vertex_weight, inner_weight: what vertices of the result and of Equation 1 count in
            statistics: 1 for roots, else 0.
    """

    neighbours: Segments
    near: Segments | None
    part: Tensor | None
    groups: Tensor | None
    pairs: PairRows | None
    vertex_id: Tensor
    middle: Tensor | None
    size: int
    degree: Tensor | None
    vertex_weight: Tensor
    inner_weight: Tensor | None

    def own(self, x: Tensor) -> Tensor:
        """The rows of x that the result is wanted of."""
        return x[..., : self.size, :]

    def inner(self, x: Tensor) -> Tensor:
        """The rows of x that Equation 1 is wanted of."""
        assert self.middle is not None
        return x.index_select(-2, self.middle)


@_tree
@dataclass(frozen=True, repr=False)
class GraphBatch:
    """Graphs side by side.

    For the user it is like a batch of PyG: ``x``, ``edge_index``, ``batch``, ``ptr``, ``y``,
    ``num_nodes``, ``num_graphs``, and further attributes that the graphs had, all in the order of
    the input. Inside, vertices are sorted by part, so that those of a part lie together.

    Attributes:
        features: node features, float [n, features], or codes, int [n, columns]; sorted by part.
        part: part of every vertex, ascending, [n]; ``groups``: the same as (start, stop, part),
            [groups, 3], always on the CPU.
        neighbours: Σ over N(v); ``near``: Σ over N_d(v), v included.
        edges: what a base GNN reads of edges, or ``None``.
        start: the start classes (part of v, kind, part of u, label of the edge, hops, label of v,
            label of u), [C₀, 7], sorted by the part of u.
        start_features: continuous edge features of the start rows, [C₀, e], in the direct path.
        rounds: one entry per layer.
        pairs: the pairs of Equation 3 one by one, or ``None``.
        walks: random-walk encodings, sorted as ``features``, [n, walks], or ``None``.
        descriptors: numbers of every graph, [graphs, width], or ``None``.
        readout: Σ over the vertices of every graph.
        components: connected components of every part, [graphs, parts].
        order: the vertices of the input, in input order, as sums of one row each.
        vertices: vertices of every graph as a float, [graphs, 1].
        y: labels, if any.
        vertex_weight, graph_weight: 1, or 0 for padding, [n] and [graphs]; ``None``: no padding.
        vertex_id, graph_id: numbers in the whole set, which key the dropout of stacked replicas.
        more: further attributes, by name.
        cells: what a peer reads, or ``None``.
        terms: what the model must have too; ``None`` in the trainer, which makes both from one
            configuration.
        layers, base_layers: of a block of a large graph, what every layer and every convolution of
            the base reads; empty for whole graphs.

    Stacked for R replicas, every tensor but ``part`` (which all replicas share) has a leading
    dimension R, and segments are those of all replicas (see :class:`~gpnn.nn.segments.Segments`).
    """

    features: Tensor
    part: Tensor
    neighbours: Segments
    near: Segments
    edges: Edges | None
    start: Tensor
    start_features: Tensor | None
    rounds: tuple[AlphaRound, ...]
    readout: Segments
    components: Tensor
    order: Segments | None
    vertices: Tensor
    y: Tensor | None
    vertex_weight: Tensor | None
    graph_weight: Tensor | None
    vertex_id: Tensor | None
    graph_id: Tensor | None
    groups: Tensor
    pairs: PairRows | None = None
    walks: Tensor | None = None
    descriptors: Tensor | None = None
    cells: CellBatch | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    terms: Terms | None = None
    layers: tuple[SampledRows, ...] = ()
    base_layers: tuple[SampledRows, ...] = ()

    degree = None

    def own(self, x: Tensor) -> Tensor:
        """The rows that a layer's result is wanted of: all."""
        return x

    inner = own

    @property
    def inner_weight(self) -> Tensor | None:
        """What vertices count in the statistics of Equation 1."""
        return self.vertex_weight

    def layer(self, number: int) -> GraphBatch | SampledRows:
        """What a layer reads."""
        return self.layers[number] if self.layers else self

    def base_layer(self, number: int) -> GraphBatch | SampledRows:
        """What a convolution of the base reads."""
        return self.base_layers[number] if self.base_layers else self

    @property
    def num_graphs(self) -> int:
        return self.components.shape[-2]

    @property
    def num_nodes(self) -> int:
        return self.part.shape[0]

    @cached_property
    def _rank(self) -> Tensor:
        """Where every vertex of the input lies in the batch, [n]."""
        assert self.order is not None
        return self.order.source.long()

    @property
    def x(self) -> Tensor:
        """Node features, in the order of the input."""
        return self.features[self._rank]

    @property
    def ptr(self) -> Tensor:
        """Vertices of graph g are ``ptr[g]:ptr[g + 1]``, [graphs + 1]."""
        return self.readout.ptr

    @property
    def batch(self) -> Tensor:
        """The graph of every vertex, [n]."""
        return torch.repeat_interleave(self.ptr.diff())

    @property
    def edge_index(self) -> Tensor:
        """The edges of the simple undirected graphs, in both directions, [2, m]."""
        back = torch.argsort(self._rank)
        target = torch.repeat_interleave(self.neighbours.ptr.diff())
        ends = torch.stack([back[self.neighbours.source.long()], back[target]])
        return ends[:, torch.argsort(ends[1], stable=True)]

    def __getattr__(self, name: str) -> Any:
        more = self.__dict__.get("more", {})
        if name in more:
            return more[name]
        raise AttributeError(f"This batch has no {name!r}.")

    def to(
        self,
        device: torch.device | str,
        dtype: torch.dtype | None = None,
        non_blocking: bool = False,
    ) -> GraphBatch:
        """The batch on another device, floating point tensors in another precision."""

        def move(leaf: Any) -> Any:
            if not isinstance(leaf, Tensor):
                return leaf
            wanted = dtype if leaf.is_floating_point() else None
            return leaf.to(device, wanted, non_blocking=non_blocking)

        return self._map(move)

    def pin_memory(self) -> GraphBatch:
        """A copy in page-locked memory, which is sent to a GPU faster."""
        return self._map(lambda leaf: leaf.pin_memory() if isinstance(leaf, Tensor) else leaf)

    def _map(self, move: Any) -> GraphBatch:
        """All tensors but the groups, which stay where they are."""
        moved: GraphBatch = _pytree.tree_map(move, self)
        rounds = tuple(
            replace(there, groups=here.groups)
            for there, here in zip(moved.rounds, self.rounds, strict=True)
        )
        return replace(moved, rounds=rounds, groups=self.groups)

    def __repr__(self) -> str:
        names = ["x", "edge_index", "y", *self.more]
        shown = {name: getattr(self, name) for name in names}
        sizes = [f"{name}={list(v.shape)}" for name, v in shown.items() if isinstance(v, Tensor)]
        return f"GraphBatch({', '.join([*sizes, f'num_graphs={self.num_graphs}'])})"
