"""Sums over segments; the plain code is :mod:`gpnn.nn.segments`."""

from __future__ import annotations

import torch
from torch import Tensor

from .jit import jit
from .threads import on_entries

__all__ = ["NO_NUMBERS", "add_to_rows", "replica_dots", "segment_sums"]

NO_ROWS = {kind: torch.zeros(0, 0, dtype=kind).numpy() for kind in (torch.float32, torch.float64)}
NO_NUMBERS = {kind: rows.reshape(0) for kind, rows in NO_ROWS.items()}
"""Placeholders for absent arrays, which kernels recognise by their length of zero."""


@jit
def _sums(x, source, ptr, weight, onto, factor, out, low, high):
    width, rows = x.shape[1], len(ptr) - 1
    weighted, based = len(weight) > 0, len(onto) > 0
    each = max(1, rows // max(1, len(factor)))
    for i in range(low, high):
        first, last = ptr[i], ptr[i + 1]
        if based:
            f = factor[i // each] if len(factor) else x.dtype.type(1)
            for c in range(width):
                out[i, c] = f * onto[i, c]
        elif first == last:
            for c in range(width):
                out[i, c] = 0
            continue
        else:
            row = source[first]
            w = weight[first] if weighted else x.dtype.type(1)
            for c in range(width):
                out[i, c] = w * x[row, c]
            first += 1
        for e in range(first, last):
            row = source[e]
            if weighted:
                w = weight[e]
                for c in range(width):
                    out[i, c] += w * x[row, c]
            else:
                for c in range(width):
                    out[i, c] += x[row, c]


@jit
def _dots(x, y, out):
    for r in range(len(out)):
        total = 0.0
        for i in range(x.shape[1]):
            total += x[r, i] * y[r, i]
        out[r] = total


@jit
def _add(x, target, ptr, weight, out):
    for i in range(len(ptr) - 1):
        for e in range(ptr[i], ptr[i + 1]):
            row = target[e]
            if len(weight):
                for c in range(x.shape[1]):
                    out[row, c] += weight[e] * x[i, c]
            else:
                for c in range(x.shape[1]):
                    out[row, c] += x[i, c]


def add_to_rows(x: Tensor, target: Tensor, ptr: Tensor, weight: Tensor | None, out: Tensor) -> None:
    """Add row i of x to the rows ``target[ptr[i]:ptr[i + 1]]`` of ``out``.
    Shapes: x [rows, f], target and weight [entries], ptr [rows + 1]."""
    numbers = NO_NUMBERS[x.dtype] if weight is None else weight.numpy()
    _add(x.contiguous().numpy(), target.numpy(), ptr.numpy(), numbers, out.numpy())


def segment_sums(
    x: Tensor,
    source: Tensor,
    ptr: Tensor,
    weight: Tensor | None = None,
    onto: Tensor | None = None,
    factor: Tensor | None = None,
) -> Tensor:
    r""":math:`f z_i + \sum_e w_e x_{source_e}`, see :class:`gpnn.nn.segments.Segments`.

    Shapes: x [columns, f], onto [rows, f] or ``None``, factor [R] or ``None`` → [rows, f].
    """
    x = x if x.is_contiguous() else x.contiguous()
    out = x.new_empty(len(ptr) - 1, x.shape[1])
    numbers, ends = NO_NUMBERS[x.dtype], ptr.numpy()
    arrays = (
        x.numpy(),
        source.numpy(),
        ends,
        numbers if weight is None else weight.detach().numpy(),
        NO_ROWS[x.dtype] if onto is None else onto.contiguous().numpy(),
        numbers if factor is None else factor.detach().reshape(-1).numpy(),
        out.numpy(),
    )
    on_entries(_sums, arrays, ends, x.shape[1])
    return out


def replica_dots(x: Tensor, y: Tensor) -> Tensor:
    """Σ x y over all entries of a replica. Shapes: [R, …] twice → [R]."""
    replicas = len(x)
    out = x.new_empty(replicas)
    left, right = (part.detach().reshape(replicas, -1).numpy() for part in (x, y))
    _dots(left, right, out.numpy())
    return out
