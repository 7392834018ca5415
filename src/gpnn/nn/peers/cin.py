"""CIN: messages between vertices, edges and rings."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...graph.graphs import Graphs
from ...graph.peers.rings import cell_complex
from ...graph.peers.structure import PeerStructure
from ...options import Whole, check_options
from ..batch import GraphBatch
from ..block import Block
from ..linear import Linear
from ..norm import MLP
from .base import Encode, Peer, Shape, Side, cells_of, mean_of

__all__ = ["CIN", "CINLayer", "CINOptions"]

KINDS = ("vertex", "edge", "ring")


@dataclass(frozen=True)
class CINOptions:
    """``rings``: maximum number of vertices of a ring."""

    rings: int = 6

    def __post_init__(self) -> None:
        check_options(self, (), {"rings": Whole(3, 24)})


class CINLayer(nn.Module):
    r"""One dimension of a layer: for a cell σ with boundary :math:`B(\sigma)` and cells τ that are
    adjacent to it through a cell δ above,

    .. math::
        b_\sigma &= \mathrm{MLP}_B\big((1 + \epsilon_B) x_\sigma + \sum_{\tau \in B(\sigma)} x_\tau
            \big) \\
        u_\sigma &= \mathrm{MLP}_U\big((1 + \epsilon_U) x_\sigma + \sum_{(\tau, \delta)}
            \mathrm{ReLU}(x_\tau M + x_\delta M' + m)\big) \\
        h_\sigma &= (b_\sigma \,\|\, u_\sigma)\, C
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.boundary = MLP(width, width, width)
        self.upper = MLP(width, width, width)
        self.sent = Linear(width, width, bias=False)
        self.above = Linear(width, width)
        self.combine = Linear(2 * width, width, bias=False)
        self.epsilon = nn.Parameter(torch.zeros(()))
        self.up_epsilon = nn.Parameter(torch.zeros(()))

    def reset_parameters(self) -> None:
        for module in (self.boundary, self.upper, self.sent, self.above, self.combine):
            module.reset_parameters()
        nn.init.zeros_(self.epsilon)
        nn.init.zeros_(self.up_epsilon)

    def forward(
        self, x: Tensor, below: Tensor | None, messages: Tensor | None, weight: Tensor | None
    ) -> Tensor:
        """The new row of a cell from its row, the sum of its boundary and the sum of its
        messages."""
        own = (1 + self.epsilon)[..., None, None] * x
        up = (1 + self.up_epsilon)[..., None, None] * x
        b = self.boundary(own if below is None else own + below, weight)
        u = self.upper(up if messages is None else up + messages, weight)
        out: Tensor = self.combine(torch.cat([b, u], -1))
        return out

    def messages(self, x: Tensor, over: Tensor, batch: GraphBatch, name: str) -> Tensor:
        """Σ over upper-adjacent cells."""
        sums = cells_of(batch).sums
        sent = sums[f"{name} up from"].sum(self.sent(x))
        sent = sums[f"{name} up via"].sum(self.above(over), onto=sent)
        return sums[f"{name} up to"].sum(torch.relu(sent))


class CIN(Peer):
    r"""Layers of :class:`CINLayer` for vertices, edges and rings, each with separate weights.

    Edges start from their labels or, without labels, from the sum of their vertices; rings start
    from the sum of their vertices. :math:`z_G` concatenates the readouts of the three dimensions.

    Bodnar et al., *Weisfeiler and Lehman Go Cellular: CW Networks*, NeurIPS 2021. Rings are induced
    cycles. Departures: the head reads only the last layer, through one linear map of all three
    readouts (the public code maps each with a ReLU and sums them).
    """

    name, title = "cin", "CIN"
    source = "Bodnar et al., NeurIPS 2021"
    Options = CINOptions

    @classmethod
    def build(cls, graphs: Graphs, options: CINOptions, edged: bool) -> PeerStructure:  # noqa: ARG003
        return cell_complex(graphs, options.rings)

    def __init__(self, shape: Shape, options: CINOptions) -> None:
        super().__init__(shape, options)
        self.out_channels = 3 * shape.width
        self.convs = nn.ModuleList(
            nn.ModuleList(CINLayer(shape.width) for _ in KINDS) for _ in range(shape.layers)
        )
        self.blocks = nn.ModuleList(
            nn.ModuleList(Block(shape.width, shape.block, shape.dropout) for _ in KINDS)
            for _ in range(shape.layers)
        )

    def read(self, x: Tensor, batch: GraphBatch, encode: Encode | None) -> Tensor:
        cells = cells_of(batch)
        edge_of, ring_of = cells.sums["edge boundary"], cells.sums["ring boundary"]
        edges = edge_of.sum(x)
        rings = 0.5 * ring_of.sum(edges)
        if encode is not None:
            edges = encode(cells.rows["edge"])
        rows = [Side(None, None, batch.vertex_weight, batch.vertex_id)]
        rows += [Side(None, None, cells.rows[k].weight, cells.rows[k].id) for k in KINDS[1:]]
        h = [x, edges, rings]
        for convs, blocks in zip(self.convs, self.blocks, strict=True):
            below = [None, edge_of.sum(h[0]), ring_of.sum(h[1])]
            up = [convs[k].messages(h[k], h[k + 1], batch, KINDS[k]) for k in range(2)]  # type: ignore[index]
            y = [
                convs[k](h[k], below[k], up[k] if k < 2 else None, rows[k].vertex_weight)  # type: ignore[index]
                for k in range(3)
            ]
            h = [blocks[k](h[k], y[k], rows[k]) for k in range(3)]  # type: ignore[index]
        readouts = [batch.readout, cells.sums["edges of"], cells.sums["rings of"]]
        pooled = [mean_of(r, v) if self.shape.mean else r.sum(v)
                  for r, v in zip(readouts, h, strict=True)]  # fmt: skip
        return torch.cat(pooled, -1)
