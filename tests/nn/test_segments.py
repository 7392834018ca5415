"""Segment sums, grouped maps, norms: against plain indexing, to the second derivative, stacked."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from gpnn.nn.grouped import grouped_linear
from gpnn.nn.linear import linear
from gpnn.nn.norm import WeightedBatchNorm
from gpnn.nn.segments import Segments

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


def test_sums_onto_something():
    rng = np.random.default_rng(0)
    row, column = rng.integers(0, ROWS, (2, 20))
    segments = Segments.build(row, column, ROWS, ROWS)
    x, onto = torch.randn(2, ROWS, 3, dtype=torch.float64).requires_grad_()
    factor = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    assert torch.allclose(segments.sum(x, onto), onto + plain(x, row, column, None))
    assert torch.allclose(segments.sum(x, x, factor), 0.3 * x + plain(x, row, column, None))
    assert gradcheck(segments.sum, (x, onto, factor))
    assert gradgradcheck(segments.sum, (x, onto, factor))


def stacked(parts: list[Segments], spare: int) -> Segments:
    """Replicas one after another, rows and columns shifted, with padding at the end."""

    def join(name: str, ptr: str, step: int):
        sources = [getattr(one, name) + r * step for r, one in enumerate(parts)]
        ends = [0, *np.cumsum([int(getattr(one, ptr)[-1]) for one in parts]).tolist()]
        bounds = [getattr(one, ptr)[:-1] + ends[r] for r, one in enumerate(parts)]
        padding = torch.zeros(spare, dtype=torch.int64)
        return torch.cat([*sources, padding]), torch.cat([*bounds, torch.tensor(ends[-1:])])

    def weights(name: str):
        found = [getattr(one, name) for one in parts]
        full = torch.full((spare,), 7.0, dtype=torch.float64)
        return None if found[0] is None else torch.cat([*found, full])

    forth, back = join("source", "ptr", COLUMNS), join("back_source", "back_ptr", ROWS)
    return Segments(*forth, *back, weights("weight"), weights("back_weight"))


@pytest.mark.parametrize("kind", [torch.int64, torch.int32])
@pytest.mark.parametrize("spare", [0, 9])
@pytest.mark.parametrize("weighted", [False, True])
def test_replicas_with_structures_of_their_own(weighted, spare, kind):
    parts = []
    for seed, count in enumerate((3, 17, 30, 0)):
        row, column, weight = entries(seed, count, weighted)
        parts.append(Segments.build(row, column, ROWS, COLUMNS, weight))
    whole = stacked(parts, spare)
    if kind == torch.int32:
        whole = Segments(*(part.int() for part in whole[:4]), *whole[4:])
    x = torch.randn(4, COLUMNS, 3, dtype=torch.float64, requires_grad=True)
    out = whole.sum(x)
    alone = torch.stack([part.sum(one) for part, one in zip(parts, x, strict=True)])
    assert out.shape == (4, ROWS, 3) and torch.allclose(out, alone)
    slopes = [torch.autograd.grad(value.sin().sum(), x)[0] for value in (out, alone)]
    assert torch.allclose(*slopes)
    y = torch.randn(4, ROWS, 3, dtype=torch.float64)
    assert torch.allclose((whole.transposed.sum(y) * x).sum(), (y * out).sum())
    assert gradcheck(whole.sum, x) and gradgradcheck(whole.sum, x)


GROUPS = torch.tensor([[0, 2, 1], [2, 3, 0], [4, 6, 1]])


def test_grouped_maps():
    x = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    out = grouped_linear(x, weight, bias, GROUPS)
    part = {row: j for start, stop, j in GROUPS.tolist() for row in range(start, stop)}
    for row in range(6):
        expected = x[row] @ weight[part[row]] + bias[part[row]] if row in part else 0 * out[row]
        assert torch.allclose(out[row], expected)

    def run(*args):
        return grouped_linear(*args, GROUPS)

    assert gradcheck(run, (x, weight, bias)) and gradgradcheck(run, (x, weight, bias))
    assert gradcheck(lambda a, b: grouped_linear(a, b, None, GROUPS), (x, weight))


@pytest.mark.parametrize("biased", [False, True])
def test_stacked_grouped_maps(biased):
    x = torch.randn(3, 6, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(3, 2, 3, 4, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(3, 2, 4, dtype=torch.float64, requires_grad=True) if biased else None
    out = grouped_linear(x, weight, bias, GROUPS)
    alone = torch.stack(
        [
            grouped_linear(x[r], weight[r], None if bias is None else bias[r], GROUPS)
            for r in range(3)
        ]
    )
    assert torch.allclose(out, alone)
    given = [part for part in (x, weight, bias) if part is not None]
    slopes = (torch.autograd.grad(value.sin().sum(), given) for value in (out, alone))
    assert all(torch.allclose(a, b) for a, b in zip(*slopes, strict=True))


def test_stacked_linear_maps():
    x = torch.randn(3, 6, 5, dtype=torch.float64)
    weight, bias = torch.randn(3, 4, 5).double(), torch.randn(3, 4).double()
    plain = torch.nn.functional.linear
    for shift in (None, bias):
        alone = [plain(x[r], weight[r], None if shift is None else shift[r]) for r in range(3)]
        assert torch.allclose(linear(x, weight, shift), torch.stack(alone))


def test_stacked_normalisation_has_statistics_by_replica():
    torch.manual_seed(0)
    x = torch.randn(2, 6, 3, dtype=torch.float64)
    weight = torch.tensor([[1.0, 3.0, 0.0, 2.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]])
    nets = [WeightedBatchNorm(3).double() for _ in range(2)]
    many = WeightedBatchNorm(3).double()
    for name in ("weight", "bias"):
        for net in nets:
            torch.nn.init.normal_(getattr(net, name))
        together = torch.stack([getattr(net, name).detach() for net in nets])
        setattr(many, name, torch.nn.Parameter(together))
    for name in ("running_mean", "running_var"):
        setattr(many, name, torch.stack([getattr(net, name) for net in nets]))
    for relu in (False, True):
        out = many(x, weight, relu)
        alone = [net(x[r], weight[r], relu) for r, net in enumerate(nets)]
        assert torch.allclose(out, torch.stack(alone))
        assert relu == bool((out >= 0).all())
    for name in ("running_mean", "running_var"):
        assert torch.allclose(getattr(many, name), torch.stack([getattr(n, name) for n in nets]))
    for net in (many, *nets):
        net.eval()
    alone = [net(x[r], weight[r]) for r, net in enumerate(nets)]
    assert torch.allclose(many(x, weight), torch.stack(alone))


def test_padding_changes_nothing_in_a_normalisation():
    x = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.tensor([1.0, 1.0, 1.0, 0.0, 0.0])
    padded, plain_norm = WeightedBatchNorm(3).double(), WeightedBatchNorm(3).double()
    out, expected = padded(x, weight)[:3], plain_norm(x[:3])
    assert torch.allclose(out, expected)
    slopes = [torch.autograd.grad(value.sin().sum(), x)[0] for value in (out, expected)]
    assert torch.allclose(*slopes) and not slopes[0][3:].any()
    assert torch.allclose(padded.running_var, plain_norm.running_var)


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


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("stacked", [True, False])
def test_a_feature_without_spread_becomes_the_bias(own, stacked):
    torch.manual_seed(0)
    flat = [0, 1, 3]
    x = torch.full((2, 500, 4), 0.7)
    x[..., 1] *= 1 + 2e-7 * torch.randn(500)
    x[..., 2] = torch.linspace(5.0, 5.5, 500)
    x[..., 3] = 0.0
    x = (x if stacked else x[0]).requires_grad_()
    norm = WeightedBatchNorm(4)
    shape = (*x.shape[:-2], 4)
    norm.weight, norm.bias = (
        torch.nn.Parameter(torch.ones(shape)),
        torch.nn.Parameter(torch.randn(shape)),
    )
    norm.running_mean, norm.running_var = torch.zeros(shape), torch.ones(shape)
    expected = norm.bias.detach().unsqueeze(-2)[..., flat].expand(*x.shape[:-1], 3)
    if own:
        out = norm(x)
    else:
        running = (norm.running_mean, norm.running_var)
        out = norm._plain(x, None, norm.weight, norm.bias, False, running)
    assert torch.equal(out[..., flat], expected)
    (slope,) = torch.autograd.grad((out * torch.randn_like(out)).sum(), x)
    assert not slope[..., :2].any() and slope[..., 2].any()
    norm.eval()
    for factor in (1.0, 1 + 1e-6, 1.1):  # the first batch decides, before averages have settled
        found = norm(x.detach() * factor)
        assert torch.equal(found[..., flat], expected)
        assert found[..., 2].std() > 0.1


def test_a_batch_without_spread_among_others_changes_no_evaluation():
    norm = WeightedBatchNorm(1)
    for number in range(60):
        torch.manual_seed(number)
        norm(torch.randn(40, 1) * 2 + 3)
    norm(torch.full((40, 1), 3.0))
    norm.eval()
    found = norm(torch.tensor([[1.0], [5.0]]))
    assert torch.allclose(found, torch.tensor([[-1.0], [1.0]]), atol=0.2)
