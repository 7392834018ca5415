"""Kernels on several threads: the same bits as on one, and what the plain code gives."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from gpnn.nn.kernels.cpu import pair_slopes, pair_sums, segment_sums, threads
from gpnn.nn.norm import WeightedBatchNorm
from gpnn.nn.segments import Segments
from gpnn.train.device import one_thread


@pytest.fixture
def three_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    monkeypatch.setattr(threads, "WORTH", 1)
    yield
    torch.set_num_threads(before)


def on_one_thread(call: partial[Tensor]) -> Tensor:
    with one_thread():
        return call()


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("rows", [1, 5, 700])
def test_sums_do_not_depend_on_threads(rows: int) -> None:
    rng = np.random.default_rng(rows)
    row, column = rng.integers(0, rows, 3_000), rng.integers(0, 90, 3_000)
    row[: 3_000 // 2] = 0  # most of the work in one row
    where = Segments.build(row, column, rows, 90, rng.normal(size=3_000))
    x = torch.from_numpy(rng.normal(size=(90, 7)))
    onto = torch.from_numpy(rng.normal(size=(rows, 7)))
    call = partial(segment_sums, x, where.source, where.ptr, where.weight, onto)
    assert torch.equal(call(), on_one_thread(call))
    assert where.weight is not None
    wanted = onto.index_add(
        0,
        torch.repeat_interleave(torch.arange(rows), where.ptr.diff()),
        where.weight[:, None] * x[where.source],
    )
    torch.testing.assert_close(call(), wanted)


@pytest.mark.usefixtures("three_threads")
def test_pair_sums_do_not_depend_on_threads() -> None:
    rng = np.random.default_rng(0)
    vertices, classes, pairs = 300, 11, 4_000
    vertex = np.sort(rng.integers(0, vertices, pairs))
    other, own = rng.integers(0, vertices, pairs), rng.integers(0, classes, pairs)
    of = Segments.build(vertex, other, vertices, vertices)
    order = torch.from_numpy(np.argsort(own, kind="stable"))
    ends = torch.from_numpy(np.concatenate([[0], np.cumsum(np.bincount(own, minlength=classes))]))
    x, y = (torch.from_numpy(rng.normal(size=(n, 5))) for n in (vertices, classes))
    grad = torch.from_numpy(rng.normal(size=(vertices, 5)))
    others, owns, centres = (torch.from_numpy(one) for one in (other, own, vertex))
    forth = partial(pair_sums, x, y, others, owns, of.ptr, None)
    back = partial(pair_slopes, y, x, others, order, ends, centres, grad, None)
    for call in (forth, back):
        assert torch.equal(call(), on_one_thread(call))
    y.requires_grad_()
    wanted = torch.zeros(vertices, 5, dtype=x.dtype)
    wanted = wanted.index_add(0, centres, torch.relu(x[others] + y[owns]))
    torch.testing.assert_close(forth(), wanted.detach())
    torch.testing.assert_close(back(), torch.autograd.grad(wanted, y, grad)[0])


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("first", [1.0, 1e-7, 0.0])
def test_norms_of_many_rows_are_those_of_the_plain_code(first: float) -> None:
    """Three stretches; the weights of the first may add up to less than one."""
    rng = np.random.default_rng(1)
    norm = WeightedBatchNorm(2).double()
    weight = torch.from_numpy(rng.random(150_000))
    weight[:70_000] *= first
    x = torch.from_numpy(rng.normal(3, 2, (150_000, 2))).requires_grad_()
    found = norm(x, weight, relu=True)
    grad = torch.from_numpy(rng.normal(size=found.shape))
    slopes = torch.autograd.grad(found, (x, *norm.parameters()), grad)
    means = norm.running_mean.clone(), norm.running_var.clone()
    norm.reset_parameters()
    plain = norm._plain(x, weight, norm.weight, norm.bias, True, norm._running())
    wanted = torch.autograd.grad(plain, (x, *norm.parameters()), grad)
    for own, other in zip(
        (found, *slopes, *means), (plain, *wanted, norm.running_mean, norm.running_var), strict=True
    ):
        torch.testing.assert_close(own, other, rtol=1e-9, atol=1e-12)
    norm.eval()
    with torch.no_grad():
        torch.testing.assert_close(norm(x), x * norm.steep() + norm.bias
                                   - norm.running_mean * norm.steep())  # fmt: skip
