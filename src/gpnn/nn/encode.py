"""Features into the width of the network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["FeatureEncoder"]


class FeatureEncoder(nn.Module):
    """A linear map of float features plus one embedding per categorical column.

    A code beyond the cardinality of its column, unseen when the model was made, takes a reserved
    row that starts at zero. Without any features the result is a learned constant.

    Shapes: float [rows, features] or int [rows, columns] → [rows, width].
    """

    def __init__(self, width: int, features: int = 0, codes: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.width = width
        self.linear = nn.Linear(features, width) if features else None
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
        if self.linear is not None:
            out: Tensor = self.linear(x)
            return out
        if self.constant is not None:
            return self.constant.expand(x.shape[0], self.width)
        columns = [
            table[x[:, i].clamp(max=table.shape[0] - 1)] for i, table in enumerate(self.tables)
        ]
        return torch.stack(columns).sum(0)
