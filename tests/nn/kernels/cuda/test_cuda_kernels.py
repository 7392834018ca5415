"""The kernels for CUDA against the plain code they stand in for.

Without a GPU, ``make interpret`` runs them in Triton's interpreter, which ``make test`` includes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from gpnn.nn.dropout import CALLS, Draw, kept
from gpnn.nn.grouped import _Backward, _GroupedLinear, grouped_linear
from gpnn.nn.kernels.dispatch import INTERPRETED
from gpnn.nn.linear import linear
from gpnn.nn.lookup import lookup
from gpnn.nn.norm import WeightedBatchNorm, flat
from gpnn.nn.segments import Segments
from gpnn.train.adamw import BETAS, EPS, StackedAdamW

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LONG = 1100 if INTERPRETED else 9000


def on_cuda(test: Callable[..., Any]) -> Callable[..., Any]:
    """Run a test only where its kernels can: on a GPU, or in Triton's interpreter."""
    reason = "the kernels need a CUDA device or TRITON_INTERPRET=1; make interpret"
    there = torch.cuda.is_available() or INTERPRETED
    skipped: Callable[..., Any] = pytest.mark.skipif(not there, reason=reason)(test)
    return skipped


def close(found: Tensor, expected: Tensor, tolerance: float = 2e-5) -> None:
    """Relative to the largest entry: sums are taken in another order."""
    expected = expected.double()
    error = (found.cpu().double() - expected).abs().max() / (expected.abs().max() + 1e-30)
    assert error < tolerance


@on_cuda
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize(("rows", "columns", "width"), [(37, 50, 16), (100, 80, 64), (10, 30, 200)])
@pytest.mark.parametrize("weighted", [False, True])
def test_segment_sums(
    rows: int, columns: int, width: int, weighted: bool, index: torch.dtype
) -> None:
    from gpnn.nn.kernels.cuda import segment_sums

    rng = np.random.default_rng(0)
    row, column = rng.integers(0, rows, 300), rng.integers(0, columns, 300)
    made = Segments.build(row, column, rows, columns, rng.random(300) if weighted else None)
    x = torch.randn(columns, width)
    padding = torch.zeros(9, dtype=torch.int64)
    source = torch.cat([made.source, padding]).to(DEVICE, index)
    weight = None
    if made.weight is not None:
        weight = torch.cat([made.weight.float(), torch.ones(9)]).to(DEVICE)
    close(segment_sums(x.to(DEVICE), source, made.ptr.to(DEVICE, index), weight), made.sum(x))


@on_cuda
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("others", [0, 1000])
@pytest.mark.parametrize("width", [32, 70])
def test_long_segments(weighted: bool, others: int, width: int) -> None:
    """Lengths about the bounds of blocks and pieces; among many short ones there are no pieces."""
    from gpnn.nn.kernels.cuda import segment_sums

    rng = np.random.default_rng(0)
    long = [0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 2, 0, 5000, 3, 64, 0]
    lengths = np.array(long + [2] * others)
    row = np.repeat(np.arange(len(lengths)), lengths)
    column = rng.integers(0, 50, len(row))
    weights = rng.random(len(row)) if weighted else None
    made = Segments.build(row, column, len(lengths), 50, weights)
    x = torch.randn(50, width)
    weight = None if made.weight is None else made.weight.float().to(DEVICE)
    found = segment_sums(x.to(DEVICE), made.source.to(DEVICE), made.ptr.to(DEVICE), weight)
    close(found, made.sum(x.double()))


@on_cuda
@pytest.mark.parametrize("given", ["itself", "another", "another, as it is"])
@pytest.mark.parametrize("width", [32, 70])
def test_sums_onto_something(given: str, width: int) -> None:
    """Values and gradients, the replicas having factors of their own."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    replicas, n = 3, 40
    row, column = rng.integers(0, replicas * n, (2, 300))
    made = Segments.build(row, column, replicas * n, replicas * n)
    there = Segments(*(part.to(DEVICE) for part in made[:4]))
    values = [torch.randn(replicas, n, width), torch.randn(replicas, n, width), torch.randn(3)]
    slope = torch.randn(replicas, n, width)
    found = []
    for segments, kind in ((made, torch.float64), (there, torch.float32)):
        device = segments.ptr.device
        x, onto, factor = (value.to(device, kind).requires_grad_() for value in values)
        base = x if given == "itself" else onto
        out = segments.sum(x, base, None if "as it is" in given else factor)
        out.backward(slope.to(device, kind))
        found.append((out.detach(), x.grad, onto.grad, factor.grad))
    for expected, ours in zip(*found, strict=True):
        assert (expected is None) == (ours is None)
        if expected is not None and ours is not None:
            close(ours, expected)


@on_cuda
def test_weighted_sums_onto_rows_of_another_number() -> None:
    """As tuples are added to their classes; some replicas have no entry at all."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    replicas, rows, columns = 3, 30, 50
    row, column = rng.integers(0, rows, 200), rng.integers(0, columns, 200)
    made = Segments.build(row, column, replicas * rows, replicas * columns, rng.random(200))
    there = Segments(*(part.to(DEVICE) for part in made if part is not None))
    values = torch.randn(replicas, columns, 32), torch.randn(replicas, rows, 32), torch.randn(3)
    slope, found = torch.randn(replicas, rows, 32), []
    for segments, kind in ((made, torch.float64), (there, torch.float32)):
        device = segments.ptr.device
        given = [value.to(device, kind).requires_grad_() for value in values]
        out = segments.sum(*given)
        out.backward(slope.to(device, kind))
        found.append([out.detach(), *(one.grad for one in given)])
    for expected, ours in zip(*found, strict=True):
        assert expected is not None and ours is not None
        close(ours, expected)


