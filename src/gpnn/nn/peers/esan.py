"""ESAN: a graph as a bag of its subgraphs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...graph.graphs import Graphs
from ...graph.peers.bags import POLICIES, bags
from ...graph.peers.structure import PeerStructure
from ...options import Choice, Number, Rule, Whole, check_options
from ..batch import GraphBatch
from ..block import Block
from ..dropout import Dropout
from ..linear import Linear
from ..lookup import lookup
from ..norm import WeightedBatchNorm
from .base import Encode, Peer, Shape, cells_of, conv, mean_of, side

__all__ = ["ESAN", "ESANOptions"]


@dataclass(frozen=True)
class ESANOptions:
    """``policy``: ``node`` or ``edge`` (one is deleted), ``ego``, ``ego+`` (the root is marked);
    ``hops``: radius of ego networks; ``variant``: ``ds`` or ``dss``; ``sample``: the fraction of
    subgraphs that a training step keeps."""

    policy: str = "ego+"
    hops: int = 2
    variant: str = "dss"
    sample: float = 1.0

    def __post_init__(self) -> None:
        rules: dict[str, Rule] = {
            "policy": Choice(POLICIES),
            "hops": Whole(1, 8),
            "variant": Choice(("ds", "dss")),
            "sample": Number(0.0, 1.0, above=True),
        }
        check_options(self, (), rules)


class ESAN(Peer):
    r"""A network on every subgraph of a bag, with (DSS) or without (DS) a shared part.

    .. math::
        \text{DS:} \quad & x^S_v \leftarrow \mathrm{block}\big(\mathrm{GIN}(S, x^S)_v\big) \\
        \text{DSS:} \quad & x^S_v \leftarrow \mathrm{block}\Big(\mathrm{GIN}(S, x^S)_v
            + \mathrm{norm}\,\mathrm{GIN}'\big(G, \mathrm{mean}_{S' \ni v}\, x^{S'}\big)_v\Big) \\
        z_G &= \mathrm{mean}_S\, \rho\big(\mathrm{mean}_{v \in S}\, x^S_v\big)

    ρ is a linear map with ReLU for DS and the identity for DSS.

    Bevilacqua et al., *Equivariant Subgraph Aggregation Networks*, ICLR 2022. Departures: a
    subgraph has only its own vertices (the public code keeps deleted and far ones as isolated
    rows); the sum of both parts of DSS is normalised again in the block; a subgraph that is not
    sampled is excluded from all means, which costs as much as keeping it.
    """

    name, title = "esan", "ESAN"
    source = "Bevilacqua et al., ICLR 2022"
    Options = ESANOptions

    @classmethod
    def build(cls, graphs: Graphs, options: ESANOptions, edged: bool) -> PeerStructure:
        return bags(graphs, options.policy, options.hops, edged)

    def __init__(self, shape: Shape, options: ESANOptions) -> None:
        super().__init__(shape, options)
        width, layers, dss = shape.width, range(shape.layers), options.variant == "dss"
        self.convs = nn.ModuleList(conv(shape) for _ in layers)
        self.blocks = nn.ModuleList(Block(width, shape.block, shape.dropout) for _ in layers)
        self.shared = nn.ModuleList(conv(shape) for _ in layers if dss)
        self.norms = nn.ModuleList(WeightedBatchNorm(width) for _ in layers if dss)
        self.set = None if dss else Linear(width, width)
        self.mark = nn.Parameter(torch.empty(2, width)) if options.policy == "ego+" else None
        self.drop = None
        if options.sample < 1:
            self.drop = Dropout(1 - options.sample)
            self.drop.fixed = True
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.mark is not None:
            nn.init.normal_(self.mark)

    def read(self, x: Tensor, batch: GraphBatch, encode: Encode | None) -> Tensor:
        cells = cells_of(batch)
        copied, bag = cells.sums["copied"], cells.sums["bag"]
        inside, outside = side(batch, "copy", "adjacent"), side(batch, "vertex", "original")
        edges = None if encode is None else encode(cells.rows["adjacent"])
        around = None if encode is None else encode(cells.rows["original"])
        kept = copy_kept = None
        if self.drop is not None and self.training:
            rows = cells.rows["subgraph"].id
            kept = self.drop(x.new_ones(*rows.shape, 1), rows)
            copy_kept = bag.transposed.sum(kept)
        h = copied.sum(x)
        if self.mark is not None:
            far = cells.rows["copy"].codes["hops"]
            h = h + lookup(self.mark, far.clamp(max=1))
        for layer, (own, block) in enumerate(zip(self.convs, self.blocks, strict=True)):
            y = own(h, inside, edges)
            if len(self.shared):
                common = mean_of(copied.transposed, h, copy_kept)
                common = self.shared[layer](common, outside, around)
                common = self.norms[layer](common, batch.vertex_weight)
                y = copied.sum(common, onto=y)
            h = block(h, y, inside)
        z = mean_of(bag, h)
        if self.set is not None:
            z = torch.relu(self.set(z))
        return mean_of(cells.sums["pool"], z, kept)
