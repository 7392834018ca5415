"""Blocks that surround a layer, the same for base GNNs and for GPNN."""

from __future__ import annotations

from torch import Tensor, nn

from .batch import GraphBatch
from .dropout import Dropout
from .linear import Linear
from .norm import MLP, WeightedBatchNorm

__all__ = ["Block", "VirtualNode"]


class Block(nn.Module):
    r"""Combines the features of vertices and the output of a layer into the next features.

    .. math::
        z_v &= \mathrm{drop}\big(\mathrm{ReLU}(\mathrm{norm}(y_v))\big) \\
        \text{plain:} \quad & x'_v = z_v \\
        \text{residual:} \quad & x'_v = x_v + z_v \\
        \text{feed-forward:} \quad & x''_v = x'_v
            + \mathrm{drop}\big(\mathrm{ReLU}(\mathrm{norm}(x'_v) A + a)\, B\big)

    where y is the output of the layer. A feed-forward block is a residual block followed by a
    perceptron of twice the width. If a first layer changes the width, nothing is added: x' is z.

    Args:
        features: width.
        kind: ``plain``, ``residual`` or ``feed-forward``.
        dropout: dropout probability.
        relu: whether to apply the ReLU; ``bias``: whether the normalisation has a bias.

    Shapes: x, y [..., n, features] → [..., n, features].
    """

    def __init__(
        self, features: int, kind: str, dropout: float, relu: bool = True, bias: bool = True
    ) -> None:
        super().__init__()
        self.residual, self.relu = kind != "plain", relu
        self.norm = WeightedBatchNorm(features, bias=bias)
        self.dropout = Dropout(dropout)
        self.feed_forward = None
        if kind == "feed-forward":
            self.feed_forward = FeedForward(features, dropout)

    def forward(self, x: Tensor, y: Tensor, batch: GraphBatch) -> Tensor:
        y = self.norm(y, batch.vertex_weight, relu=self.relu)
        y = self.dropout(y, batch.vertex_id)
        if not self.residual:
            return y
        out = x + y if x.shape[-1] == y.shape[-1] else y
        return out if self.feed_forward is None else self.feed_forward(out, batch)


class FeedForward(nn.Module):
    r""":math:`x_v + \mathrm{drop}\big(\mathrm{ReLU}(\mathrm{norm}(x_v) A + a)\, B\big)`"""

    def __init__(self, features: int, dropout: float) -> None:
        super().__init__()
        self.norm = WeightedBatchNorm(features, bias=False)
        self.first = Linear(features, 2 * features)
        self.second = Linear(2 * features, features, bias=False)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, batch: GraphBatch) -> Tensor:
        y = self.second(self.first(self.norm(x, batch.vertex_weight)).relu())
        return x + self.dropout(y, batch.vertex_id)


class VirtualNode(nn.Module):
    r"""A vertex that is connected to all others of its graph:

    .. math::
        g' = g + \mathrm{MLP}\Big(g + \sum_{v \in G} x_v\Big), \qquad x'_v = x_v + g'

    Shapes: x [..., n, features], g [..., graphs, features] or ``None`` for zero → x', g'.
    """

    def __init__(self, features: int) -> None:
        super().__init__()
        self.mlp = MLP(features, features, features)

    def forward(self, x: Tensor, g: Tensor | None, batch: GraphBatch) -> tuple[Tensor, Tensor]:
        total = batch.readout.sum(x) if g is None else batch.readout.sum(x, onto=g)
        made = self.mlp(total, batch.graph_weight)
        g = made if g is None else g + made
        return batch.readout.transposed.sum(g, onto=x), g
