"""PPGN: products of matrices over pairs of vertices."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...graph.graphs import Graphs
from ...graph.peers.pairs import all_pairs
from ...graph.peers.structure import PeerStructure
from ..batch import CellBatch, GraphBatch
from ..block import Block
from ..linear import Linear
from ..lookup import lookup
from ..norm import MLP
from .base import Encode, Peer, Shape, Side, cells_of, mean_of

__all__ = ["PPGN", "PPGNOptions", "multiply"]


@dataclass(frozen=True)
class PPGNOptions:
    """No options."""


class PPGN(Peer):
    r"""Blocks on a tensor :math:`X \in R^{n \times n \times w}` of all pairs of vertices:

    .. math::
        X \leftarrow \mathrm{block}\big(\big[X \,\|\, m_1(X) \cdot m_2(X)\big] W\big), \qquad
        z_G = \mathrm{readout}_v\, X_{vv} \,\|\, \mathrm{readout}_{v \ne u}\, X_{vu}

    The product is a product of n × n matrices for every channel; :math:`m_1, m_2` are two-layer
    perceptrons on every pair. X starts from an embedding of the kind of pair (no edge, same vertex
    or edge, with its label), plus the encoded features of v on the diagonal.

    Maron et al., *Provably Powerful Graph Networks*, NeurIPS 2019. Departures: normalisations (the
    paper has none); sums or means over the last block as readout, as for all models here (the paper
    takes maxima).

    Pairs are stored in rows without padding; only for the product they are copied into square
    matrices of a few sizes, padded with zeros (:func:`multiply`).
    """

    name, title = "ppgn", "PPGN"
    source = "Maron et al., NeurIPS 2019"
    Options = PPGNOptions

    @classmethod
    def build(cls, graphs: Graphs, options: PPGNOptions, edged: bool) -> PeerStructure:  # noqa: ARG003
        return all_pairs(graphs)

    def __init__(self, shape: Shape, options: PPGNOptions) -> None:
        super().__init__(shape, options)
        width, layers = shape.width, range(shape.layers)
        self.out_channels = 2 * width
        self.kind = nn.Parameter(torch.empty(3, width))
        self.left = nn.ModuleList(MLP(width, width, width) for _ in layers)
        self.right = nn.ModuleList(MLP(width, width, width) for _ in layers)
        self.skip = nn.ModuleList(Linear(2 * width, width, bias=False) for _ in layers)
        self.blocks = nn.ModuleList(Block(width, shape.block, shape.dropout) for _ in layers)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.kind)

    def read(self, x: Tensor, batch: GraphBatch, encode: Encode | None) -> Tensor:
        cells = cells_of(batch)
        pairs = cells.rows["pair"]
        rows = Side(None, None, pairs.weight, pairs.id)
        h = cells.sums["diagonal"].sum(x, onto=lookup(self.kind, pairs.codes["kind"]))
        if encode is not None:
            joined = (pairs.codes["kind"] == 2).unsqueeze(-1)
            h = h + torch.where(joined, encode(pairs), 0)
        for left, right, skip, block in zip(
            self.left, self.right, self.skip, self.blocks, strict=True
        ):
            product = multiply(left(h, pairs.weight), right(h, pairs.weight), cells)
            h = block(h, skip(torch.cat([h, product], -1)), rows)
        on, off = cells.sums["on"], cells.sums["off"]
        if self.shape.mean:
            return torch.cat([mean_of(on, h), mean_of(off, h)], -1)
        return torch.cat([on.sum(h), off.sum(h)], -1)


def multiply(left: Tensor, right: Tensor, cells: CellBatch) -> Tensor:
    r""":math:`Y_{vu} = \sum_w X_{vw} Z_{wu}` for every channel of every graph, by rows of pairs:
    [..., pairs, w] → [..., pairs, w]."""
    out = torch.zeros_like(left)
    for name, place in cells.sums.items():
        if not name.startswith("grid "):
            continue
        side = int(name.removeprefix("grid "))
        if not len(place.ptr) - 1:
            continue
        square = [
            place.sum(x).unflatten(-2, (-1, side, side)).movedim(-1, -3) for x in (left, right)
        ]
        product = torch.matmul(*square).movedim(-3, -1).flatten(-4, -2)
        out = place.transposed.sum(product, onto=out)
    return out
