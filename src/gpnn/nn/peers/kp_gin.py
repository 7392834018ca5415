"""KP-GIN and KP-GIN+: messages from every hop, with the edges among their senders."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...graph.graphs import Graphs
from ...graph.peers.shells import EDGE_COUNTS, KERNELS, k_hop_shells
from ...graph.peers.structure import PeerStructure
from ...options import Choice, Flag, Rule, Whole, check_options
from ..batch import GraphBatch
from ..linear import Linear
from ..lookup import lookup
from ..norm import MLP
from .base import Encode, Shape, VertexPeer, cells_of

__all__ = ["KPGIN", "KPGINLayer", "KPGINOptions", "KPGINPlusLayer"]


@dataclass(frozen=True)
class KPGINOptions:
    """``hops``: K; ``kernel``: ``shortest`` or ``diffusion``; ``combine``: ``geometric`` or
    ``attention``; ``plus``: KP-GIN+."""

    hops: int = 3
    kernel: str = "shortest"
    combine: str = "geometric"
    plus: bool = False

    def __post_init__(self) -> None:
        rules: dict[str, Rule] = {
            "hops": Whole(1, 16),
            "kernel": Choice(KERNELS),
            "combine": Choice(("geometric", "attention")),
            "plus": Flag(),
        }
        check_options(self, (), rules)


class KPGINLayer(nn.Module):
    r"""For every hop k, with :math:`Q_k(v)` the k-hop neighbours and :math:`E_c` the edges of a
    connected component c of the peripheral subgraph :math:`G[Q_k(v)]`,

    .. math::
        m^k_v &= \sum_{u \in Q_k(v)} x^k_u + \sum_{c} P[\min(|E_c|, 32)], \qquad x^k = x A_k \\
        h^k_v &= \mathrm{MLP}_k\big((1 + \epsilon)\, x^k_v + m^k_v\big) \\
        y_v &= \Big(\sum_k \theta_k h^k_v\Big) W

    ``geometric``: :math:`\theta_k = \mathrm{softmax}_k\, \alpha (1 - \alpha)^{k - 1}` with
    :math:`\alpha = \sigma(a)`; ``attention``: :math:`\theta_k = \mathrm{softmax}_k\, \tanh(h^k_v)
    w`. Every hop has 1/K of the width. If edges have labels, messages of the first hop are
    :math:`\mathrm{ReLU}(x^1_u + e_{uv} B)`.
    """

    def __init__(self, shape: Shape, options: KPGINOptions) -> None:
        super().__init__()
        self.hops = options.hops
        self.part = max(1, shape.width // options.hops)
        self.split = Linear(shape.width, self.part * self.hops, bias=False)
        self.edge = Linear(shape.width, self.part, bias=False) if shape.edged else None
        self.mlps = nn.ModuleList(MLP(self.part, self.part, self.part) for _ in range(options.hops))
        self.periphery = nn.Parameter(torch.empty(EDGE_COUNTS + 1, self.part))
        self.epsilon = nn.Parameter(torch.zeros(()))
        self.alpha = self.query = None
        if options.combine == "geometric":
            self.alpha = nn.Parameter(torch.zeros(()))
        else:
            self.query = Linear(self.part, 1, bias=False)
        self.out = Linear(self.part, shape.width, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.periphery)

    def forward(self, x: Tensor, batch: GraphBatch, encode: Encode | None) -> Tensor:
        cells = cells_of(batch)
        edges_of = lookup(self.periphery, cells.rows["component"].codes["edges"])
        outputs = []
        for k, own in enumerate(self.split(x).chunk(self.hops, -1)):
            message = _hop(own.contiguous(), k + 1, batch, encode, self.edge)
            message = cells.sums[f"periphery {k + 1}"].sum(edges_of, onto=message)
            z = (1 + self.epsilon)[..., None, None] * own + message
            outputs.append(torch.relu(self.mlps[k](z, batch.vertex_weight)))
        rows = torch.stack(outputs, -2)
        out: Tensor = self.out((self._theta(rows) * rows).sum(-2))
        return out

    def _theta(self, rows: Tensor) -> Tensor:
        """The weight of every hop, from [..., n, K, part]; sums to 1 over K."""
        if self.alpha is not None:
            alpha = torch.sigmoid(self.alpha)[..., None]
            power = torch.arange(self.hops, device=rows.device, dtype=rows.dtype)
            theta = torch.softmax(alpha * (1 - alpha) ** power, -1)
            return theta[..., None, :, None]
        assert self.query is not None
        flat = torch.tanh(rows).flatten(-3, -2)
        score: Tensor = self.query(flat)
        return torch.softmax(score.view(*rows.shape[:-1], 1), -2)


class KPGINPlusLayer(nn.Module):
    r"""Like :class:`KPGINLayer`, but in layer l the messages of hop k come from k - 1 layers
    before, for k ≤ min(K, l):

    .. math::
        y_v = \mathrm{MLP}\Big((1 + \epsilon)\, x^{(l)}_v + \sum_k (1 + \epsilon_k)\,
            \mathrm{ReLU}\big(\sum_{u \in Q_k(v)} x^{(l - k + 1)}_u + \sum_c P_k[|E_c|]\big)\Big)
    """

    def __init__(self, shape: Shape, options: KPGINOptions, number: int) -> None:
        super().__init__()
        self.hops = min(options.hops, number + 1)
        self.mlp = MLP(shape.width, shape.width, shape.width, bias=False)
        self.edge = Linear(shape.width, shape.width, bias=False) if shape.edged else None
        self.periphery = nn.Parameter(torch.empty(EDGE_COUNTS + 1, shape.width))
        self.epsilon = nn.Parameter(torch.zeros(self.hops + 1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.mlp.reset_parameters()
        nn.init.normal_(self.periphery)
        nn.init.zeros_(self.epsilon)

    def forward(self, earlier: list[Tensor], batch: GraphBatch, encode: Encode | None) -> Tensor:
        cells = cells_of(batch)
        scale = (1 + self.epsilon)[..., None, None, :]
        edges_of = lookup(self.periphery, cells.rows["component"].codes["edges"])
        total = scale[..., 0] * earlier[-1]
        for k in range(1, self.hops + 1):
            message = _hop(earlier[-k], k, batch, encode, self.edge)
            message = cells.sums[f"periphery {k}"].sum(edges_of, onto=message)
            total = total + scale[..., k] * torch.relu(message)
        out: Tensor = self.mlp(total, batch.vertex_weight)
        return out


def _hop(
    x: Tensor, k: int, batch: GraphBatch, encode: Encode | None, edge: Linear | None
) -> Tensor:
    """Σ over the k-hop neighbours, with edge labels in the first hop."""
    cells = cells_of(batch)
    if k > 1 or encode is None or edge is None:
        return cells.sums[f"hop {k}"].sum(x)
    labels = edge(encode(cells.rows["original"]))
    sent = torch.relu(cells.sums["original from"].sum(x, onto=labels))
    return cells.sums["original to"].sum(sent)


class KPGIN(VertexPeer):
    """Layers of :class:`KPGINLayer`, or of :class:`KPGINPlusLayer`.

    Feng et al., *How Powerful are K-hop Message Passing Graph Neural Networks*, NeurIPS 2022.
    Departures: a component of the peripheral subgraph is encoded by its number of edges (the public
    code takes the mean of their labels and keeps five components in the order in which networkx
    finds them, so it depends on the order of vertices); numbers of paths, and distances inside the
    peripheral subgraph, are not encoded; the geometric weights use the sigmoid that the public code
    computes but does not use; attention has no LSTM; KP-GIN+ has a self term.
    """

    name, title = "kp-gin", "KP-GIN"
    source = "Feng et al., NeurIPS 2022"
    Options = KPGINOptions

    @classmethod
    def build(cls, graphs: Graphs, options: KPGINOptions, edged: bool) -> PeerStructure:
        return k_hop_shells(graphs, options.hops, options.kernel, edged)

    def layer(self, number: int) -> nn.Module:
        if self.options.plus:
            return KPGINPlusLayer(self.shape, self.options, number)
        return KPGINLayer(self.shape, self.options)

    def vertices(self, x: Tensor, batch: GraphBatch, encode: Encode | None) -> Tensor:
        if not self.options.plus:
            return super().vertices(x, batch, encode)
        every = [x]
        for layer, block in zip(self.convs, self.blocks, strict=True):
            every.append(block(every[-1], layer(every, batch, encode), batch))
        return every[-1]
