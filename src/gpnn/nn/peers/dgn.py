"""DGN: messages along the gradient of Laplacian eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...graph.graphs import Graphs
from ...graph.peers.directions import directions
from ...graph.peers.structure import PeerStructure
from ...options import Whole, check_options
from ..batch import GraphBatch
from ..norm import MLP
from .base import Encode, Shape, VertexPeer, cells_of, mean_of

__all__ = ["DGN", "DGNLayer", "DGNOptions"]


@dataclass(frozen=True)
class DGNOptions:
    """``vectors``: number of eigenvectors used as directions."""

    vectors: int = 1

    def __post_init__(self) -> None:
        check_options(self, (), {"vectors": Whole(1, 8)})


class DGNLayer(nn.Module):
    r"""With the matrices of :func:`~gpnn.graph.peers.directions.directions` for every eigenvector,

    .. math::
        y_v = \mathrm{MLP}\Big(x_v \,\|\, \mathrm{mean}_{u \in N(v)}\, x_u \,\|\,
            \sum_{u \in N(v)} x_u \,\|\, (B_{av} x)_v
            \,\|\, |(B_{dx} x)_v| \,\|\, \dots\Big)

    The absolute value makes the sign of an eigenvector irrelevant. Where edges have labels,
    :math:`x_u` becomes :math:`\mathrm{ReLU}(x_u + e_{uv})`.
    """

    def __init__(self, shape: Shape, options: DGNOptions) -> None:
        super().__init__()
        self.vectors, width = options.vectors, shape.width
        self.mlp = MLP((3 + 2 * options.vectors) * width, width, width, bias=False)

    def forward(self, x: Tensor, batch: GraphBatch, encode: Encode | None) -> Tensor:
        cells = cells_of(batch)
        sent, near = x, batch.neighbours
        if encode is not None:
            sent = cells.sums["original from"].sum(x, onto=encode(cells.rows["original"]))
            sent, near = torch.relu(sent), cells.sums["original to"]
        parts = [x, mean_of(near, sent), near.sum(sent)]
        for k in range(1, self.vectors + 1):
            own = cells.sums[f"own {k}"].sum(x)
            derivative = cells.sums[f"derivative {k}"].sum(sent, onto=own)
            parts += [cells.sums[f"average {k}"].sum(sent), derivative.abs()]
        out: Tensor = self.mlp(torch.cat(parts, -1), batch.vertex_weight)
        return out


class DGN(VertexPeer):
    """Layers of :class:`DGNLayer`.

    Beaini et al., *Directional Graph Networks*, ICML 2021. Eigenvectors are those of D - A of every
    connected component. A repeated eigenvalue has no unique eigenvectors: the result then depends
    on the order of vertices, as in the paper, and a note counts these graphs. Departures: mean, sum
    and directional aggregators without degree scalers (with means only, all vertices without
    features would be equal); the vertex's own row is also read.
    """

    name, title = "dgn", "DGN"
    source = "Beaini et al., ICML 2021"
    Options = DGNOptions

    @classmethod
    def build(cls, graphs: Graphs, options: DGNOptions, edged: bool) -> PeerStructure:
        return directions(graphs, options.vectors, edged)

    def layer(self, number: int) -> nn.Module:  # noqa: ARG002
        return DGNLayer(self.shape, self.options)
