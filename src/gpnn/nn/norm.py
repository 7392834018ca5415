"""Batch normalisation that counts every row as often as it stands for something."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .kernels.dispatch import fast
from .linear import Linear

__all__ = ["MLP", "WeightedBatchNorm"]


class WeightedBatchNorm(nn.Module):
    r"""Batch normalisation over weighted rows.

    .. math::
        \mu = \frac{\sum_i w_i x_i}{\sum_i w_i}, \quad
        \sigma^2 = \frac{\sum_i w_i (x_i - \mu)^2}{\sum_i w_i}, \quad
        y_i = \frac{x_i - \mu}{\sqrt{\sigma^2 + \epsilon}} \odot g + b

    A class of :math:`w` equal pairs gets weight :math:`w`, which makes the statistics those over
    the pairs; a padded row gets weight 0. Running statistics follow PyTorch's convention (unbiased
    variance, momentum 0.1). Stacked replicas have statistics of their own.

    Args:
        bias: whether there is a :math:`b`; without one it is zero.

    Shapes: input [..., rows, features], weight [..., rows] or ``None`` for ones (not stacked);
    output like the input, negative entries cut off with ``relu``.
    """

    bias: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(
        self, features: int, bias: bool = True, eps: float = 1e-5, momentum: float = 0.1
    ) -> None:
        super().__init__()
        self.features, self.eps, self.momentum = features, eps, momentum
        self.weight = nn.Parameter(torch.empty(features))
        if bias:
            self.bias = nn.Parameter(torch.empty(features))
        else:
            self.register_buffer("bias", torch.empty(features), persistent=False)
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
        if self.training and fast(x) and x.shape[1] and weight is not None:
            from .kernels.cuda import normalise

            return normalise(
                x, weight.to(x.dtype), self.weight, self.bias, self.running_mean, self.running_var,
                self.eps, self.momentum, relu,
            )  # fmt: skip
        out = self._normalise(x, weight)
        return torch.relu(out) if relu else out

    def _normalise(self, x: Tensor, weight: Tensor | None) -> Tensor:
        if not self.training:
            scale = self.weight * torch.rsqrt(self.running_var + self.eps)
            return x * scale.unsqueeze(-2) + (self.bias - self.running_mean * scale).unsqueeze(-2)
        if weight is None:
            total = torch.full((), max(x.shape[0], 1), dtype=x.dtype, device=x.device)
            out, mean, scale = torch.native_batch_norm(
                x, self.weight, self.bias, None, None, True, 0.0, self.eps
            )
            variance = scale.detach() ** -2 - self.eps
        else:
            row = weight.to(x.dtype).unsqueeze(-2)
            total = weight.sum(-1, keepdim=True).to(x.dtype).clamp(min=1)
            with torch.autocast(x.device.type, enabled=False):
                mean = (row @ x).squeeze(-2) / total
                centred = x - mean.unsqueeze(-2)
                variance = (row @ centred.square()).squeeze(-2) / total
            scale = self.weight * torch.rsqrt(variance + self.eps)
            out = centred * scale.unsqueeze(-2) + self.bias.unsqueeze(-2)
        unbiased = variance.detach() * (total / (total - 1).clamp(min=1))
        self.running_mean.lerp_(mean.detach(), self.momentum)
        self.running_var.lerp_(unbiased, self.momentum)
        return out

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.features})"


class MLP(nn.Module):
    """Linear, normalisation, ReLU, linear: the two-layer perceptron of every update.

    Args:
        bias: whether the last linear map has one.

    Shapes: [..., rows, inputs] → [..., rows, outputs]; ``weight`` goes to the normalisation.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        self.first = Linear(inputs, hidden, bias=False)
        self.norm = WeightedBatchNorm(hidden)
        self.second = Linear(hidden, outputs, bias)

    def reset_parameters(self) -> None:
        self.first.reset_parameters()
        self.norm.reset_parameters()
        self.second.reset_parameters()

    def forward(self, x: Tensor, weight: Tensor | None = None) -> Tensor:
        return self.after_first(self.first(x), weight)

    def after_first(self, x: Tensor, weight: Tensor | None = None) -> Tensor:
        """The rest, for a caller that has applied the first linear map itself."""
        out: Tensor = self.second(self.norm(x, weight, relu=True))
        return out
