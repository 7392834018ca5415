"""Parameters that belong to parts: one linear map per part, one vector per coloured pair."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .grouped import grouped_linear
from .kernels.dispatch import fast
from .lookup import lookup
from .part_weights import draw_parts

__all__ = ["PART_WEIGHTS", "PairEmbedding", "PartLinear"]

PART_WEIGHTS = ("own", "basis", "scaled")

BASES = 8
KINDS = 4


class PartLinear(nn.Module):
    r"""A separate linear map for every part.

    .. math::
        y_i = s_j \, (x_i W_j + b_j), \qquad j = part(i)

    The last part is reserved for unseen colours; its map starts at zero. ``weights`` selects which
    parameters a part has:

    ``own``
        a separate matrix :math:`W_j`, as in the paper.
    ``basis``
        a mixture of eight shared matrices, :math:`W_j = \sum_b c_{jb} B_b`.
    ``scaled``
        a scale for every output of one shared matrix, :math:`W_j = W\, \mathrm{diag}(g_j)`;
        together with :math:`b_j`, a scale and a shift.

    Args:
        keys: keys of the parts, see :func:`~gpnn.nn.part_weights.part_keys`, [parts].
        features: width of input and output.
        weights: ``own``, ``basis`` or ``scaled``.
        bias: whether to add :math:`b_j`.

    Shapes: x [..., rows, features], part [rows] and the same as groups of rows, scale s
    [..., parts] → [..., rows, features].
    """

    def __init__(
        self, keys: Tensor, features: int, weights: str = "own", bias: bool = False
    ) -> None:
        super().__init__()
        parts = len(keys)
        self.keys, self.features, self.weights = keys, features, weights
        matrices = {"own": parts, "basis": BASES, "scaled": 1}[weights]
        self.weight = nn.Parameter(torch.empty(matrices, features, features))
        self.mixture = nn.Parameter(torch.empty(parts, BASES)) if weights == "basis" else None
        self.gain = nn.Parameter(torch.empty(parts, features)) if weights == "scaled" else None
        self.bias = nn.Parameter(torch.empty(parts, features)) if bias else None
        each = {"own": "weight", "basis": "mixture", "scaled": "gain"}[weights]
        self.part_dims = {each: (0,), "bias": (0,)}
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = math.sqrt(3.0 / self.features)
        if self.mixture is not None:
            nn.init.uniform_(self.weight, -bound, bound)
            draw_parts(self.mixture, (0,), self.keys, normal=1 / math.sqrt(BASES))
        elif self.gain is not None:
            nn.init.uniform_(self.weight, -bound, bound)
            nn.init.ones_(self.gain)
            with torch.no_grad():
                self.gain[-1] = 0
        else:
            draw_parts(self.weight, (0,), self.keys, uniform=bound)
        if self.bias is not None:
            draw_parts(self.bias, (0,), self.keys, normal=self.features**-0.5)

    def forward(
        self,
        x: Tensor,
        part: Tensor,
        groups: Tensor,
        scale: Tensor,
        before: nn.Linear | None = None,
    ) -> Tensor:
        """With ``before``, x passes through that linear map first. Both maps are composed into
        one, which is cheap because there are fewer parts than rows."""
        weight: Tensor = self.weight
        bias: Tensor | None = self.bias
        if before is not None:
            assert before.bias is not None and bias is not None
            both = torch.cat([before.weight.mT, before.bias.unsqueeze(-2)], -2).unsqueeze(-3)
            weight, moved = (both @ weight).split([self.features, 1], -2)
            moved = moved.squeeze(-2)
            if self.gain is not None:
                moved = self.gain * moved
            bias = bias + (moved if self.mixture is None else self.mixture @ moved)
        bias = None if bias is None else scale.unsqueeze(-1) * bias
        if self.gain is not None:
            weight = weight * self.gain.unsqueeze(-2)
        if self.mixture is None:
            return grouped_linear(x, scale[..., None, None] * weight, bias, groups)
        mixture = scale.unsqueeze(-1) * self.mixture
        if fast(x):
            maps = (mixture @ weight.flatten(-2)).unflatten(-1, weight.shape[-2:])
            return grouped_linear(x, maps, bias, groups)
        spread = torch.einsum("...nf,...bfo->...nbo", x, weight)
        out = torch.einsum("...nb,...nbo->...no", lookup(mixture, part), spread)
        return out if bias is None else out + lookup(bias, part)

    def __repr__(self) -> str:
        name = self.__class__.__name__
        return f"{name}(parts={len(self.keys)}, features={self.features}, {self.weights})"


class PairEmbedding(nn.Module):
    r"""The learned vector of an edge colour λ_E(v, u) = (λ_V(v), kind, λ_V(u)), plus vectors of the
    edge label, the hop distance of the pair and the labels of v and u where these exist.

    One row per triple or, with ``factored``, the product of one row each for λ_V(v), the kind and
    λ_V(u). Rows with an unseen colour start at zero, as does the row of an unseen label.

    Args:
        keys: keys of the parts, see :func:`~gpnn.nn.part_weights.part_keys`, [parts].
        features: width of the result.
        labels, hops: number of edge labels, and largest distinguished hop distance; or 0.
        factored: whether the table is a product.
        vertex_labels: number of vertex labels, or 0.

    Shapes: int rows [..., classes, 7] = (part of v, kind, part of u, label, hops, label of v, label
    of u) → [..., classes, f].
    """

    def __init__(
        self,
        keys: Tensor,
        features: int,
        labels: int = 0,
        hops: int = 0,
        factored: bool = False,
        vertex_labels: int = 0,
    ) -> None:
        super().__init__()
        parts = len(keys)
        self.keys, self.features, self.factored = keys, features, factored
        if factored:
            self.left = nn.Parameter(torch.empty(parts, features))
            self.kind = nn.Parameter(torch.empty(KINDS, features))
            self.right = nn.Parameter(torch.empty(parts, features))
            self.part_dims: dict[str, tuple[int, ...]] = {"left": (0,), "right": (0,)}
        else:
            self.table = nn.Parameter(torch.empty(parts, KINDS, parts, features))
            self.part_dims = {"table": (0, 2)}
        self.label = nn.Parameter(torch.empty(labels + 2, features)) if labels else None
        self.hops = nn.Parameter(torch.empty(hops + 1, features)) if hops else None
        self.own_label = self.other_label = None
        if vertex_labels:
            self.own_label = nn.Parameter(torch.empty(vertex_labels + 1, features))
            self.other_label = nn.Parameter(torch.empty(vertex_labels + 1, features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.factored:
            draw_parts(self.left, (0,), self.keys, normal=1.0)
            nn.init.normal_(self.kind)
            draw_parts(self.right, (0,), self.keys, normal=1.0)
        else:
            draw_parts(self.table, (0, 2), self.keys, normal=1.0)
        with torch.no_grad():
            if self.label is not None:
                nn.init.normal_(self.label)
                self.label[0] = 0
                self.label[-1] = 0
            if self.hops is not None:
                nn.init.normal_(self.hops)
            for table in (self.own_label, self.other_label):
                if table is not None:
                    nn.init.normal_(table)
                    table[-1] = 0

    def forward(self, rows: Tensor) -> Tensor:
        left, kind, right, label, hops, own, other = rows.unbind(-1)
        out = self.colours(left, kind, right)
        if self.label is not None:
            out = out + lookup(self.label, label.clamp(max=self.label.shape[-2] - 1))
        if self.hops is not None:
            out = out + lookup(self.hops, hops.clamp(max=self.hops.shape[-2] - 1))
        for table, code in ((self.own_label, own), (self.other_label, other)):
            if table is not None:
                out = out + lookup(table, code.clamp(max=table.shape[-2] - 1))
        return out

    def colours(self, left: Tensor, kind: Tensor, right: Tensor) -> Tensor:
        """The vectors of triples (λ_V(v), kind, λ_V(u))."""
        if self.factored:
            return lookup(self.left, left) * lookup(self.kind, kind) * lookup(self.right, right)
        parts = self.table.shape[-2]
        return lookup(self.table.flatten(-4, -2), (left * KINDS + kind) * parts + right)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(parts={len(self.keys)}, features={self.features})"
