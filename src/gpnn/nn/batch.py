"""What the network reads of a batch of graphs: tensors only, apart from a few sizes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree

from .grouped import Groups
from .segments import Segments

__all__ = ["AlphaRound", "GraphBatch"]


def _tree(cls: Any) -> Any:
    """Let ``torch.func`` see the tensors of a dataclass; groups (ints) stay as they are."""
    names = [f.name for f in fields(cls)]
    static = {f.name for f in fields(cls) if f.type == "Groups"}

    def flatten(value: Any) -> tuple[list[Any], Any]:
        leaves = [getattr(value, name) for name in names if name not in static]
        return leaves, tuple((name, getattr(value, name)) for name in sorted(static))

    def unflatten(leaves: Any, context: Any) -> Any:
        dynamic = (name for name in names if name not in static)
        return cls(**dict(zip(dynamic, leaves, strict=True)), **dict(context))

    _pytree.register_pytree_node(cls, flatten, unflatten)
    return cls


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
            (start, stop, part).
        pairs: which rows of this round's table every vertex sums over u ∈ N_d(v), by Equation 3.
    """

    previous: Segments
    met: Segments
    tuples: Segments
    weight: Tensor
    tuple_weight: Tensor
    part: Tensor
    pairs: Segments
    groups: Groups


@_tree
@dataclass(frozen=True)
class GraphBatch:
    """Graphs side by side, vertices sorted by part.

    Attributes:
        x: node features, float [n, features], or codes, int [n, columns].
        part: part of every vertex, ascending, [n]; ``groups``: the same as (start, stop, part).
        neighbours: Σ over N(v); ``near``: Σ over N_d(v), v included.
        edge_index: [2, m] for a base GNN, with ``edge_label`` [m] (0: none) and ``edge_features``
            [m, e] beside it.
        start: the start classes (part of v, kind, part of u, label, hops), [C₀, 5], sorted by the
            part of u.
        start_features: continuous edge features of the start rows, [C₀, e], in the direct path.
        rounds: one entry per layer.
        readout: Σ over the vertices of every graph.
        components: connected components of every part, [graphs, parts].
        order: the place of every vertex of the input, in input order, [n].
        vertices: vertices of every graph as a float, [graphs, 1].
        y: labels, if any.
    """

    x: Tensor
    part: Tensor
    neighbours: Segments
    near: Segments
    edge_index: Tensor
    edge_label: Tensor
    edge_features: Tensor | None
    start: Tensor
    start_features: Tensor | None
    rounds: tuple[AlphaRound, ...]
    readout: Segments
    components: Tensor
    order: Tensor
    vertices: Tensor
    y: Tensor | None
    groups: Groups

    @property
    def num_graphs(self) -> int:
        return self.components.shape[0]

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> GraphBatch:
        """The batch on another device, floating point tensors in another precision."""

        def move(leaf: Any) -> Any:
            if not isinstance(leaf, Tensor):
                return leaf
            wanted = dtype if leaf.is_floating_point() else None
            return leaf.to(device, wanted, non_blocking=True)

        moved: GraphBatch = _pytree.tree_map(move, self)
        return moved

    def with_labels(self, y: Tensor | None) -> GraphBatch:
        return replace(self, y=y)
