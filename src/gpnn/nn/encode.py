"""Features into the width of the network."""

from __future__ import annotations

from functools import reduce

import torch
from torch import Tensor, nn

from ..errors import InputError
from .linear import Linear, linear
from .lookup import lookup

__all__ = ["FeatureEncoder"]


class FeatureEncoder(nn.Module):
    """A linear map of float features, or the sum of one embedding per categorical column.

    A code beyond the cardinality of its column, unseen when the model was made, takes a reserved
    row that starts at zero. Without any features the result is a learned constant.

    Shapes: float [..., rows, features], or codes, int [..., rows, columns] or the same as
    :meth:`multi_hot` rows → [..., rows, width].
    """

    def __init__(self, width: int, features: int = 0, codes: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.width = width
        self.linear = Linear(features, width) if features else None
        self.tables = nn.ParameterList(torch.empty(size + 1, width) for size in codes)
        self.constant = None if features or codes else nn.Parameter(torch.empty(width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.linear is not None:
            self.linear.reset_parameters()
        for table in self.tables:
            nn.init.normal_(table)
            with torch.no_grad():
                table[-1] = 0
        if self.constant is not None:
            nn.init.normal_(self.constant)

    def forward(self, x: Tensor) -> Tensor:
        self._check(x)
        if self.linear is not None:
            out: Tensor = self.linear(x)
            return out
        if self.constant is not None:
            return self.constant.unsqueeze(-2).expand(*x.shape[:-1], self.width)
        if x.is_floating_point():
            return linear(x, torch.cat(list(self.tables), dim=-2).mT)
        columns = (
            lookup(table, x[..., i].clamp(max=table.shape[-2] - 1))
            for i, table in enumerate(self.tables)
        )
        return reduce(torch.add, columns)

    def _check(self, x: Tensor) -> None:
        """Refuse features that the encoder was not made for."""
        width, floats = x.shape[-1], x.is_floating_point()
        if self.linear is not None:
            own = f"{self.linear.in_features} features"
            fits = floats and width == self.linear.in_features
        else:
            sizes = [table.shape[-2] for table in self.tables]
            own = f"{len(sizes)} columns of codes" if sizes else "none"
            fits = width == (sum(sizes) if floats else len(sizes))
        if not fits:
            kind = "features" if floats else "columns of codes"
            raise InputError(
                f"The graphs have {width} {kind} per vertex or edge, and the model reads {own}. "
                "Give it what the graphs have: GPNN(..., **ready.options)."
            )

    def multi_hot(self, x: Tensor) -> Tensor:
        """Codes as rows of zeros and ones, one column per row of the tables, [rows, Σ sizes]."""
        sizes = [table.shape[-2] for table in self.tables]
        out = torch.zeros(len(x), sum(sizes), dtype=torch.uint8)
        first = 0
        for i, size in enumerate(sizes):
            column = x[:, i : i + 1].clamp(max=size - 1) + first
            out.scatter_(1, column, torch.ones_like(column, dtype=torch.uint8))
            first += size
        return out