@on_cuda
@pytest.mark.parametrize("shape", [(2, 7), (3, 700, 64), (2, 0, 64)])
def test_dot_products_of_replicas(shape: tuple[int, ...]) -> None:
    from gpnn.nn.kernels.cuda import replica_dots

    torch.manual_seed(0)
    x, y = torch.randn(2, *shape)
    expected = (x.double() * y.double()).flatten(1).sum(1)
    found = replica_dots(x.to(DEVICE), y.to(DEVICE))
    assert found.shape == expected.shape
    close(found, expected)


@on_cuda
def test_gradient_of_a_table() -> None:
    torch.manual_seed(0)
    table, index = torch.randn(3, 9, 64), torch.randint(0, 9, (3, 1000))
    slope = torch.randn(3, 1000, 64)
    for rows in (index, index[0]):
        exact = table.double().requires_grad_()
        ours = table.clone().to(DEVICE).requires_grad_()
        lookup(exact, rows).backward(slope.double())
        lookup(ours, rows.to(DEVICE)).backward(slope.to(DEVICE))
        assert exact.grad is not None and ours.grad is not None
        close(ours.grad, exact.grad)


@on_cuda
def test_sums_of_nothing() -> None:
    from gpnn.nn.kernels.cuda import segment_sums

    ptr, source = torch.zeros(5, dtype=torch.int32), torch.zeros(3, dtype=torch.int32)
    out = segment_sums(torch.ones(2, 8).to(DEVICE), source.to(DEVICE), ptr.to(DEVICE), None)
    assert out.shape == (4, 8) and not out.any()


@on_cuda
@pytest.mark.parametrize(("replicas", "rows", "width"), [(3, 50, 16), (2, 700, 64), (2, LONG, 200)])
@pytest.mark.parametrize("relu", [False, True])
def test_normalisation(replicas: int, rows: int, width: int, relu: bool) -> None:
    from gpnn.nn.kernels.cuda import normalise

    torch.manual_seed(0)
    x, slope = torch.randn(replicas, rows, width) * 3 + 5, torch.randn(replicas, rows, width)
    x[:, :, 3] = 0.7  # constant, not exactly so in a mean
    weight = torch.randint(0, 4, (replicas, rows)).float()
    gain, bias = torch.randn(2, replicas, width)
    plain = WeightedBatchNorm(width).double()
    plain.weight, plain.bias = nn.Parameter(gain.double()), nn.Parameter(bias.double())
    plain.running_mean = torch.zeros(replicas, width).double()
    plain.running_var = torch.ones(replicas, width).double()
    exact = x.double().requires_grad_()
    expected = plain(exact, weight.double(), relu)
    expected.backward(slope.double())
    given = [part.to(DEVICE).requires_grad_() for part in (x, gain, bias)]
    mean, variance = torch.zeros(replicas, width).to(DEVICE), torch.ones(replicas, width).to(DEVICE)
    out = normalise(
        given[0], weight.to(DEVICE), *given[1:], mean, variance, plain.eps, flat(x), plain.momentum,
        relu,
    )  # fmt: skip
    out.backward(slope.to(DEVICE))
    close(out.detach(), expected.detach())
    assert exact.grad is not None and plain.weight.grad is not None and plain.bias.grad is not None
    for one, other in zip(given, (exact.grad, plain.weight.grad, plain.bias.grad), strict=True):
        assert one.grad is not None
        close(one.grad, other, 1e-4)
    close(mean, plain.running_mean)
    close(variance, plain.running_var)


SHAPES = [
    (2, 300, 16, 32, ((0, 100, 0), (100, 130, 2), (150, 300, 1))),
    (3, 700, 64, 64, ((0, 700, 0),)),
    (2, 90, 200, 2, ((0, 40, 1), (40, 60, 0), (60, 90, 1))),
]


