"""GPNN: stacked layers, alone or plugged into a base GNN, with readout and head."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError
from .bases import StackedGNN
from .batch import GraphBatch, Terms
from .branch import Branch
from .config import GPNNConfig, Level
from .conv import GPNNConv
from .dropout import Dropout
from .encode import FeatureEncoder
from .linear import Linear
from .lookup import lookup
from .norm import WeightedBatchNorm
from .parts import PairEmbedding, PartLinear

__all__ = ["GPNN"]

MAX_HOPS = 8


class GPNN(nn.Module):
    r"""A graph partitioning neural network.

    .. math::
        h_v = \big(h_v^{gnn} \,\|\, \gamma_v^{(L)}\big), \qquad
        y_G = \mathrm{head}\Big(\mathrm{readout}_{v \in G}\, h_v \,\big\|\, c_G\Big)

    :math:`\gamma^{(l)}` comes from :class:`~gpnn.nn.conv.GPNNConv`, :math:`h^{gnn}` from the base
    GNN where there is one, :math:`c_G` counts the connected components of every part. For node
    tasks :math:`c_G` joins every :math:`h_v` and there is no readout. With ``jump="cat"`` all
    :math:`\gamma^{(1)}, \dots, \gamma^{(L)}` are concatenated. γ passes a batch normalisation
    after every layer, which the paper does not mention: its sums over parts grow with degree.

    Args:
        config: the shape of the network; or give its fields by name, as in
            ``GPNN(base="gin", outputs=2, **ready.options)``.
        base: the name of a base GNN or a module of your own,
            ``forward(x, edge_index) -> [n, out_channels]`` (``config.base`` is then "custom").

    Attributes:
        vocabulary: digest of the parts that it knows: those of the graphs that came first.

    Shapes: a :class:`~gpnn.nn.batch.GraphBatch` → [graphs, outputs] or [n, outputs].
    """

    def __init__(
        self,
        config: GPNNConfig | None = None,
        base: nn.Module | str | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if config is None:
            named = "custom" if isinstance(base, nn.Module) else base
            config = GPNNConfig(base=named, **options)
            base = base if isinstance(base, nn.Module) else None
        elif options or isinstance(base, str):
            raise InputError("Give either a config or its fields by name, not both.")
        self.config = config
        width = config.hidden
        self.encoder = FeatureEncoder(width, config.features, config.codes)
        self.edge_encoder = None
        if config.base == "gine":
            kinds = () if config.edge_features else (config.edge_labels + 1,)
            self.edge_encoder = FeatureEncoder(width, config.edge_features, kinds)
        self.base = self._make_base(base)
        joined = 0 if self.base is None else int(self.base.out_channels)  # type: ignore[arg-type]
        if config.gpnn:
            self.colour = nn.Parameter(torch.empty(config.parts, width))
            hops = MAX_HOPS if config.distances else 0
            self.pair = PairEmbedding(config.parts, width, config.edge_labels, hops)
            self.pair_features = (
                Linear(config.edge_features, width, bias=False) if config.edge_features else None
            )
            self.convs = nn.ModuleList(
                GPNNConv(width, config.parts, config.pair_update) for _ in range(config.layers)
            )
            # A constant that the last γ adds to every vertex is cancelled by the head's
            # normalisation, unless the readout multiplies it by the number of vertices.
            counted = config.level == Level.GRAPH and config.readout == "sum"
            last = config.layers - 1
            self.norms = nn.ModuleList(
                WeightedBatchNorm(width, bias=counted or layer < last)
                for layer in range(config.layers)
            )
            joined += width * (config.layers if config.jump == "cat" else 1)
        joined += config.parts if config.component_feature else 0
        self.dropout = Dropout(config.dropout)
        self.head_norm = WeightedBatchNorm(joined)
        hidden = config.head == "mlp"
        self.head_first = Linear(joined, width) if hidden else None
        self.head_second = Linear(width if hidden else joined, config.outputs)
        self.reset_parameters()

    def _make_base(self, base: Any) -> nn.Module | None:
        config = self.config
        if (base is None) == (config.base == "custom"):
            raise InputError("A base module goes with config.base='custom', and only with it.")
        if base is not None:
            if not hasattr(base, "out_channels"):
                raise InputError(
                    f"The base {type(base).__name__} does not say how wide its output is. Set its "
                    "attribute out_channels."
                )
            return base
        if config.base is None:
            return None
        return StackedGNN(config.base, config.hidden, config.layers, config.dropout)

    def reset_parameters(self) -> None:
        self.vocabulary = ""
        if self.config.gpnn:
            nn.init.normal_(self.colour)
            with torch.no_grad():
                self.colour[-1] = 0

    @torch.no_grad()
    def forget_parts(self, unseen: Tensor) -> None:
        """Start the parts that training will not meet at zero, like the reserved one, [parts]."""
        self.colour[unseen] = 0
        self.pair.forget_parts(unseen)
        for module in self.convs.modules():
            if isinstance(module, PartLinear):
                module.forget_parts(unseen)
        if self.config.component_feature:  # a count that never varies in training means nothing
            reader = self.head_second if self.head_first is None else self.head_first
            reader.weight[:, -self.config.parts :][:, unseen] = 0

    def forward(self, batch: GraphBatch) -> Tensor:
        return self._read(self._embedded(batch), batch)

    def embed(self, batch: GraphBatch) -> Tensor:
        """h_v of every vertex, [n, features], in the batch's own order (sorted by part)."""
        return torch.cat(self._embedded(batch), dim=-1)

    def head(self, h: Tensor, batch: GraphBatch) -> Tensor:
        """From vertex embeddings to outputs."""
        return self._read([h], batch)

    def _embedded(self, batch: GraphBatch) -> list[Tensor]:
        """h_v as the blocks of features that it is made of."""
        if not isinstance(batch, GraphBatch):
            raise InputError(
                f"A GPNN reads batches of prepared graphs; got {type(batch).__name__}. Make them "
                "with prepare_data(dataset).batches(range(len(dataset)), size=32)."
            )
        x = self.encoder(batch.x)
        if not self.config.gpnn:
            return [self._run_base(x, batch)]
        if self.base is None:
            return self._joined(x, batch)
        with Branch("base", x) as beside:
            h = self._run_base(x, batch)
        layers = self._joined(x, batch)
        beside.bring(h)
        return [h, *layers]

    def _joined(self, x: Tensor, batch: GraphBatch) -> list[Tensor]:
        """γ of the layers that the head reads."""
        layers = self.interact(x, batch)
        return layers if self.config.jump == "cat" else layers[-1:]

    def _run_base(self, x: Tensor, batch: GraphBatch) -> Tensor:
        assert self.base is not None
        if not isinstance(self.base, StackedGNN):
            assert batch.edges is not None
            out: Tensor = self.base(x, batch.edges.index)
            return out
        if self.edge_encoder is None:
            return self.base(x, batch)
        assert batch.edges is not None
        features = batch.edges.features
        edges = batch.edges.label.unsqueeze(-1) if features is None else features
        return self.base(x, batch, self.edge_encoder(edges))

    def interact(self, x: Tensor, batch: GraphBatch) -> list[Tensor]:
        """γ of every layer, each [n, hidden]."""
        self._check(batch)
        gamma = lookup(self.colour, batch.part)
        if not self.config.colours_only:
            gamma = gamma + x
        layers = []
        with Branch("interactions", batch.start) as beside:
            alpha = start = self._start(batch)
        for layer, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            assert isinstance(conv, GPNNConv)
            with beside:
                alpha, told = conv.interactions(alpha, start, batch.rounds[layer])
            beside.bring(told)
            gamma = norm(conv.combine(gamma, told, batch), batch.vertex_weight)
            layers.append(gamma)
            gamma = self.dropout(gamma, batch.vertex_id, layer + 1)
        return layers

    def _check(self, batch: GraphBatch) -> None:
        """Refuse graphs that were prepared for another model."""
        if len(batch.rounds) < len(self.convs):
            raise InputError(
                f"The graphs were prepared for {len(batch.rounds)} layers and the model has "
                f"{len(self.convs)}. Prepare them with layers={len(self.convs)}."
            )
        if batch.terms is None:
            return
        config, met = self.config, self.vocabulary or batch.terms.vocabulary
        own = Terms(
            config.scheme, config.interactions, config.d, config.distances, config.parts, met
        )
        if batch.terms != own:
            raise InputError(
                f"The graphs were prepared with {batch.terms.differing(own)}, and the model has "
                f"{own.differing(batch.terms)}. Give both the same: the model the options of what "
                "it is trained on, GPNN(..., **ready.options), and later graphs its parts, "
                "prepare_data(..., vocabulary=ready.vocabulary)."
            )
        self.vocabulary = met

    def _start(self, batch: GraphBatch) -> Tensor:
        """α of the start classes."""
        start: Tensor = self.pair(batch.start)
        if self.pair_features is not None:
            start = start + self.pair_features(batch.start_features)
        return start

    def _read(self, blocks: list[Tensor], batch: GraphBatch) -> Tensor:
        """Readout block by block, so that no wide row is made for every vertex, then the head."""
        if self.config.level == Level.GRAPH:
            weight, rows = batch.graph_weight, batch.graph_id
            h = torch.cat([batch.readout.sum(block) for block in blocks], dim=-1)
            if self.config.readout == "mean":
                h = h / batch.vertices.to(h.dtype).clamp(min=1)
            components = batch.components.to(h.dtype)
        else:
            weight, rows = batch.vertex_weight, batch.vertex_id
            assert batch.order is not None
            h = torch.cat([batch.order.sum(block) for block in blocks], dim=-1)
            components = batch.readout.transposed.sum(batch.components.to(h.dtype))
            components = batch.order.sum(components)
        if self.config.component_feature:
            h = torch.cat([h, components], dim=-1)
        h = self.head_norm(h, weight)
        if self.head_first is not None:
            h = torch.relu(self.head_first(h))
        out: Tensor = self.head_second(self.dropout(h, rows))
        return out

    def __repr__(self) -> str:
        config = self.config
        base = f", base={config.base}" if config.base else ""
        reach = f"d={config.d}{', distances' if config.distances else ''}"
        kind = f"{config.scheme}, {config.interactions}, {reach}" if config.gpnn else "base alone"
        size = sum(p.numel() for p in self.parameters())
        return (
            f"{self.__class__.__name__}({kind}{base}, layers={config.layers}, "
            f"hidden={config.hidden}, {size:,} parameters)"
        )
