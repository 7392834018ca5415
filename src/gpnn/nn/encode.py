"""Encoders that map features to the width of the network."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import InputError
from .kernels.dispatch import as_cuda, kernels
from .linear import Linear, linear
from .norm import WeightedBatchNorm

__all__ = ["FeatureEncoder", "WalkEncoder", "multi_hot"]


class FeatureEncoder(nn.Module):
    """A linear map of float features, or the sum of one embedding per categorical column.

    A code beyond the cardinality of its column, unseen when the model was created, uses a reserved
    row that starts at zero. Without any features the result is a learned constant. The embeddings
    of all columns are concatenated in ``table``.

    Args:
        width: width of the result.
        features: width of float features, or 0.
        codes: cardinality of every categorical column, or empty.

    Shapes: float [..., rows, features], or codes, int [..., rows, columns] or the same as
    :func:`multi_hot` rows → [..., rows, width].
    """

    last: Tensor
    first: Tensor

    def __init__(self, width: int, features: int = 0, codes: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.width = width
        self.sizes = tuple(size + 1 for size in codes)
        self.linear = Linear(features, width) if features else None
        self.table = nn.Parameter(torch.empty(sum(self.sizes), width)) if codes else None
        self.constant = None if features or codes else nn.Parameter(torch.empty(width))
        last = [size - 1 for size in self.sizes]
        first = [end - size for end, size in zip(accumulate(self.sizes), self.sizes, strict=True)]
        for name, numbers in (("last", last), ("first", first)):
            self.register_buffer(name, torch.tensor(numbers, dtype=torch.int64), persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.linear is not None:
            self.linear.reset_parameters()
        if self.table is not None:
            nn.init.normal_(self.table)
            with torch.no_grad():
                for end in accumulate(self.sizes):
                    self.table[end - 1] = 0
        if self.constant is not None:
            nn.init.normal_(self.constant)

    def rows(self, column: int) -> slice:
        """The rows of the table that belong to a column, the reserved one last."""
        first = sum(self.sizes[:column])
        return slice(first, first + self.sizes[column])

    def forward(self, x: Tensor) -> Tensor:
        self._check(x)
        if self.linear is not None:
            out: Tensor = self.linear(x)
            return out
        if self.constant is not None:
            return self.constant.unsqueeze(-2).expand(*x.shape[:-1], self.width)
        assert self.table is not None
        if x.is_floating_point():
            return linear(x, self.table.mT)
        index = self._index(x)
        if self.table.dim() == 3:  # stacked: the tables of the replicas are concatenated
            replicas, size, _ = self.table.shape
            index = index + (torch.arange(replicas, device=x.device) * size)[:, None, None]
        summed: Tensor = _RowSums.apply(self.table.flatten(0, -2), index.flatten(0, -2))
        return summed.view(*x.shape[:-1], self.width)

    def _index(self, x: Tensor) -> Tensor:
        """Rows of the table; buffers of stacked networks are the same in all replicas."""
        columns = len(self.sizes)
        first, last = (part.reshape(-1, columns)[0] for part in (self.first, self.last))
        return torch.minimum(x, last) + first

    def _check(self, x: Tensor) -> None:
        """Reject features that the encoder was not created for."""
        width, floats = x.shape[-1], x.is_floating_point()
        if self.linear is not None:
            own = f"{self.linear.in_features} features"
            fits = floats and width == self.linear.in_features
        else:
            own = f"{len(self.sizes)} columns of codes" if self.sizes else "none"
            fits = width == (sum(self.sizes) if floats else len(self.sizes))
        if not fits:
            kind = "features" if floats else "columns of codes"
            raise InputError(
                f"The graphs have {width} {kind} per vertex or edge, and the model reads {own}. "
                "Give it what the graphs have: GPNN(..., **ready.options)."
            )


class WalkEncoder(nn.Module):
    r"""Maps random-walk encodings to the width of the network: :math:`\mathrm{norm}(p_v)\, W`.

    Shapes: [..., n, walks], weights [..., n] or ``None`` → [..., n, width].
    """

    def __init__(self, width: int, walks: int) -> None:
        super().__init__()
        self.norm = WeightedBatchNorm(walks, bias=False)
        self.linear = Linear(walks, width, bias=False)

    def forward(self, walks: Tensor | None, weight: Tensor | None) -> Tensor:
        if walks is None or walks.shape[-1] != self.linear.in_features:
            raise InputError(
                "The model reads random-walk encodings, and the graphs were prepared without them "
                "or with another number. Give it the options of what it is trained on: "
                "GPNN(..., **ready.options)."
            )
        out: Tensor = self.linear(self.norm(walks, weight))
        return out


def multi_hot(x: Tensor, codes: tuple[int, ...]) -> Tensor:
    """Multi-hot rows of codes, with one column per row of an encoder's table, [rows, Σ sizes]."""
    sizes = torch.tensor(codes) + 1
    index = torch.minimum(x, sizes - 1) + (sizes.cumsum(0) - sizes)
    out = torch.zeros(len(x), int(sizes.sum()), dtype=torch.uint8)
    return out.scatter_(1, index, torch.ones_like(index, dtype=torch.uint8))


class _RowSums(torch.autograd.Function):
    """Σ_k table[index_ik], linear in the table."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.size = len(table)
        own = None if as_cuda(table) else kernels(table)
        if own is not None:
            out: Tensor = own.sum_rows(table, index)
            return out
        return functional.embedding(index, table).sum(-2)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        own = None if as_cuda(grad) or torch.is_grad_enabled() else kernels(grad)
        if own is not None:
            return own.add_rows(grad, index, ctx.size), None
        into = grad.new_zeros(ctx.size, grad.shape[1])
        each = grad.unsqueeze(1).expand(-1, index.shape[1], -1).reshape(-1, grad.shape[1])
        return into.index_add(0, index.reshape(-1), each), None
