"""``GPNNConv``: the GPNN layer for custom models, with the interface of PyG's convolutions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import InputError
from ..graph.graphs import Graphs
from ..graph.partition import Partition, unique_rows
from ..graph.registry import Scheme
from ..graph.structure import Structure
from ..graph.vocabulary import UnseenColours, Vocabulary
from ..options import Whole
from .batch import GraphBatch
from .config import usual_weights
from .layer import InteractionLayer
from .linear import Linear
from .parts import PairEmbedding
from .prepare import prepare_graphs

__all__ = ["GPNNConv"]

_GIVEN = Scheme("given", lambda _: np.zeros(0), "parts that the caller gives", "none", "any")


class GPNNConv(nn.Module):
    r"""One GPNN layer (Equations 1 to 3, see :class:`~gpnn.nn.layer.InteractionLayer`) on vertices,
    edges and parts that are given as tensors.

    .. math::
        \gamma_v = x_v W, \qquad
        x'_v = \sum_j \omega_j \sum_{u \in N_d(v),\, part(u) = j}
            \big(\beta_u \,\|\, \alpha_{vu} \,\|\, p_j\big) W_j + m_v

    α starts as a learned vector per (part of v, kind of pair, part of u) and is updated by one
    round of Equation 2. For a model that refines α from layer to layer, see
    :class:`~gpnn.nn.model.GPNN`.

    Args:
        in_channels, out_channels: features of a vertex before and after.
        parts: number of parts; parts are numbered from 0, and the number ``parts`` itself stands
            for a part unseen in training.
        interactions: pairs whose α is learned: ``cross`` edges, all ``edges``, or all ``pairs``.
        d: radius of N_d, 1 to 5.
        edge_labels: number of edge labels, or 0.
        pair_update: ``tuple`` or ``sum``.
        combine: ``pairwise`` or ``linear``.
        cached: compute the structure of the first graph and reuse it in all later calls; only for
            a graph that never changes.

    Shapes: x [n, in_channels], edge_index [2, m], part int [n], edge_label int [m] or ``None`` →
    [n, out_channels]. Vertices keep their order.

    >>> from gpnn import AddPartition, GPNNConv
    >>> from torch_geometric.data import Data
    >>> triangle = torch.tensor([[0, 1, 2, 2], [1, 2, 0, 3]])
    >>> data = AddPartition("core")(Data(edge_index=triangle, x=torch.rand(4, 5), num_nodes=4))
    >>> conv = GPNNConv(5, 16, parts=3)
    >>> conv(data.x, data.edge_index, data.part_colour[:, 0]).shape
    torch.Size([4, 16])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        parts: int,
        interactions: str = "edges",
        d: int = 1,
        edge_labels: int = 0,
        pair_update: str = "tuple",
        combine: str = "pairwise",
        cached: bool = False,
    ) -> None:
        super().__init__()
        for name, value in (("in_channels", in_channels), ("out_channels", out_channels),
                            ("parts", parts)):  # fmt: skip
            Whole(1).read(name, value)
        self.in_channels, self.out_channels, self.parts = in_channels, out_channels, parts
        self.structure = Structure("given", interactions, d, layers=1)
        self.edge_labels, self.cached = edge_labels, cached
        keys, weights = torch.arange(parts + 1), usual_weights(parts + 1)
        self.linear = Linear(in_channels, out_channels)
        self.pair = PairEmbedding(keys, out_channels, edge_labels, factored=weights != "own")
        self.layer = InteractionLayer(out_channels, keys, pair_update, weights, combine)
        self._kept: GraphBatch | None = None

    def reset_parameters(self) -> None:
        for module in (self.linear, self.pair, self.layer):
            module.reset_parameters()
        self._kept = None

    def forward(
        self, x: Tensor, edge_index: Tensor, part: Tensor, edge_label: Tensor | None = None
    ) -> Tensor:
        batch = self._kept
        if batch is None:
            read = read_structure
            if torch.compiler.is_compiling():
                from .uncompiled import read_structure as read
            batch = read(self, len(x), edge_index, part, edge_label).to(x.device, x.dtype)
            self._kept = batch if self.cached else None
        assert batch.order is not None
        gamma = batch.order.transposed.sum(self.linear(x))
        start = self.pair(batch.start)
        out, _ = self.layer(gamma, start, start, batch, 0)
        return batch.order.sum(out)

    def __repr__(self) -> str:
        kind: dict[str, Any] = {
            "parts": self.parts, "interactions": self.structure.interactions, "d": self.structure.d
        }  # fmt: skip
        shown = ", ".join(f"{name}={value}" for name, value in kind.items())
        name = self.__class__.__name__
        return f"{name}({self.in_channels}, {self.out_channels}, {shown})"


def read_structure(
    conv: GPNNConv, n: int, edge_index: Tensor, part: Tensor, edge_label: Tensor | None
) -> GraphBatch:
    """The structural input of a layer, computed on the CPU."""
    if part.shape != (n,) or part.is_floating_point():
        raise InputError(
            f"part must hold a whole number per vertex, {n} in all; got {part.dtype} of shape "
            f"{list(part.shape)}."
        )
    number = part.detach().cpu().long().numpy()
    if len(number) and not 0 <= number.min() <= number.max() <= conv.parts:
        raise InputError(
            f"Parts are numbered 0 to {conv.parts - 1}, and {conv.parts} is one that was not "
            f"met; got {number.min()} to {number.max()}."
        )
    if (edge_label is not None) != (conv.edge_labels > 0):
        raise InputError("edge_label is needed if edge_labels is set, and only then.")
    src, dst = edge_index.detach().cpu().long().numpy()
    labels = None if edge_label is None else edge_label.detach().cpu().long().numpy()
    graphs = Graphs.from_edges(src, dst, n, edge_labels=labels)
    parts, place = unique_rows(number[:, None])
    cut = Partition(graphs, _GIVEN, number[:, None], parts, place.astype(np.int32))
    vocabulary = Vocabulary("given", np.arange(conv.parts)[:, None])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenColours)
        ready = prepare_graphs(
            graphs, conv.structure, vocabulary, cut=cut, edge_labels=graphs.edge_labels,
            node_level=True,
        )  # fmt: skip
    return ready.batch(edges=False)
