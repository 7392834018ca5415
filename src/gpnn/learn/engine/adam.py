"""Adam for stacked parameters, every replica with step size and decay of its own."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ...nn.at_hand import fused

__all__ = ["StackedAdam"]

BETAS, EPS = (0.9, 0.999), 1e-8


class StackedAdam:
    r"""Adam on all parameters of all replicas as one long vector.

    .. math::
        g \leftarrow g + w_r\, p, \quad
        m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \quad
        v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2, \quad
        p \leftarrow p - l_r\, \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}

    The parameters of the network become views of that vector; nothing is read back, so a step can
    be captured.

    Args:
        net: with stacked parameters.
        lr, weight_decay: one per replica, [R].
        step: t - 1, counted up by the caller, [1].
    """

    def __init__(self, net: nn.Module, lr: Tensor, weight_decay: Tensor, step: Tensor) -> None:
        self.parameters = list(net.parameters())
        self.value = torch.cat([p.detach().flatten() for p in self.parameters])
        self.first, self.second = torch.zeros_like(self.value), torch.zeros_like(self.value)
        at = 0
        for parameter in self.parameters:
            parameter.data = self.value[at : at + parameter.numel()].view_as(parameter)
            at += parameter.numel()
        each = [p[0].numel() for p in self.parameters]
        replica = torch.arange(len(lr), device=lr.device)
        owner = torch.cat([replica.repeat_interleave(n) for n in each])
        self.lr = lr.to(self.value.dtype)[owner]
        self.decay = weight_decay.to(self.value.dtype)[owner] if bool(weight_decay.any()) else None
        self.step = step

    def update(self, gradients: Sequence[Tensor | None], rate: Tensor) -> None:
        """One step; ``rate`` [1] is the factor of all step sizes."""
        parts = [
            torch.zeros_like(p) if g is None else g
            for p, g in zip(self.parameters, gradients, strict=True)
        ]
        slope = torch.cat([part.flatten() for part in parts])
        if fused(self.value):
            from ...nn.fused import adam_step

            adam_step(self, slope, rate, BETAS, EPS)
            return
        if self.decay is not None:
            slope = slope.addcmul(self.decay, self.value)
        count = (self.step + 1).to(self.value.dtype)
        self.first.lerp_(slope, 1 - BETAS[0])
        self.second.mul_(BETAS[1]).addcmul_(slope, slope, value=1 - BETAS[1])
        deviation = (self.second / (1 - BETAS[1] ** count)).sqrt_().add_(EPS)
        self.value.sub_(self.lr * rate / (1 - BETAS[0] ** count) * self.first / deviation)
