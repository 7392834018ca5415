"""Batches of graphs as the network reads them: tensors, apart from a few names."""

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
    """Let PyTorch map over the tensors of a dataclass; other fields stay unchanged."""
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
    """The options that graphs were prepared with: λ, E^δ, the radius of N_d, whether hop distances
    and vertex labels are used, the random-walk encodings, the number of parts, a digest of their
    colours, and the peer whose cells are stored, if any."""

    scheme: str
    interactions: str
    d: int
    distances: bool
    labels: bool
    walks: int
    parts: int
    colours: str
    peer: str

    @classmethod
    def of(cls, structure: Structure, parts: int, colours: str, peer: str) -> Terms:
        kind = {f.name: getattr(structure, f.name) for f in fields(structure) if f.name != "layers"}
        return cls(**kind, parts=parts, colours=colours, peer=peer)

    def differing(self, other: Terms) -> str:
        """The fields that differ, as text."""
        pairs = zip(self._fields, self, other, strict=True)
        return ", ".join(f"{name}={mine}" for name, mine, its in pairs if mine != its)


@_tree
@dataclass(frozen=True)
class AlphaRound:
    """The classes of one round of Equation 2 that occur in a batch.

    The α table of a round holds its C classes, then the C₀ start classes, which pairs outside
    E^δ keep; both are sorted by the part of u.

    Attributes:
        previous: the row of every class in the α table of the previous round.
        met: the tuples (α_vw, α_uw): every tuple takes row 2r of its first and row 2s + 1 of its
            second member, where r and s are rows of that table.
        tuples: which tuples every class sums over w ∈ N_d(v).
        weight, tuple_weight: number of pairs of a class and of (pair, w) of a tuple, [C], [T].
        part: part of u of every row of this round's table, [C + C₀]; ``groups``: the same as
            (start, stop, part), [groups, 3], always on the CPU.
        pairs: which rows of this round's table every vertex sums over u ∈ N_d(v), by Equation 3.
        own: the row of this round's table of every pair (v, u), in the order of
            :class:`PairRows`; ``None`` if no network reads individual pairs.
        takes: the shared sum that a class adds to the sum of its own tuples; ``shared``: the
            tuples of every shared sum (see :class:`~gpnn.graph.class_tables.RoundTable`); ``None``
            if nothing is shared.
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
    """The pairs (v, u) with u ∈ N_d(v) as separate rows, sorted by v; for all replicas together,
    without a leading dimension.

    Attributes:
        other: the vertex u of every pair, as sums of one row each.
        centre: Σ over the pairs of every vertex v.
    """

    other: Segments
    centre: Segments

    @classmethod
    def of(cls, near: Segments, order: Tensor, row: Tensor) -> PairRows:
        """From Σ over N_d(v): ``order`` maps the entries of its transpose to its entries, ``row``
        is the vertex v of every entry, [entries] both."""
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
    """Cells of one kind, see :class:`~gpnn.graph.peers.structure.Cells`.

    Attributes:
        weight: 1, or 0 for padding, [rows]; ``None``: no padding.
        id: numbers in the whole set, [rows].
        label: label of the edge that a cell carries, 0 for none, [rows]; ``features``: its float
            features, [rows, e]; both ``None`` if cells carry no edge.
        codes: integers by name, [rows] each.
    """

    weight: Tensor | None
    id: Tensor
    label: Tensor | None
    features: Tensor | None
    codes: dict[str, Tensor]


@_tree
@dataclass(frozen=True)
class CellBatch:
    """What a peer reads from a batch in addition to vertices and edges, by name."""

    rows: dict[str, CellRows]
    sums: dict[str, Segments]


@_tree
@dataclass(frozen=True)
class SampledRows:
    """The input of one layer on a block (:mod:`gpnn.nn.sampled`). Its output covers fewer vertices
    than its input, the first ``size``.

    Attributes:
        neighbours: Σ over N(v), scaled, for the vertices of Equation 1, or of a convolution.
        near: Σ over N_1(v) for the output, over the vertices of Equation 1.
        part, groups: of the vertices of Equation 1; ``middle``: their positions in the input.
        pairs: the individual pairs of Equation 3; the sum over them is scaled.
        vertex_id: of the output, [size]; ``degree``: in the whole graph, [size].
        vertex_weight, inner_weight: weights of the vertices of the output and of Equation 1 in
            statistics: 1 for roots, otherwise 0.
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
        """The rows of x for which the layer computes outputs."""
        return x[..., : self.size, :]

    def inner(self, x: Tensor) -> Tensor:
        """The rows of x for which Equation 1 is computed."""
        assert self.middle is not None
        return x.index_select(-2, self.middle)


