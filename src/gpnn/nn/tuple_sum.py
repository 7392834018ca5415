"""The sum of Equation 2 over tuples, computed in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .batch import AlphaRound
from .kernels.dispatch import as_cuda, kernels
from .norm import WeightedBatchNorm, inverse_deviation
from .segments import Segments, bags

__all__ = ["tuple_sums"]


def tuple_sums(
    members: Tensor, norm: WeightedBatchNorm | None, sine: bool, pairs: AlphaRound, chunk: int
) -> Tensor:
    r"""For every class, and then for every shared sum, with at most ``chunk`` tuples in memory

    .. math::
        s_c = \sum_{t \in c} n_{ct} \, \sigma\big(\mathrm{norm}(a_t + b_t)\big)

    where a and b are the members of a tuple, n is its multiplicity in the class, and σ is the ReLU
    or sine. Without ``norm`` it is the sum of :math:`a_t + b_t`. The statistics are those of all
    tuples and take two passes over them, as does the gradient, which recomputes a + b.

    Shapes: members [2 · rows, f], see :class:`~gpnn.nn.layer.PairMLP` → [classes + sums, f].
    """
    plan = _Plan(pairs, chunk, sine)
    gain = bias = stats = None
    if norm is not None:
        gain, bias, members = norm.weight, norm.bias, members.to(norm.weight.dtype)
        stats = _statistics(members, norm, plan)
    out: Tensor = _TupleSums.apply(members, gain, bias, stats, plan)
    return out


@torch.no_grad()
def _statistics(members: Tensor, norm: WeightedBatchNorm, plan: _Plan) -> tuple[Tensor, ...]:
    """Mean and 1/σ; in training, where they are those of the tuples, also the total weight."""
    if not norm.training:
        mean, variance = norm.running_mean, norm.running_var
        return mean, inverse_deviation(mean, variance, norm.eps)
    mean, variance = plan.statistics(members)
    norm.follow(mean, variance, plan.total)
    mean, variance = mean.to(members.dtype), variance.to(members.dtype)
    return mean, inverse_deviation(mean, variance, norm.eps), plan.total


@dataclass(frozen=True)
class _Plan:
    """The tuples of a round in chunks."""

    pairs: AlphaRound
    chunk: int
    sine: bool

    @property
    def total(self) -> Tensor:
        """Total weight of all tuples, as in :class:`~gpnn.nn.norm.WeightedBatchNorm`."""
        return self.pairs.tuple_weight.double().sum().clamp(min=1)

    @property
    def rows(self) -> int:
        shared = self.pairs.shared
        return _rows(self.pairs.tuples) + (0 if shared is None else _rows(shared))

    def met(self, members: Tensor) -> Iterator[tuple[int, int, Tensor]]:
        """(first, last, a + b) of every chunk."""
        count, met = len(self.pairs.tuple_weight), self.pairs.met
        for low in range(0, count, self.chunk):
            high = min(low + self.chunk, count)
            part = met._replace(
                source=met.source[2 * low : 2 * high], ptr=met.ptr[: high - low + 1]
            )
            yield low, high, bags(members, part)

    def weight(self, low: int, high: int, like: Tensor) -> Tensor:
        return self.pairs.tuple_weight[low:high].to(like.dtype)

    def statistics(self, members: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of a + b, in double precision."""
        mean = members.new_zeros(members.shape[-1], dtype=torch.float64)
        for low, high, x in self.met(members):
            mean += self.weight(low, high, x) @ x
        mean /= self.total
        variance, middle = torch.zeros_like(mean), mean.to(members.dtype)
        for low, high, x in self.met(members):
            variance += self.weight(low, high, x) @ (x - middle).square_()
        return mean, variance / self.total

    def add(self, h: Tensor, low: int, high: int, out: Tensor) -> None:
        """Add rows of tuples to those of the classes and shared sums that contain them."""
        for where, rows in self._parts(out):
            source, ptr, weight = _entries(where, low, high)
            _add(h, source, ptr, None if weight is None else weight.to(h.dtype), rows)

    def gather(self, grad: Tensor, low: int, high: int) -> Tensor:
        """The gradient of the rows of tuples."""
        out: Tensor | None = None
        for where, rows in self._parts(grad):
            source, ptr, weight = _entries(where, low, high)
            out = bags(rows, Segments(source, ptr, ptr, ptr, weight), out)
        assert out is not None
        return out

    def _parts(self, rows: Tensor) -> Iterator[tuple[Segments, Tensor]]:
        count = _rows(self.pairs.tuples)
        yield self.pairs.tuples, rows[:count]
        if self.pairs.shared is not None:
            yield self.pairs.shared, rows[count:]


