"""Parameters that belong to parts: one linear map per part, one vector per coloured pair."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .grouped import Groups, grouped_linear
from .kernels.dispatch import fast
from .lookup import lookup

__all__ = ["FACTOR_ABOVE", "PairEmbedding", "PartLinear"]

FACTOR_ABOVE = 32
BASES = 8
KINDS = 4


class PartLinear(nn.Module):
    r"""A linear map of its own for every part.

    .. math::
        y_i = s_j \, (x_i W_j + b_j), \qquad j = part(i)

    The last part is the reserved one for unseen colours; its map starts at zero. Above
    ``FACTOR_ABOVE`` parts the maps share a basis, :math:`W_j = \sum_b c_{jb} B_b`.

    Args:
        parts: number of parts, the reserved one included.
        features: width of input and output.
        bias: whether there is a :math:`b_j`.

    Shapes: x [..., rows, features], part [rows] and the same as groups of rows, scale s
    [..., parts] → [..., rows, features].
    """

    def __init__(self, parts: int, features: int, bias: bool = False) -> None:
        super().__init__()
        self.parts, self.features = parts, features
        self.factored = parts > FACTOR_ABOVE
        maps = BASES if self.factored else parts
        self.weight = nn.Parameter(torch.empty(maps, features, features))
        self.mixture = nn.Parameter(torch.empty(parts, BASES)) if self.factored else None
        self.bias = nn.Parameter(torch.empty(parts, features)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = math.sqrt(3.0 / self.features)
        nn.init.uniform_(self.weight, -bound, bound)
        with torch.no_grad():
            if self.mixture is not None:
                nn.init.normal_(self.mixture, std=1 / math.sqrt(BASES))
                self.mixture[-1] = 0
            else:
                self.weight[-1] = 0
            if self.bias is not None:
                nn.init.normal_(self.bias, std=self.features**-0.5)
                self.bias[-1] = 0

    def forget_parts(self, unseen: Tensor) -> None:
        """Zero the maps of some parts, [parts]."""
        (self.weight if self.mixture is None else self.mixture)[unseen] = 0
        if self.bias is not None:
            self.bias[unseen] = 0

    def forward(self, x: Tensor, part: Tensor, groups: Groups, scale: Tensor) -> Tensor:
        bias = None if self.bias is None else scale.unsqueeze(-1) * self.bias
        if self.mixture is None:
            return grouped_linear(x, scale[..., None, None] * self.weight, bias, groups)
        if fast(x):
            each = (scale.unsqueeze(-1) * self.mixture) @ self.weight.flatten(-2)
            maps = each.unflatten(-1, (self.features, self.features))
            return grouped_linear(x, maps, bias, groups)
        mixture = lookup(scale.unsqueeze(-1) * self.mixture, part)
        spread = torch.einsum("...nf,...bfo->...nbo", x, self.weight)
        out = torch.einsum("...nb,...nbo->...no", mixture, spread)
        return out if bias is None else out + lookup(bias, part)

    def __repr__(self) -> str:
        shared = f", {BASES} shared bases" if self.factored else ""
        return f"{self.__class__.__name__}(parts={self.parts}, features={self.features}{shared})"


class PairEmbedding(nn.Module):
    r"""The learned vector of an edge colour λ_E(v, u) = (λ_V(v), kind, λ_V(u)), with the edge label
    and the hop distance of the pair added where there are any.

    One row per triple up to ``FACTOR_ABOVE`` parts, else the product of a row for λ_V(v), one for
    the kind and one for λ_V(u). Rows with an unseen colour start at zero, as does the row of an
    unseen label.

    Shapes: int rows [..., classes, 5] = (part of v, kind, part of u, label, hops) →
    [..., classes, f].
    """

    def __init__(self, parts: int, features: int, labels: int = 0, hops: int = 0) -> None:
        super().__init__()
        self.parts, self.features, self.factored = parts, features, parts > FACTOR_ABOVE
        if self.factored:
            self.left = nn.Parameter(torch.empty(parts, features))
            self.kind = nn.Parameter(torch.empty(KINDS, features))
            self.right = nn.Parameter(torch.empty(parts, features))
        else:
            self.table = nn.Parameter(torch.empty(parts * KINDS * parts, features))
        self.label = nn.Parameter(torch.empty(labels + 2, features)) if labels else None
        self.hops = nn.Parameter(torch.empty(hops + 1, features)) if hops else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for parameter in self.parameters():
            nn.init.normal_(parameter)
        with torch.no_grad():
            if self.factored:
                self.left[-1] = 0
                self.right[-1] = 0
            else:
                triples = self.table.view(self.parts, KINDS, self.parts, self.features)
                triples[-1] = 0
                triples[:, :, -1] = 0
            if self.label is not None:
                self.label[0] = 0
                self.label[-1] = 0

    def forget_parts(self, unseen: Tensor) -> None:
        """Zero the rows of some parts, [parts]."""
        if self.factored:
            self.left[unseen] = 0
            self.right[unseen] = 0
            return
        triples = self.table.view(self.parts, KINDS, self.parts, self.features)
        triples[unseen] = 0
        triples[:, :, unseen] = 0

    def forward(self, rows: Tensor) -> Tensor:
        left, kind, right, label, hops = rows.unbind(-1)
        if self.factored:
            out = lookup(self.left, left) * lookup(self.kind, kind) * lookup(self.right, right)
        else:
            out = lookup(self.table, (left * KINDS + kind) * self.parts + right)
        if self.label is not None:
            out = out + lookup(self.label, label.clamp(max=self.label.shape[-2] - 1))
        if self.hops is not None:
            out = out + lookup(self.hops, hops.clamp(max=self.hops.shape[-2] - 1))
        return out

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(parts={self.parts}, features={self.features})"
