"""Base GNNs by name: stacks of well-known convolutions that GPNN is plugged into.

They compute the same as PyG's layers of the same name, but on the segments of a batch, so that they
support stacked replicas and padding; the tests compare them with PyG.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import InputError
from ..text import did_you_mean
from .batch import GraphBatch
from .block import Block, VirtualNode
from .dropout import Dropout
from .linear import Linear
from .norm import MLP
from .recompute import piece
from .segments import Segments

__all__ = [
    "BASES",
    "EDGED",
    "GAT",
    "GCN",
    "GIN",
    "GINE",
    "SAGE",
    "StackedGNN",
    "check_base_name",
    "known_bases",
    "make_base",
    "register_base",
]


class GIN(nn.Module):
    r""":math:`h_v = \mathrm{MLP}\big((1 + \epsilon)\, x_v + \sum_{u \in N(v)} x_u\big)`

    Args:
        inputs, width: features of input and output.
        norm: whether a batch normalisation follows, and another is inside the MLP. The last step
            then has no bias: the normalisation would cancel it, and its gradient would be rounding
            noise.

    Shapes: x [..., n, inputs] → [..., n, width], as in all convolutions here.
    """

    def __init__(self, inputs: int, width: int, norm: bool = True) -> None:
        super().__init__()
        self.mlp = MLP(inputs, width, width, bias=not norm, norm=norm)
        self.epsilon = nn.Parameter(torch.zeros(()))

    def reset_parameters(self) -> None:
        self.mlp.reset_parameters()
        nn.init.zeros_(self.epsilon)

    def forward(self, x: Tensor, batch: GraphBatch, edges: Tensor | None) -> Tensor:
        out: Tensor = self.mlp(self.collect(x, batch, edges), batch.vertex_weight)
        return out

    def collect(self, x: Tensor, batch: GraphBatch, edges: Tensor | None) -> Tensor:  # noqa: ARG002
        return batch.neighbours.sum(x, onto=batch.own(x), factor=1 + self.epsilon)


class GINE(GIN):
    r"""GIN with edge features :math:`e_{uv}`: messages are :math:`\mathrm{ReLU}(x_u + e_{uv})`."""

    def collect(self, x: Tensor, batch: GraphBatch, edges: Tensor | None) -> Tensor:
        assert batch.edges is not None and edges is not None
        messages = torch.relu(batch.edges.gather.sum(x, onto=edges))
        return batch.edges.collect.sum(messages, onto=x, factor=1 + self.epsilon)


class GCN(nn.Module):
    r""":math:`h_v = b + \sum_{u \in N(v) \cup v} x_u W / \sqrt{(1 + deg_u)(1 + deg_v)}`"""

    def __init__(self, inputs: int, width: int, norm: bool = True) -> None:
        super().__init__()
        self.linear = Linear(inputs, width, bias=False)
        self.bias = None if norm else nn.Parameter(torch.empty(width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.linear.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, batch: GraphBatch, edges: Tensor | None) -> Tensor:  # noqa: ARG002
        scale = (1 + _degrees(x, batch)).rsqrt()
        own = scale * self.linear(x)
        return _shifted(scale * batch.neighbours.sum(own, onto=own), self.bias)


class SAGE(nn.Module):
    r""":math:`h_v = x_v W_1 + \mathrm{mean}_{u \in N(v)}\, x_u W_2 + b`"""

    def __init__(self, inputs: int, width: int, norm: bool = True) -> None:
        super().__init__()
        self.own = Linear(inputs, width, bias=False)
        self.others = Linear(inputs, width, bias=not norm)

    def forward(self, x: Tensor, batch: GraphBatch, edges: Tensor | None) -> Tensor:  # noqa: ARG002
        own = batch.own(x)
        mean = batch.neighbours.sum(x) / _degrees(own, batch).clamp(min=1)
        out: Tensor = self.own(own) + self.others(mean)
        return out


class GAT(nn.Module):
    r"""Attention over neighbours and the vertex itself, one head:

    .. math::
        h_v = b + \sum_{u \in N(v) \cup v} \frac{e^{l_{uv}}}{\sum_w e^{l_{wv}}}\, x_u W, \qquad
        l_{uv} = \mathrm{LeakyReLU}_{0.2}\big(a^T x_u W + c^T x_v W\big)
    """

    def __init__(self, inputs: int, width: int, norm: bool = True) -> None:
        super().__init__()
        self.linear = Linear(inputs, width, bias=False)
        self.source = nn.Parameter(torch.empty(1, width))
        self.target = nn.Parameter(torch.empty(1, width))
        self.bias = None if norm else nn.Parameter(torch.empty(width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for weight in (self.linear.weight, self.source, self.target):
            nn.init.xavier_uniform_(weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, batch: GraphBatch, edges: Tensor | None) -> Tensor:  # noqa: ARG002
        assert batch.edges is not None
        gather, collect = batch.edges.gather, batch.edges.collect
        h = self.linear(x)
        sent, received = h @ self.source.mT, h @ self.target.mT
        own = functional.leaky_relu(sent + received, 0.2)
        along = functional.leaky_relu(gather.sum(sent) + collect.transposed.sum(received), 0.2)
        top = _largest(own, along, collect)  # softmax is invariant to a shift of all l at v
        own = (own - top).exp()
        along = (along - collect.transposed.sum(top)).exp()
        total = own + collect.sum(along)
        mixed = own * h + collect.sum(along * gather.sum(h))
        return _shifted(mixed / total, self.bias)


def _shifted(x: Tensor, bias: Tensor | None) -> Tensor:
    return x if bias is None else x + bias.unsqueeze(-2)


@torch.no_grad()
def _largest(own: Tensor, along: Tensor, collect: Segments) -> Tensor:
    """The maximum of a vertex's own value and the values of the edges that end in it."""
    first, last = collect.back_ptr[:-1], collect.back_ptr[1:]
    if not len(collect.back_source):
        return own.clone()
    target = collect.back_source[first.clamp(max=len(collect.back_source) - 1)]
    known = torch.where(last > first, along.flatten(), -torch.inf)  # padding ends in no vertex
    return own.flatten().scatter_reduce(0, target.long(), known, "amax").view_as(own)


