"""Base GNNs by name: stacks of PyG convolutions that GPNN is plugged into."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, GINEConv, SAGEConv

from ..errors import InputError
from .norm import MLP, WeightedBatchNorm

__all__ = ["BASES", "BaseGNN", "StackedGNN"]


def _gin(width: int) -> nn.Module:
    return GINConv(MLP(width, width, width), train_eps=True)


def _gine(width: int) -> nn.Module:
    return GINEConv(MLP(width, width, width), train_eps=True)


# Self-loops come with the edges (see StackedGNN): adding them inside looks at the data.
BASES: dict[str, Callable[[int], nn.Module]] = {
    "gin": _gin,
    "gine": _gine,
    "gcn": lambda width: GCNConv(width, width, add_self_loops=False),
    "gat": lambda width: GATConv(width, width, add_self_loops=False),
    "sage": lambda width: SAGEConv(width, width),
}
LOOPED = ("gcn", "gat")


class BaseGNN(nn.Module):
    """What a base has to offer: ``forward(x, edge_index, edge_features)`` and ``out_channels``."""

    out_channels: int


class StackedGNN(BaseGNN):
    """Layers of one kind of convolution, each followed by normalisation, ReLU and dropout.

    Args:
        name: ``gin``, ``gine`` (GIN with edge features), ``gcn``, ``gat`` or ``sage``.
        width: features of input, hidden layers and output.

    Shapes: x [n, width], edge_index [2, m], edge features [m, width] or ``None`` → [n, width].
    """

    def __init__(self, name: str, width: int, layers: int, dropout: float = 0.0) -> None:
        super().__init__()
        if name not in BASES:
            raise InputError(f"Unknown base {name!r}. Choose one of {', '.join(BASES)}.")
        self.name, self.out_channels = name, width
        self.convs = nn.ModuleList(BASES[name](width) for _ in range(layers))
        self.norms = nn.ModuleList(WeightedBatchNorm(width) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, edge_index: Tensor, edge_features: Tensor | None = None) -> Tensor:
        if self.name in LOOPED:
            loops = torch.arange(x.shape[0], device=x.device)
            edge_index = torch.cat([edge_index, torch.stack([loops, loops])], dim=1)
        for conv, norm in zip(self.convs, self.norms, strict=True):
            extra = (edge_features,) if self.name == "gine" else ()
            x = conv(x, edge_index, *extra)
            x = self.dropout(torch.relu(norm(x)))
        return x

    def __repr__(self) -> str:
        return (
            f"{self.__class__.__name__}({self.name}, {self.out_channels}, layers={len(self.convs)})"
        )