@on_cuda
@pytest.mark.parametrize(("replicas", "rows", "inner", "outer", "groups"), SHAPES)
def test_grouped_maps(replicas: int, rows: int, inner: int, outer: int, groups: Any) -> None:
    from gpnn.nn.kernels.cuda import map_rows, outer_rows

    torch.manual_seed(0)
    x, slope = torch.randn(replicas, rows, inner), torch.randn(replicas, rows, outer)
    weight, bias = torch.randn(replicas, 3, inner, outer), torch.randn(replicas, 3, outer)
    exact = [part.double() for part in (x, weight, bias)]
    close(
        map_rows(x.to(DEVICE), weight.to(DEVICE), bias.to(DEVICE), groups),
        _GroupedLinear.forward(*exact, groups),
    )
    into_x, into_weight, into_bias = _Backward.forward(slope.double(), *exact[:2], groups, True)
    close(map_rows(slope.to(DEVICE), weight.mT.to(DEVICE), None, groups), into_x)
    found, shift = outer_rows(x.to(DEVICE), slope.to(DEVICE), 3, groups, "right")
    assert shift is not None
    close(found, into_weight)
    close(shift, into_bias)
    turned, shift = outer_rows(slope.to(DEVICE), x.to(DEVICE), 3, groups, "left")
    assert shift is not None
    close(turned, into_weight.mT)
    close(shift, into_bias)
    assert outer_rows(x.to(DEVICE), slope.to(DEVICE), 3, groups)[1] is None


@on_cuda
@pytest.mark.parametrize("features", [64, 7])
def test_maps_and_their_gradients(features: int) -> None:
    """Stacked linear maps as a network uses them; widths that are not aligned take another way."""
    torch.manual_seed(0)
    shapes = ((3, 500, features), (3, 32, features), (3, 32))
    values = [torch.randn(shape) for shape in shapes]
    exact = [value.double().requires_grad_() for value in values]
    ours = [value.to(DEVICE).requires_grad_() for value in values]
    expected, found = linear(*exact), linear(*ours)
    close(found.detach(), expected.detach())
    slope = torch.randn(expected.shape)
    expected.backward(slope.double())
    found.backward(slope.to(DEVICE))
    for one, other in zip(ours, exact, strict=True):
        assert one.grad is not None and other.grad is not None
        close(one.grad, other.grad)
    groups = torch.tensor([[0, 200, 0], [200, 500, 0]])
    once = grouped_linear(ours[0], ours[1].mT.unsqueeze(1), None, groups)
    close(once.detach(), linear(exact[0], exact[1]).detach())


@on_cuda
def test_masks_are_equal_bit_for_bit() -> None:
    seed, step = torch.tensor([3, 2**31 - 1, 0]), torch.tensor([12345])
    rate = torch.tensor([0.5, 0.2, 0.0], dtype=torch.float64)
    rows = torch.randint(0, 10**6, (3, 77))
    plain = kept(Draw(seed, step, rate, 2), 5, rows, 64, torch.float32)
    there = Draw(seed.to(DEVICE), step.to(DEVICE), rate.to(DEVICE), 2)
    from gpnn.nn.kernels.cuda import drop

    x = torch.randn(3, 77, 64)
    for numbers in (rows, rows.int()):  # numbers of graphs are 32 bits wide
        given = x.clone().to(DEVICE).requires_grad_()
        out = drop(given, there, CALLS * 2 + 5, numbers.to(DEVICE))
        assert torch.equal(out.detach().cpu(), x * plain)
        out.backward(x.to(DEVICE).square())
        assert given.grad is not None
        assert torch.equal(given.grad.cpu(), x.square() * plain)


class _Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.map = nn.Linear(1, 1)  # three replicas of a map; its weight decays
        self.map.weight = nn.Parameter(torch.randn(3, 4, 5))
        self.map.bias = nn.Parameter(torch.randn(3, 700))


@on_cuda
@pytest.mark.parametrize("decayed", [False, True])
def test_steps_of_adam(decayed: bool) -> None:
    from gpnn.train.kernels.adamw_cuda import adamw_step

    torch.manual_seed(0)
    plain = _Two()
    there = _Two().to(DEVICE)
    there.load_state_dict(plain.state_dict())
    lr, decay = torch.tensor([0.1, 0.01, 0.02]), torch.tensor([0.0, 0.1, 0.3]) * decayed
    step = torch.zeros(1, dtype=torch.int64)
    far = step.to(DEVICE)
    ours = StackedAdamW(there, lr.to(DEVICE), decay.to(DEVICE), far)
    reference = StackedAdamW(plain, lr, decay, step)
    for turn in range(5):
        slopes = [torch.randn(3, 4, 5), torch.randn(3, 700)]
        rate = torch.full((1,), 0.5**turn)
        reference.update(slopes, rate)
        flat = torch.cat([slope.flatten() for slope in slopes])
        adamw_step(ours, flat.to(DEVICE), rate.to(DEVICE), BETAS, EPS)
        step += 1
        far += 1
    for name in ("value", "first", "second"):
        close(getattr(ours, name), getattr(reference, name))
