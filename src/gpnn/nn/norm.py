"""Weighted batch normalisation: a row counts as many times as the items that it represents."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from .kernels.dispatch import as_cuda, fast, kernels
from .linear import Linear
from .ranks import all_sum, ranks
from .recompute import recomputing

__all__ = [
    "MLP",
    "WeightedBatchNorm",
    "activated",
    "constant",
    "flat",
    "inverse_deviation",
    "spread_out",
]

FLAT = 32.0
"""A standard deviation below this many rounding errors of the mean counts as zero."""
SINE = 4.0
"""Initial scale of a normalisation before a sine, in radians per standard deviation."""


def activated(norm: WeightedBatchNorm, x: Tensor, weight: Tensor | None, sine: bool) -> Tensor:
    """Normalise, then apply ReLU or sine."""
    if not sine:
        out: Tensor = norm(x, weight, relu=True)
        return out
    return torch.sin(norm(x, weight))


@torch.no_grad()
def spread_out(norm: WeightedBatchNorm) -> None:
    """Initialise a normalisation before a sine: several periods, uniformly distributed phases."""
    norm.weight.fill_(SINE)
    nn.init.uniform_(norm.bias, -math.pi, math.pi)


class WeightedBatchNorm(nn.Module):
    r"""Batch normalisation over weighted rows.

    .. math::
        \mu = \frac{\sum_i w_i x_i}{\sum_i w_i}, \quad
        \sigma^2 = \frac{\sum_i w_i (x_i - \mu)^2}{\sum_i w_i}, \quad
        y_i = \frac{x_i - \mu}{\sqrt{\sigma^2 + \epsilon}} \odot g + b

    A class of :math:`w` equal pairs gets weight :math:`w`, so that statistics are taken over the
    pairs; a padded row gets weight 0. A feature with :math:`\sigma` below 32 rounding errors of
    :math:`\mu` counts as constant: its output is :math:`b`, in training and in evaluation, and it
    gets no gradient. Otherwise :math:`1 / \sqrt\epsilon` would amplify its rounding error by 300,
    and the next normalisation would do so again. Running statistics follow PyTorch's convention
    (unbiased variance, momentum 0.1), except that the variance of a feature that is constant in
    the first batch starts at 0. Stacked replicas have separate statistics; processes that train
    together (:mod:`gpnn.nn.ranks`) share them.

    Args:
        bias: whether to learn :math:`b`; otherwise it is zero.

    Shapes: input [..., rows, features], weight [..., rows] or ``None`` for ones (not stacked);
    output like the input, with negative entries set to zero if ``relu``.
    """

    bias: Tensor
    running_mean: Tensor
    running_var: Tensor
    part_dims: dict[str, tuple[int, ...]]

    def __init__(
        self, features: int, bias: bool = True, eps: float = 1e-5, momentum: float = 0.1
    ) -> None:
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.empty(features))
        if bias:
            self.bias = nn.Parameter(torch.empty(features))
        else:
            self.register_buffer("bias", torch.empty(features), persistent=False)
        self.part_dims = {}
        self.register_buffer("running_mean", torch.zeros(features))
        self.register_buffer("running_var", torch.ones(features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)
        self.running_mean.zero_()
        self.running_var.fill_(1)

    def forward(self, x: Tensor, weight: Tensor | None = None, relu: bool = False) -> Tensor:
        x = x.to(self.weight.dtype)  # statistics stay in full precision under autocast
        if not self.training:
            return self._scale(x, relu)
        running = self._running()
        rest: tuple[Any, ...] = (self.eps, flat(x), self.momentum, relu)
        if fast(x) and x.shape[1] and weight is not None and ranks() == 1:
            from .kernels.cuda import normalise

            return normalise(x, weight.to(x.dtype), self.weight, self.bias, *running, *rest)
        own = kernels(x)
        if own is not None and not as_cuda(x) and (x.shape[-2] or ranks() > 1):
            plain = partial(self._plain, relu=relu)
            out: Tensor = own.normalise(x, weight, self.weight, self.bias, running, *rest, plain)
            return out
        return self._plain(x, weight, self.weight, self.bias, relu, running)

    def steep(self) -> Tensor:
        """The factor by which the running statistics scale a feature, [..., features]."""
        return self.weight * inverse_deviation(self.running_mean, self.running_var, self.eps)

    def _scale(self, x: Tensor, relu: bool) -> Tensor:
        """Normalise by the running statistics."""
        steep = self.steep()
        shift = self.bias - self.running_mean * steep
        own = kernels(x)
        if own is not None and not as_cuda(x) and not torch.is_grad_enabled():
            scaled: Tensor = own.scale_rows(x, steep, shift, relu)
            return scaled
        out = x * steep.unsqueeze(-2) + shift.unsqueeze(-2)
        return torch.relu(out) if relu else out

    def _plain(
        self,
        x: Tensor,
        weight: Tensor | None,
        gain: Tensor,
        bias: Tensor,
        relu: bool,
        running: tuple[Tensor, Tensor] | None = None,
    ) -> Tensor:
        """Normalise by the statistics of the batch; update the running ones if given."""
        row = x.new_ones(x.shape[:-1]) if weight is None else weight.to(x.dtype)
        row = row.unsqueeze(-2)
        with torch.autocast(x.device.type, enabled=False):
            sums = all_sum(torch.cat([(row @ x).squeeze(-2), row.sum(-1)], -1))
            total = sums[..., -1:].detach().clamp(min=1)
            mean = sums[..., :-1] / total
            centred = x - mean.unsqueeze(-2)
            variance = all_sum((row @ centred.square()).squeeze(-2)) / total
        scale = gain * inverse_deviation(mean, variance, self.eps)
        out = centred * scale.unsqueeze(-2) + bias.unsqueeze(-2)
        if running is not None:
            _follow(running, mean.detach(), variance.detach(), total, self.momentum)
        return torch.relu(out) if relu else out

    def follow(self, mean: Tensor, variance: Tensor, total: Tensor) -> None:
        """Update the running statistics; ``total`` is the total weight of all rows."""
        _follow(self._running(), mean, variance, total, self.momentum)

    def _running(self) -> tuple[Tensor, Tensor]:
        """The running statistics, or copies if they have already been updated in this step."""
        own = (self.running_mean, self.running_var)
        return (own[0].clone(), own[1].clone()) if recomputing() else own

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.weight.shape[-1]})"


def flat(x: Tensor) -> float:
    """The fraction of μ² below which a variance counts as zero."""
    return float(FLAT * torch.finfo(x.dtype).eps) ** 2


def constant(mean: Tensor, variance: Tensor) -> Tensor:
    """Which features are constant up to rounding, except those that are always zero."""
    return variance < flat(mean) * mean.square()


def inverse_deviation(mean: Tensor, variance: Tensor, eps: float) -> Tensor:
    """1/σ, or 0 for constant features."""
    return torch.rsqrt(variance + eps).masked_fill(constant(mean, variance), 0.0)


def _follow(
    running: tuple[Tensor, Tensor], mean: Tensor, variance: Tensor, total: Tensor, momentum: float
) -> None:
    unbiased = (variance * (total / (total - 1).clamp(min=1))).to(running[1].dtype)
    mean, variance = mean.to(running[0].dtype), variance.to(running[1].dtype)
    none = constant(mean, variance)
    first = none & (running[1] == 1)
    running[0].lerp_(mean, momentum)
    running[1].lerp_(unbiased.masked_fill(none, 0.0), momentum).masked_fill_(first, 0.0)


class MLP(nn.Module):
    """Linear, normalisation, ReLU or sine, linear: the two-layer perceptron of every update.

    Args:
        bias: whether the last linear map has a bias.
        norm: whether to normalise; if not, the first linear map has a bias.
        sine: whether to use a sine instead of the ReLU; needs ``norm``.

    Shapes: [..., rows, inputs] → [..., rows, outputs]; ``weight`` is that of the normalisation.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        bias: bool = True,
        norm: bool = True,
        sine: bool = False,
    ) -> None:
        super().__init__()
        assert norm or not sine
        self.sine = sine
        self.first = Linear(inputs, hidden, bias=not norm)
        self.norm = WeightedBatchNorm(hidden) if norm else None
        self.second = Linear(hidden, outputs, bias)
        if sine and self.norm is not None:
            spread_out(self.norm)

    def reset_parameters(self) -> None:
        for module in (self.first, self.norm, self.second):
            if module is not None:
                module.reset_parameters()
        if self.sine and self.norm is not None:
            spread_out(self.norm)

    def forward(self, x: Tensor, weight: Tensor | None = None) -> Tensor:
        out: Tensor = self.second(self.before_second(x, weight))
        return out

    def before_second(self, x: Tensor, weight: Tensor | None = None) -> Tensor:
        """Everything before the last linear map, for callers that apply it themselves."""
        x = self.first(x)
        if self.norm is None:
            return torch.relu(x)
        return activated(self.norm, x, weight, self.sine)
