"""GraphSNN: neighbours weighted by the overlap of neighbourhoods."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...graph.graphs import Graphs
from ...graph.peers.overlaps import overlaps
from ...graph.peers.structure import PeerStructure
from ...options import Number, check_options
from ..batch import GraphBatch
from ..norm import MLP
from .base import Encode, VertexPeer, cells_of

__all__ = ["GraphSNN", "GraphSNNLayer", "GraphSNNOptions"]

GAMMA = 0.1


@dataclass(frozen=True)
class GraphSNNOptions:
    """``power``: the exponent λ of the overlap weights."""

    power: float = 2.0

    def __post_init__(self) -> None:
        check_options(self, (), {"power": Number(0.0, 8.0)})


class GraphSNNLayer(nn.Module):
    r"""With the normalised weights :math:`\tilde A` of the overlap subgraphs
    (:func:`~gpnn.graph.peers.overlaps.overlaps`),

    .. math::
        h_v = \mathrm{MLP}\Big(\gamma \big(1 + \sum_{u \in N(v)} \tilde A_{vu}\big) x_v
            + \sum_{u \in N(v)} (1 + \tilde A_{vu})\, x_u\Big)

    Where edges have labels, :math:`x_u` becomes :math:`\mathrm{ReLU}(x_u + e_{uv})`.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mlp = MLP(width, width, width, bias=False)
        self.gamma = nn.Parameter(torch.full((), GAMMA))

    def reset_parameters(self) -> None:
        self.mlp.reset_parameters()
        nn.init.constant_(self.gamma, GAMMA)

    def forward(self, x: Tensor, batch: GraphBatch, encode: Encode | None) -> Tensor:
        cells = cells_of(batch)
        overlap, sent = cells.sums["overlap"], x
        if encode is not None:
            edges = encode(cells.rows["original"])
            sent = torch.relu(cells.sums["original from"].sum(x, onto=edges))
        degree = (batch.neighbours.ptr[1:] - batch.neighbours.ptr[:-1]).view(*x.shape[:-1], 1)
        own = self.gamma[..., None, None] * (1 + (degree > 0).to(x.dtype)) * x
        out: Tensor = self.mlp(overlap.sum(sent, onto=own), batch.vertex_weight)
        return out


class GraphSNN(VertexPeer):
    """Layers of :class:`GraphSNNLayer`.

    Wijesinghe and Wang, *A New Perspective on "How Graph Neural Networks Go Beyond
    Weisfeiler-Lehman?"*, ICLR 2022. The rows of :math:`\\tilde A` sum to 1, so the self term is 2γ
    for every vertex with a neighbour. Departures: the public code normalises over padded
    positions of vertices and keeps dropout on at test time; neither is done here.
    """

    name, title = "graphsnn", "GraphSNN"
    source = "Wijesinghe and Wang, ICLR 2022"
    Options = GraphSNNOptions

    @classmethod
    def build(cls, graphs: Graphs, options: GraphSNNOptions, edged: bool) -> PeerStructure:
        return overlaps(graphs, options.power, edged)

    def layer(self, number: int) -> nn.Module:  # noqa: ARG002
        return GraphSNNLayer(self.shape.width)
