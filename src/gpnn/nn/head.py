"""From vertex embeddings to outputs."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .batch import GraphBatch
from .dropout import Dropout
from .linear import Linear
from .norm import WeightedBatchNorm
from .part_weights import draw_parts

__all__ = ["Head"]

LIMIT = 5.0
"""Standard deviations at which descriptors are clipped: rare ones vary little in training."""


class Head(nn.Module):
    r"""Readout and output layers.

    .. math::
        z_G = \mathrm{readout}_{v \in G}\, h_v, \qquad
        y_G = \sigma\big(\mathrm{norm}(z_G)\, A + \mathrm{norm}(c_G)\, C
            + \mathrm{norm}(x_G)\, D + a\big)\, B + b

    :math:`c_G` counts the connected components of every part, :math:`x_G` are the descriptors of
    the graph if there are any, normalised and clipped at ±5. In node tasks :math:`z = h_v`, and
    every vertex gets the counts of its graph. A linear head ends before :math:`\sigma`.

    Args:
        inputs, hidden, outputs: widths; ``hidden`` is ``None`` for a linear head.
        keys: keys of the parts whose components are counted, or ``None``.
        node: whether outputs belong to vertices.
        mean: whether the readout is a mean; otherwise it is a sum.
        norm: whether :math:`z_G` is normalised.
        descriptors: width of :math:`x_G`, or 0.

    Shapes: blocks of features [..., n, width], together ``inputs`` wide → [..., graphs, outputs],
    or [..., n, outputs] in input order.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int | None,
        outputs: int,
        keys: Tensor | None,
        node: bool,
        mean: bool,
        norm: bool,
        dropout: Dropout,
        descriptors: int = 0,
    ) -> None:
        super().__init__()
        self.node, self.mean, self.dropout = node, mean, dropout
        self.keys, self.part_dims = keys, {"counts": (0,)}
        self.norm = WeightedBatchNorm(inputs) if norm else None
        self.first = None if hidden is None else Linear(inputs, hidden)
        self.second = Linear(inputs if hidden is None else hidden, outputs)
        self.counts = self.count_norm = None
        if keys is not None:
            reader = self.second if self.first is None else self.first
            self.counts = nn.Parameter(torch.empty(len(keys), reader.out_features))
            self.count_norm = WeightedBatchNorm(len(keys), bias=False)
            names = ("weight", "bias", "running_mean", "running_var")
            self.count_norm.part_dims = dict.fromkeys(names, (0,))
        self.given_norm = self.given = None
        if descriptors:
            self.given_norm = WeightedBatchNorm(descriptors, bias=False)
            self.given = Linear(descriptors, hidden or outputs, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        own = (self.norm, self.first, self.second, self.count_norm, self.given_norm, self.given)
        for module in own:
            if module is not None:
                module.reset_parameters()
        if self.counts is not None:
            assert self.keys is not None
            reader = self.second if self.first is None else self.first
            bound = 1 / math.sqrt(reader.in_features)
            draw_parts(self.counts, (0,), self.keys, uniform=bound)

    def forward(self, blocks: list[Tensor], batch: GraphBatch) -> Tensor:
        """Read block by block, so that vertices need no concatenated row before the readout."""
        return self.finish(self.read(blocks, batch), batch)

    def finish(self, z: Tensor, batch: GraphBatch) -> Tensor:
        """Compute the outputs from z."""
        z = self.first_layer(z, batch)
        if self.first is None:
            return z
        return self.second(self.dropout(torch.relu(z), self._rows(batch)))

    def first_layer(self, z: Tensor, batch: GraphBatch) -> Tensor:
        """The argument of σ, or the outputs of a linear head."""
        weight = batch.vertex_weight if self.node else batch.graph_weight
        if self.norm is not None:
            z = self.norm(z, weight)
        beside = self._beside(batch, z.dtype, weight)
        if self.first is None:
            out: Tensor = self.second(self.dropout(z, self._rows(batch)))
        else:
            out = self.first(z)
        return out if beside is None else out + beside

    def _rows(self, batch: GraphBatch) -> Tensor | None:
        return batch.vertex_id if self.node else batch.graph_id

    def read(self, blocks: list[Tensor], batch: GraphBatch) -> Tensor:
        """z of every graph, or of every vertex in input order."""
        if self.node:
            assert batch.order is not None
            return torch.cat([batch.order.sum(block) for block in blocks], dim=-1)
        z = torch.cat([batch.readout.sum(block) for block in blocks], dim=-1)
        return z / batch.vertices.to(z.dtype).clamp(min=1) if self.mean else z

    def _beside(
        self, batch: GraphBatch, dtype: torch.dtype, weight: Tensor | None
    ) -> Tensor | None:
        """The terms added to that of the readout: component counts and descriptors."""
        counted = self._counted(batch, dtype, weight)
        if self.given is None or self.given_norm is None:
            return counted
        assert batch.descriptors is not None
        normed = self.given_norm(batch.descriptors.to(dtype), weight).clamp(-LIMIT, LIMIT)
        given: Tensor = self.given(self.dropout(normed, self._rows(batch)))
        return given if counted is None else counted + given

    def _counted(
        self, batch: GraphBatch, dtype: torch.dtype, weight: Tensor | None
    ) -> Tensor | None:
        if self.counts is None or self.count_norm is None:
            return None
        counts = batch.components.to(dtype)
        if self.node:
            assert batch.order is not None
            counts = batch.order.sum(batch.readout.transposed.sum(counts))
        normed: Tensor = self.count_norm(counts, weight)
        return normed @ self.counts