def _rows(where: Segments) -> int:
    return len(where.ptr) - 1


def _entries(where: Segments, low: int, high: int) -> tuple[Tensor, Tensor, Tensor | None]:
    """The sums that contain the tuples: numbers, where those of a tuple begin, multiplicities."""
    first, last = int(where.back_ptr[low]), int(where.back_ptr[high])
    weight = None if where.back_weight is None else where.back_weight[first:last]
    return where.back_source[first:last], where.back_ptr[low : high + 1] - first, weight


def _add(x: Tensor, target: Tensor, ptr: Tensor, weight: Tensor | None, out: Tensor) -> None:
    """Add row i of x to rows ``target[ptr[i]:ptr[i + 1]]`` of ``out``, in a fixed order."""
    own = None if as_cuda(x) else kernels(x)
    if own is not None:
        own.add_to_rows(x, target, ptr, weight, out)
        return
    x = x.repeat_interleave(ptr.diff(), 0)
    out.index_put_((target,), x if weight is None else x * weight.unsqueeze(1), accumulate=True)


class _TupleSums(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        members: Tensor,
        gain: Tensor | None,
        bias: Tensor | None,
        stats: tuple[Tensor, ...] | None,
        plan: _Plan,
    ) -> Tensor:
        """``stats``: mean, 1/σ and, if both are those of these tuples, the total weight."""
        ctx.save_for_backward(members, gain, bias)
        ctx.stats, ctx.plan = stats, plan
        out = members.new_zeros(plan.rows, members.shape[-1])
        for low, high, x in plan.met(members):
            if stats is not None:
                assert gain is not None and bias is not None
                x = _scaled(x, gain, bias, stats)
                x = x.sin_() if plan.sine else x.relu_()
            plan.add(x, low, high, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        members, gain, bias = ctx.saved_tensors
        stats, plan, grad = ctx.stats, ctx.plan, grad.contiguous()
        into = torch.zeros_like(members)
        level = slope = None
        if stats is not None:  # Σ g and Σ g x̂, where g is the gradient of the normalised rows
            level, slope = (members.new_zeros(len(gain), dtype=torch.float64) for _ in range(2))
            for low, high, x in plan.met(members):
                g = _slopes(plan.gather(grad, low, high), x, gain, bias, stats, plan.sine)
                level += g.sum(0)
                slope += (g * (x - stats[0])).sum(0)
            slope *= stats[1]
            level, slope = level.to(grad.dtype), slope.to(grad.dtype)
        for low, high, x in plan.met(members):
            g = plan.gather(grad, low, high)
            if stats is not None:
                g = _slopes(g, x, gain, bias, stats, plan.sine)
                if len(stats) == 3:  # the statistics depend on the tuples
                    share = plan.weight(low, high, x).unsqueeze(1) / stats[2].to(x.dtype)
                    g -= share * (level + (x - stats[0]) * stats[1] * slope)
                g *= gain * stats[1]
            met = plan.pairs.met
            _add(g, met.source[2 * low : 2 * high], met.ptr[: high - low + 1], None, into)
        return into, slope, level, None, None


def _scaled(x: Tensor, gain: Tensor, bias: Tensor, stats: tuple[Tensor, ...]) -> Tensor:
    steep = gain * stats[1]
    return (x * steep).add_(bias - stats[0] * steep)


def _slopes(
    g: Tensor, x: Tensor, gain: Tensor, bias: Tensor, stats: tuple[Tensor, ...], sine: bool
) -> Tensor:
    """The gradient before the ReLU or sine."""
    y = _scaled(x, gain, bias, stats)
    return g.mul_(y.cos_() if sine else y > 0)
