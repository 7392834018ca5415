"""Base classes of peers: published methods that replace the base GNN."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from ...graph.graphs import Graphs
from ...graph.peers.structure import PeerStructure
from ..bases import GIN, GINE
from ..batch import CellBatch, CellRows, Edges, GraphBatch
from ..block import Block
from ..segments import Segments

__all__ = ["Encode", "Peer", "Shape", "Side", "VertexPeer", "cells_of", "conv", "mean_of", "side"]

Encode = Callable[[CellRows], Tensor]
"""Maps labels or features of the edges that cells carry to the width of the network."""


@dataclass(frozen=True)
class Shape:
    """The dimensions and options that a peer is built for.

    Attributes:
        width, layers: width and number of layers of the network.
        block, dropout: what surrounds a layer.
        edged: whether edges have labels or features.
        mean: whether the readout is a mean.
    """

    width: int
    layers: int
    block: str = "plain"
    dropout: float = 0.0
    edged: bool = False
    mean: bool = False


class Peer(nn.Module):
    """A published method, with the same feature encoder, blocks, head and training as a base GNN.

    A peer declares the structure that it reads from the graphs (:meth:`build`) and maps encoded
    vertices and these cells to one row per graph (:meth:`read`).
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    Options: ClassVar[type[Any]]
    per_vertex: ClassVar[bool] = False
    out_channels: int

    def __init__(self, shape: Shape, options: Any) -> None:
        super().__init__()
        self.shape, self.options, self.out_channels = shape, options, shape.width

    @classmethod
    def build(cls, graphs: Graphs, options: Any, edged: bool) -> PeerStructure:
        """The structure that it reads from a set of graphs; rejects graphs that it cannot take."""
        raise NotImplementedError

    def read(self, x: Tensor, batch: GraphBatch, encode: Encode | None) -> Tensor:
        """z of every graph: x [..., n, width] → [..., graphs, out_channels]."""
        raise NotImplementedError

    def __repr__(self) -> str:
        given = ", ".join(f"{f.name}={getattr(self.options, f.name)}" for f in fields(self.options))
        return f"{self.__class__.__name__}({given})"


class VertexPeer(Peer):
    """A peer that is a stack of layers, each of which maps rows of vertices to rows of vertices:
    ``layer(x, batch, encode)``."""

    per_vertex = True

    def __init__(self, shape: Shape, options: Any) -> None:
        super().__init__(shape, options)
        self.convs = nn.ModuleList(self.layer(number) for number in range(shape.layers))
        self.blocks = nn.ModuleList(
            Block(shape.width, shape.block, shape.dropout) for _ in range(shape.layers)
        )

    def layer(self, number: int) -> nn.Module:
        """One layer, counted from 0."""
        raise NotImplementedError

    def vertices(self, x: Tensor, batch: GraphBatch, encode: Encode | None) -> Tensor:
        """The rows of the last layer, [..., n, width]."""
        for layer, block in zip(self.convs, self.blocks, strict=True):
            x = block(x, layer(x, batch, encode), batch)
        return x


class Side(NamedTuple):
    """Rows that a convolution of a base GNN reads instead of the vertices of a batch."""

    neighbours: Segments | None
    edges: Edges | None
    vertex_weight: Tensor | None
    vertex_id: Tensor | None
    degree: Tensor | None = None

    def own(self, x: Tensor) -> Tensor:
        """The rows for which a layer computes outputs: all."""
        return x


def cells_of(batch: GraphBatch) -> CellBatch:
    """The cells of a batch; the model has checked that they exist."""
    assert batch.cells is not None
    return batch.cells


def side(batch: GraphBatch, kind: str, name: str) -> Side:
    """The cells of a kind with the messages between them that :meth:`PeerStructure.connect
    <gpnn.graph.peers.structure.PeerStructure.connect>` declared."""
    cells = cells_of(batch)
    weight, number = batch.vertex_weight, batch.vertex_id
    if kind != "vertex":
        weight, number = cells.rows[kind].weight, cells.rows[kind].id
    if name in cells.sums:
        return Side(cells.sums[name], None, weight, number)
    gather, collect = cells.sums[f"{name} from"], cells.sums[f"{name} to"]
    edges = Edges(gather, collect, torch.empty(0), None)
    return Side(None, edges, weight, number)


def conv(shape: Shape, inputs: int | None = None) -> GIN:
    """The convolution inside a peer: GINE if edges have labels or features, otherwise GIN."""
    return (GINE if shape.edged else GIN)(inputs or shape.width, shape.width)


def mean_of(where: Segments, x: Tensor, weight: Tensor | None = None) -> Tensor:
    """Means over segments, 0 for empty ones; weighted by ``weight`` [..., columns, 1] if given."""
    if weight is None:
        count = (where.ptr[1:] - where.ptr[:-1]).to(x.dtype).view(*x.shape[:-2], -1, 1)
        return where.sum(x) / count.clamp(min=1)
    return where.sum(x * weight) / where.sum(weight.contiguous()).clamp(min=1e-9)
