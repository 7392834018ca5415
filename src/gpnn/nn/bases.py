"""Base GNNs by name: stacks of well-known convolutions that GPNN is plugged into.

They compute what PyG's layers of the same name compute, on the segments of a batch, so that they
can be stacked and take padding; the tests hold them against PyG.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import InputError
from .batch import GraphBatch
from .dropout import Dropout
from .linear import Linear
from .norm import MLP, WeightedBatchNorm
from .segments import Segments

__all__ = ["BASES", "GAT", "GCN", "GIN", "GINE", "SAGE", "StackedGNN"]


class GIN(nn.Module):
    r""":math:`h_v = \mathrm{MLP}\big((1 + \epsilon)\, x_v + \sum_{u \in N(v)} x_u\big)`

    Args:
        bias: whether the last step adds a bias. Before a batch normalisation it must not: the
            normalisation cancels it, so its gradient is rounding noise.

    Shapes: x [..., n, width] → the same, as in all convolutions here.
    """

    def __init__(self, width: int, bias: bool = True) -> None:
        super().__init__()
        self.mlp = MLP(width, width, width, bias)
        self.epsilon = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor, batch: GraphBatch, edges: Tensor | None) -> Tensor:
        out: Tensor = self.mlp(self.collect(x, batch, edges), batch.vertex_weight)
        return out

    def collect(self, x: Tensor, batch: GraphBatch, edges: Tensor | None) -> Tensor:  # noqa: ARG002
        return batch.neighbours.sum(x, onto=x, factor=1 + self.epsilon)


class GINE(GIN):
    r"""GIN with edge features :math:`e_{uv}`: messages are :math:`\mathrm{ReLU}(x_u + e_{uv})`."""

    def collect(self, x: Tensor, batch: GraphBatch, edges: Tensor | None) -> Tensor:
        assert batch.edges is not None and edges is not None
        messages = torch.relu(batch.edges.gather.sum(x, onto=edges))
        return batch.edges.collect.sum(messages, onto=x, factor=1 + self.epsilon)


class GCN(nn.Module):
    r""":math:`h_v = b + \sum_{u \in N(v) \cup v} x_u W / \sqrt{(1 + deg_u)(1 + deg_v)}`"""

    def __init__(self, width: int, bias: bool = True) -> None:
        super().__init__()
        self.linear = Linear(width, width, bias=False)
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None
        nn.init.xavier_uniform_(self.linear.weight)

    def forward(self, x: Tensor, batch: GraphBatch, edges: Tensor | None) -> Tensor:  # noqa: ARG002
        scale = (1 + _degrees(x, batch)).rsqrt()
        own = scale * self.linear(x)
        return _shifted(scale * batch.neighbours.sum(own, onto=own), self.bias)


class SAGE(nn.Module):
    r""":math:`h_v = x_v W_1 + \mathrm{mean}_{u \in N(v)}\, x_u W_2 + b`"""

    def __init__(self, width: int, bias: bool = True) -> None:
        super().__init__()
        self.own = Linear(width, width, bias=False)
        self.others = Linear(width, width, bias)

    def forward(self, x: Tensor, batch: GraphBatch, edges: Tensor | None) -> Tensor:  # noqa: ARG002
        mean = batch.neighbours.sum(x) / _degrees(x, batch).clamp(min=1)
        out: Tensor = self.own(x) + self.others(mean)
        return out


class GAT(nn.Module):
    r"""Attention over neighbours and the vertex itself, one head:

    .. math::
        h_v = b + \sum_{u \in N(v) \cup v} \frac{e^{l_{uv}}}{\sum_w e^{l_{wv}}}\, x_u W, \qquad
        l_{uv} = \mathrm{LeakyReLU}_{0.2}\big(a^T x_u W + c^T x_v W\big)
    """

    def __init__(self, width: int, bias: bool = True) -> None:
        super().__init__()
        self.linear = Linear(width, width, bias=False)
        self.source = nn.Parameter(torch.empty(1, width))
        self.target = nn.Parameter(torch.empty(1, width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None
        for weight in (self.linear.weight, self.source, self.target):
            nn.init.xavier_uniform_(weight)

    def forward(self, x: Tensor, batch: GraphBatch, edges: Tensor | None) -> Tensor:  # noqa: ARG002
        assert batch.edges is not None
        gather, collect = batch.edges.gather, batch.edges.collect
        h = self.linear(x)
        sent, received = h @ self.source.mT, h @ self.target.mT
        own = functional.leaky_relu(sent + received, 0.2)
        along = functional.leaky_relu(gather.sum(sent) + collect.transposed.sum(received), 0.2)
        top = _largest(own, along, collect)  # a shift of all l that meet in v changes nothing
        own = (own - top).exp()
        along = (along - collect.transposed.sum(top)).exp()
        total = own + collect.sum(along)
        mixed = own * h + collect.sum(along * gather.sum(h))
        return _shifted(mixed / total, self.bias)


def _shifted(x: Tensor, bias: Tensor | None) -> Tensor:
    return x if bias is None else x + bias.unsqueeze(-2)


@torch.no_grad()
def _largest(own: Tensor, along: Tensor, collect: Segments) -> Tensor:
    """The largest of a vertex's own number and those along the edges that end in it."""
    first, last = collect.back_ptr[:-1], collect.back_ptr[1:]
    if not len(collect.back_source):
        return own.clone()
    target = collect.back_source[first.clamp(max=len(collect.back_source) - 1)]
    known = torch.where(last > first, along.flatten(), -torch.inf)  # padding ends in no vertex
    return own.flatten().scatter_reduce(0, target.long(), known, "amax").view_as(own)


def _degrees(x: Tensor, batch: GraphBatch) -> Tensor:
    ptr = batch.neighbours.ptr
    return (ptr[1:] - ptr[:-1]).to(x.dtype).view(*x.shape[:-1], 1)


BASES: dict[str, type[nn.Module]] = {
    "gin": GIN,
    "gine": GINE,
    "gcn": GCN,
    "gat": GAT,
    "sage": SAGE,
}


class StackedGNN(nn.Module):
    """Layers of one kind of convolution, each followed by normalisation, ReLU and dropout.

    Args:
        name: ``gin``, ``gine`` (GIN with edge features), ``gcn``, ``gat`` or ``sage``.
        width: features of input, hidden layers and output.

    Shapes: x [..., n, width], edge features [..., m, width] or ``None`` → [..., n, width].
    """

    def __init__(self, name: str, width: int, layers: int, dropout: float = 0.0) -> None:
        super().__init__()
        if name not in BASES:
            raise InputError(f"Unknown base {name!r}. Choose one of {', '.join(BASES)}.")
        self.name, self.out_channels = name, width
        self.convs = nn.ModuleList(BASES[name](width, bias=False) for _ in range(layers))
        self.norms = nn.ModuleList(WeightedBatchNorm(width) for _ in range(layers))
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, batch: GraphBatch, edges: Tensor | None = None) -> Tensor:
        for layer, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            x = norm(conv(x, batch, edges), batch.vertex_weight, relu=True)
            x = self.dropout(x, batch.vertex_id, layer)
        return x

    def __repr__(self) -> str:
        return (
            f"{self.__class__.__name__}({self.name}, {self.out_channels}, layers={len(self.convs)})"
        )