@_tree
@dataclass(frozen=True, repr=False)
class GraphBatch:
    """A batch of graphs.

    Its interface is like that of a PyG batch: ``x``, ``edge_index``, ``batch``, ``ptr``, ``y``,
    ``num_nodes``, ``num_graphs``, and further attributes of the graphs, all in input order.
    Internally, vertices are sorted by part, so that the vertices of a part are contiguous.

    Attributes:
        features: node features, float [n, features], or codes, int [n, columns]; sorted by part.
        part: part of every vertex, ascending, [n]; ``groups``: the same as (start, stop, part),
            [groups, 3], always on the CPU.
        neighbours: Σ over N(v); ``near``: Σ over N_d(v), v included.
        edges: the edges that a base GNN reads, or ``None``.
        start: the start classes (part of v, kind, part of u, label of the edge, hops, label of v,
            label of u), [C₀, 7], sorted by the part of u.
        start_features: continuous edge features of the start rows, [C₀, e], in the direct path.
        rounds: one entry per layer.
        pairs: the individual pairs of Equation 3, or ``None``.
        walks: random-walk encodings, sorted as ``features``, [n, walks], or ``None``.
        descriptors: descriptors of every graph, [graphs, width], or ``None``.
        readout: Σ over the vertices of every graph.
        components: connected components of every part, [graphs, parts].
        order: the input vertices, in input order, as sums of one row each.
        vertices: number of vertices of every graph as a float, [graphs, 1].
        y: labels, if any.
        vertex_weight, graph_weight: 1, or 0 for padding, [n] and [graphs]; ``None``: no padding.
        vertex_id, graph_id: numbers in the whole set, used as keys by the dropout of stacked
            replicas.
        more: further attributes, by name.
        cells: the input of a peer, or ``None``.
        terms: options that must match those of the model; ``None`` in the trainer, which creates
            both from one configuration.
        layers, base_layers: the inputs of every layer and of every convolution of the base on a
            block of a large graph; empty for whole graphs.

    When stacked for R replicas, every tensor except ``part`` (which all replicas share) has a
    leading dimension R, and segments are those of all replicas (see
    :class:`~gpnn.nn.segments.Segments`).
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
        """The rows for which a layer computes outputs: all."""
        return x

    inner = own

    @property
    def inner_weight(self) -> Tensor | None:
        """Weights of the vertices in the statistics of Equation 1."""
        return self.vertex_weight

    def layer(self, number: int) -> GraphBatch | SampledRows:
        """The input of a layer."""
        return self.layers[number] if self.layers else self

    def base_layer(self, number: int) -> GraphBatch | SampledRows:
        """The input of a convolution of the base."""
        return self.base_layers[number] if self.base_layers else self

    @property
    def num_graphs(self) -> int:
        return self.components.shape[-2]

    @property
    def num_nodes(self) -> int:
        return self.part.shape[0]

    @cached_property
    def _rank(self) -> Tensor:
        """The position of every input vertex in the batch, [n]."""
        assert self.order is not None
        return self.order.source.long()

    @property
    def x(self) -> Tensor:
        """Node features, in input order."""
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
        """A copy in page-locked memory, which transfers to a GPU faster."""
        return self._map(lambda leaf: leaf.pin_memory() if isinstance(leaf, Tensor) else leaf)

    def _map(self, move: Any) -> GraphBatch:
        """Map over all tensors except the groups, which stay on the CPU."""
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
