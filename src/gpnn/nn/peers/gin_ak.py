"""GIN-AK+: a GIN inside the ego network of every vertex, in every layer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...graph.graphs import Graphs
from ...graph.peers.bags import bags
from ...graph.peers.structure import PeerStructure
from ...options import Number, Rule, Whole, check_options
from ..batch import GraphBatch
from ..block import Block
from ..dropout import Dropout
from ..linear import Linear
from ..lookup import lookup
from ..norm import WeightedBatchNorm
from .base import Encode, Shape, VertexPeer, cells_of, conv, mean_of, side

__all__ = ["GINAK", "GINAKLayer", "GINAKOptions"]


@dataclass(frozen=True)
class GINAKOptions:
    """``hops``: radius of the ego networks; ``inner``: layers inside them; ``drop``: the fraction
    of ego networks that a training step drops."""

    hops: int = 3
    inner: int = 1
    drop: float = 0.0

    def __post_init__(self) -> None:
        rules: dict[str, Rule] = {
            "hops": Whole(1, 8),
            "inner": Whole(1, 8),
            "drop": Number(0.0, 1.0, below=True),
        }
        check_options(self, (), rules)


class GINAKLayer(nn.Module):
    r"""With :math:`h^u = \mathrm{GIN}(G[N_k(u)],\; x + \mathrm{hop})`, the rows of the vertices of
    the ego network of u, and :math:`d = dist(u, v)`,

    .. math::
        \text{centroid:} \quad c_v &= g_c(0) \odot h^v_v \\
        \text{subgraph:} \quad s_v &= \mathrm{mean}_{u \in N_k(v)}\, g_s(d) \odot \phi_s(h^v_u) \\
        \text{context:} \quad t_v &= \mathrm{mean}_{u \in N_k(v)}\, g_t(d) \odot \phi_t(h^u_v) \\
        y_v &= \mathrm{norm}(c_v + s_v + t_v)\, W + \mathrm{GIN}(G, x)_v

    φ is a linear map with normalisation and ReLU, g the sigmoid of a learned vector per distance.
    """

    def __init__(self, shape: Shape, options: GINAKOptions) -> None:
        super().__init__()
        width = shape.width
        self.convs = nn.ModuleList(conv(shape) for _ in range(options.inner))
        self.blocks = nn.ModuleList(
            Block(width, "residual", shape.dropout) for _ in range(options.inner)
        )
        self.hop = nn.Parameter(torch.empty(options.hops + 1, width))
        self.gates = nn.Parameter(torch.empty(options.hops + 1, 3 * width))
        self.maps = nn.ModuleList(Linear(width, width, bias=False) for _ in range(2))
        self.norms = nn.ModuleList(WeightedBatchNorm(width) for _ in range(3))
        self.out = Linear(width, width, bias=False)
        self.whole = conv(shape)
        self.drop = None
        if options.drop:
            self.drop = Dropout(options.drop)
            self.drop.fixed = True
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.hop)
        nn.init.normal_(self.gates)

    def forward(self, x: Tensor, batch: GraphBatch, encode: Encode | None) -> Tensor:
        cells = cells_of(batch)
        copied, ego = cells.sums["copied"], cells.sums["ego"]
        copies = cells.rows["copy"]
        inside, outside = side(batch, "copy", "adjacent"), side(batch, "vertex", "original")
        edges = None if encode is None else encode(cells.rows["adjacent"])
        around = None if encode is None else encode(cells.rows["original"])
        h = copied.sum(x, onto=lookup(self.hop, copies.codes["hops"]))
        for own, block in zip(self.convs, self.blocks, strict=True):
            h = block(h, own(h, inside, edges), inside)
        gates = lookup(torch.sigmoid(self.gates), copies.codes["hops"]).chunk(3, -1)
        first, second = (
            norm(each(h), copies.weight, relu=True)
            for each, norm in zip(self.maps, self.norms, strict=False)
        )
        kept = copy_kept = None
        if self.drop is not None and self.training:
            kept = self.drop(x.new_ones(*x.shape[:-1], 1), batch.vertex_id)
            copy_kept = ego.transposed.sum(kept)
        pooled = cells.sums["root"].sum(h * gates[0]) + mean_of(ego, first * gates[1])
        pooled = pooled if kept is None else pooled * kept
        pooled = pooled + mean_of(copied.transposed, second * gates[2], copy_kept)
        pooled = self.out(self.norms[2](pooled, batch.vertex_weight))
        out: Tensor = pooled + self.whole(x, outside, around)
        return out


class GINAK(VertexPeer):
    """Layers of :class:`GINAKLayer`.

    Zhao et al., *From Stars to Subgraphs: Uplifting Any GNN with Local Structure Awareness*, ICLR
    2022. Departures: the embedding of the hop distance is added to the features (the public code
    appends 16 columns); ego networks to drop are drawn independently (the paper covers every vertex
    a few times), but all are computed.
    """

    name, title = "gin-ak", "GIN-AK+"
    source = "Zhao et al., ICLR 2022"
    Options = GINAKOptions

    @classmethod
    def build(cls, graphs: Graphs, options: GINAKOptions, edged: bool) -> PeerStructure:
        return bags(graphs, "ego", options.hops, edged)

    def layer(self, number: int) -> nn.Module:  # noqa: ARG002
        return GINAKLayer(self.shape, self.options)
