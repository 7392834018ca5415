"""Segment sums and grouped maps: against plain indexing, to the second derivative, under vmap."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.func import grad, vmap

from gpnn.nn.grouped import grouped_linear
from gpnn.nn.norm import WeightedBatchNorm
from gpnn.nn.segments import Segments, segment_sum

ROWS, COLUMNS = 7, 5


def entries(seed: int, count: int, weighted: bool):
    rng = np.random.default_rng(seed)
    row, column = rng.integers(0, ROWS, count), rng.integers(0, COLUMNS, count)
    return row, column, rng.random(count) if weighted else None


def plain(x, row, column, weight):
    picked = x[torch.from_numpy(column)]
    if weight is not None:
        picked = picked * torch.from_numpy(weight)[:, None]
    return torch.zeros(ROWS, x.shape[1], dtype=x.dtype).index_add(0, torch.from_numpy(row), picked)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("count", [0, 1, 30])
def test_sums_equal_index_add(weighted, count):
    row, column, weight = entries(count, count, weighted)
    segments = Segments.build(row, column, ROWS, COLUMNS, weight)
    x = torch.randn(COLUMNS, 3, dtype=torch.float64, requires_grad=True)
    assert torch.allclose(segments.sum(x), plain(x, row, column, weight))
    assert gradcheck(segments.sum, x) and gradgradcheck(segments.sum, x)


def padded(segments: Segments, size: int) -> Segments:
    def fill(t):
        return None if t is None else torch.cat([t, t.new_zeros(size - len(t))])

    source, ptr, back_source, back_ptr, weight, back_weight = segments
    return Segments(fill(source), ptr, fill(back_source), back_ptr, fill(weight), fill(back_weight))


@pytest.mark.parametrize("weighted", [False, True])
def test_replicas_with_structures_of_their_own(weighted):
    sets = []
    for seed, count in enumerate((3, 17, 30, 0)):
        row, column, weight = entries(seed, count, weighted)
        sets.append(padded(Segments.build(row, column, ROWS, COLUMNS, weight), 30))
    stacked = [None if part[0] is None else torch.stack(part) for part in zip(*sets, strict=True)]
    dims = (0, *(None if part is None else 0 for part in stacked))
    x = torch.randn(4, COLUMNS, 3, dtype=torch.float64)

    def loss(x, *structure):
        return segment_sum(x, *structure).sin().sum()

    out = vmap(segment_sum, in_dims=dims)(x, *stacked)
    assert torch.allclose(out, torch.stack([s.sum(one) for s, one in zip(sets, x, strict=True)]))
    slopes = vmap(grad(loss), in_dims=dims)(x, *stacked)
    expected = [grad(loss)(one, *s) for s, one in zip(sets, x, strict=True)]
    assert torch.allclose(slopes, torch.stack(expected))


GROUPS = ((0, 2, 1), (2, 3, 0), (4, 6, 1))


def test_grouped_maps():
    x = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    out = grouped_linear(x, weight, bias, GROUPS)
    part = {row: j for start, stop, j in GROUPS for row in range(start, stop)}
    for row in range(6):
        expected = x[row] @ weight[part[row]] + bias[part[row]] if row in part else 0 * out[row]
        assert torch.allclose(out[row], expected)

    def run(*args):
        return grouped_linear(*args, GROUPS)

    assert gradcheck(run, (x, weight, bias)) and gradgradcheck(run, (x, weight, bias))
    assert gradcheck(lambda a, b: grouped_linear(a, b, None, GROUPS), (x, weight))
    many = torch.randn(5, 2, 3, 4, dtype=torch.float64)
    mapped = vmap(lambda w: grouped_linear(x.detach(), w, None, GROUPS))(many)
    alone = [grouped_linear(x.detach(), w, None, GROUPS) for w in many]
    assert torch.allclose(mapped, torch.stack(alone))

    def loss(w):
        return grouped_linear(x.detach(), w, None, GROUPS).sin().sum()

    assert torch.allclose(vmap(grad(loss))(many), torch.stack([grad(loss)(w) for w in many]))


def test_weighted_normalisation_counts_rows():
    torch.manual_seed(0)
    x, weight = torch.randn(4, 3, dtype=torch.float64), torch.tensor([1.0, 3.0, 0.0, 2.0])
    ours, reference = WeightedBatchNorm(3).double(), torch.nn.BatchNorm1d(3).double()
    repeated = x.repeat_interleave(weight.long(), dim=0)
    out = ours(x, weight)
    assert torch.allclose(out.repeat_interleave(weight.long(), dim=0), reference(repeated))
    assert torch.allclose(ours.running_mean, reference.running_mean)
    assert torch.allclose(ours.running_var, reference.running_var)
    plain_norm = WeightedBatchNorm(3).double()
    again = torch.nn.BatchNorm1d(3).double()
    assert torch.allclose(plain_norm(x), again(x))
    assert torch.allclose(plain_norm.running_var, again.running_var)
    ours.eval(), reference.eval()
    assert torch.allclose(ours(x, weight), reference(x))
