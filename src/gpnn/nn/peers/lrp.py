"""Deep LRP: all orderings of the neighbourhood of a vertex, read as sequences."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...graph.graphs import Graphs
from ...graph.peers.orderings import local_orderings, ordering_length
from ...graph.peers.structure import PeerStructure
from ...options import Whole, check_options
from ..batch import GraphBatch
from ..linear import Linear
from ..lookup import lookup
from .base import Encode, Shape, VertexPeer, cells_of

__all__ = ["LRP", "LRPLayer", "LRPOptions"]


@dataclass(frozen=True)
class LRPOptions:
    """``depth`` and ``width`` of the orderings: LRP-7-1 has depth 7 and width 1."""

    depth: int = 7
    width: int = 1

    def __post_init__(self) -> None:
        check_options(self, (), {"depth": Whole(1, 10), "width": Whole(1, 10)})


class LRPLayer(nn.Module):
    r"""Over the truncated breadth-first orderings :math:`\Pi_v` of v,

    .. math::
        y_v = \frac{\mu(deg_v)}{|\Pi_v|} \odot \sum_{\pi \in \Pi_v} \mathrm{ReLU}\Big(
            \sum_i x_{\pi(i)} W_i + \sum_{i < j,\; \pi(i) \sim \pi(j)} u_{ij} + b\Big)

    which is the product of the permuted tensor of features and adjacency with weights of the same
    size; μ is a perceptron. If edges have labels, :math:`u_{ij}` is multiplied elementwise by the
    encoded label.
    """

    def __init__(self, shape: Shape, options: LRPOptions) -> None:
        super().__init__()
        self.places, width = ordering_length(options.depth, options.width), shape.width
        pairs = self.places * (self.places - 1) // 2
        self.places_map = Linear(width, self.places * width, bias=False)
        self.edges = None if shape.edged else Linear(pairs, width, bias=False)
        self.pair = nn.Parameter(torch.empty(pairs, width)) if shape.edged else None
        self.bias = nn.Parameter(torch.zeros(width))
        self.degree = Linear(1, 2 * width)
        self.scale = Linear(2 * width, width)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.bias)
        if self.pair is not None:
            nn.init.normal_(self.pair)

    def forward(self, x: Tensor, batch: GraphBatch, encode: Encode | None) -> Tensor:
        cells = cells_of(batch)
        if self.edges is not None:
            bits = cells.rows["ordering"].codes["bits"].unsqueeze(-1)
            which = torch.arange(self.edges.in_features, device=x.device)
            total = self.edges(((bits >> which) & 1).to(x.dtype))
        else:
            assert self.pair is not None and encode is not None
            bonds = cells.rows["bond"]
            total = cells.sums["bonds"].sum(lookup(self.pair, bonds.codes["pair"]) * encode(bonds))
        for place, own in enumerate(self.places_map(x).chunk(self.places, -1)):
            total = cells.sums[f"place {place}"].sum(own.contiguous(), onto=total)
        pooled = cells.sums["rooted"].sum(torch.relu(total + self.bias.unsqueeze(-2)))
        near = batch.neighbours.ptr
        degree = (near[1:] - near[:-1]).to(x.dtype).view(*x.shape[:-1], 1)
        out: Tensor = pooled * self.scale(torch.relu(self.degree(degree)))
        return out


class LRP(VertexPeer):
    """Layers of :class:`LRPLayer`.

    Chen et al., *Can Graph Neural Networks Count Substructures?*, NeurIPS 2020. In LRP-l-k, l is
    the depth and k the width: every vertex of a level adds k of its neighbours, so orderings have
    1 + k + … + k^l vertices (the public code allocates 1 + lk, the same for k = 1 or l = 1).
    Departures: edge labels scale the weights of a pair of positions (the public code has a matrix
    for each).
    """

    name, title = "lrp", "Deep LRP"
    source = "Chen et al., NeurIPS 2020"
    Options = LRPOptions

    @classmethod
    def build(cls, graphs: Graphs, options: LRPOptions, edged: bool) -> PeerStructure:
        return local_orderings(graphs, options.depth, options.width, edged)

    def layer(self, number: int) -> nn.Module:  # noqa: ARG002
        return LRPLayer(self.shape, self.options)