def _degrees(x: Tensor, batch: GraphBatch) -> Tensor:
    if batch.degree is not None:
        return batch.degree.to(x.dtype).view(*x.shape[:-1], 1)
    ptr = batch.neighbours.ptr
    return (ptr[1:] - ptr[:-1]).to(x.dtype).view(*x.shape[:-1], 1)


BASES: dict[str, type[nn.Module]] = {
    "gin": GIN,
    "gine": GINE,
    "gcn": GCN,
    "gat": GAT,
    "sage": SAGE,
}
"""The convolutions of the built-in bases."""

EDGED = ("gine", "gat")
"""The bases that read the edges of a batch, not only sums over neighbours."""


class StackedGNN(nn.Module):
    """Layers of one kind of convolution, each in a block of at least normalisation, ReLU and
    dropout.

    Without normalisation it is PyG's stack of that layer (``torch_geometric.nn.GCN(inputs, width,
    layers)`` and similar), with ReLU and dropout between the layers and nothing after the last.

    Args:
        name: ``gin``, ``gine`` (GIN with edge features), ``gcn``, ``gat`` or ``sage``.
        inputs, width: features of the input; of hidden layers and output.
        norm: whether there are batch normalisations.
        block, virtual_node: what surrounds the layers, see :mod:`gpnn.nn.block`.

    Shapes: x [..., n, inputs], edge features [..., m, width] or ``None`` → [..., n, width].
    """

    def __init__(
        self,
        name: str,
        inputs: int,
        width: int,
        layers: int,
        dropout: float = 0.0,
        norm: bool = True,
        block: str = "plain",
        virtual_node: bool = False,
    ) -> None:
        super().__init__()
        self.name, self.out_channels = name, width
        self.convs = nn.ModuleList(
            BASES[name](width if layer else inputs, width, norm) for layer in range(layers)
        )
        self.blocks = nn.ModuleList(Block(width, block, dropout) for _ in range(layers * norm))
        self.virtual = nn.ModuleList(VirtualNode(width) for _ in range(virtual_node * (layers - 1)))
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Tensor, batch: GraphBatch, edges: Tensor | None = None, again: bool = False
    ) -> Tensor:
        """With ``again``, layers are recomputed in the backward pass."""
        everywhere = None
        for layer in range(len(self.convs)):
            if layer and len(self.virtual):
                x, everywhere = self.virtual[layer - 1](x, everywhere, batch)
            x = piece(again, self._layer, layer, x, batch, edges)
        return x

    def _layer(self, layer: int, x: Tensor, batch: GraphBatch, edges: Tensor | None) -> Tensor:
        rows = batch.base_layer(layer)
        y: Tensor = self.convs[layer](x, rows, edges)
        if len(self.blocks):
            return self.blocks[layer](rows.own(x), y, rows)
        if layer < len(self.convs) - 1:
            return self.dropout(torch.relu(y), rows.vertex_id, layer)
        return y

    def __repr__(self) -> str:
        return (
            f"{self.__class__.__name__}({self.name}, {self.out_channels}, layers={len(self.convs)})"
        )


BaseFactory = Callable[[int, int, int, float], nn.Module]
_REGISTERED: dict[str, BaseFactory] = {}


def register_base(name: str, factory: BaseFactory) -> BaseFactory:
    """Register a custom base GNN by name for ``GPNN``, the estimators and the commands.

    Args:
        name: any name except those of built-in bases; registering a name again replaces it.
        factory: called as ``factory(in_channels, hidden, layers, dropout)``; returns a module with
            ``forward(x, edge_index)`` → [n, out_channels] and an attribute ``out_channels``. A
            ``forward`` with a parameter ``edge_attr`` also receives the edge features.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(f"A base needs a name of letters, digits and '_'; got {name!r}.")
    if name in (*BASES, "custom", "none"):
        raise InputError(f"{name!r} is a built-in base. Choose another name.")
    if not callable(factory):
        raise InputError(f"The base {name!r} needs a function that makes it; got {factory!r}.")
    _REGISTERED[name] = factory
    return factory


def known_bases() -> tuple[str, ...]:
    """The names of all bases, built-in ones first."""
    return (*BASES, *_REGISTERED)


def check_base_name(name: str) -> None:
    """Reject a name that no base has."""
    if name not in known_bases():
        meant = did_you_mean(name, known_bases())
        raise InputError(
            f"Unknown base {name!r}.{meant} Choose one of {', '.join(known_bases())}, or register "
            "it: gpnn.register_base, or --plugin FILE.py."
        )


def make_base(
    name: str, inputs: int, width: int, layers: int, dropout: float, **built_in: Any
) -> nn.Module:
    """Create a base by name; ``built_in`` options are for built-in bases, see
    :class:`StackedGNN`."""
    if name in BASES:
        return StackedGNN(name, inputs, width, layers, dropout, **built_in)
    check_base_name(name)
    return check_base(_REGISTERED[name](inputs, width, layers, dropout))


def check_base(base: nn.Module) -> nn.Module:
    """Reject a module without the attribute ``out_channels``."""
    if not isinstance(base, nn.Module) or not hasattr(base, "out_channels"):
        raise InputError(
            f"The base {type(base).__name__} does not give the width of its output. Set its "
            "attribute out_channels."
        )
    return base
