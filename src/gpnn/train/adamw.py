"""AdamW for stacked parameters, with a separate step size and decay for every replica."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..nn.kernels.dispatch import on_gpu
from ..nn.parts import PartLinear

__all__ = ["StackedAdamW", "decayed", "parameter_groups"]

BETAS, EPS = (0.9, 0.999), 1e-8


def decayed(net: nn.Module) -> set[str]:
    """Names of the parameters with weight decay: matrices of linear maps, one per part or one for
    all. Biases, scales and embedding tables are not decayed: where a normalisation cancels one of
    them, only the decay would change it."""
    return {
        f"{path}.weight" if path else "weight"
        for path, module in net.named_modules()
        if isinstance(module, nn.Linear | PartLinear)
    }


def parameter_groups(net: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """The parameter groups of one network, as ``torch.optim.AdamW`` takes them."""
    shrunk = decayed(net)
    decays = {name: weight_decay * (name in shrunk) for name, _ in net.named_parameters()}
    return [
        {"params": [p for name, p in net.named_parameters() if decays[name] == decay],
         "weight_decay": decay}
        for decay in dict.fromkeys(decays.values())
    ]  # fmt: skip


class StackedAdamW:
    r"""Adam with decoupled weight decay on all parameters of all replicas as one long vector.

    .. math::
        m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \quad
        v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2, \quad
        p \leftarrow (1 - l_r w_r)\, p
            - l_r\, \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}

    :math:`w_r` is zero for parameters that are not :func:`decayed`. The parameters of the network
    become views of that vector; nothing is read back to the host, so a step can be captured.

    Args:
        net: a network with stacked parameters, or a single network without a replica dimension.
        lr, weight_decay: one per replica, [R].
        step: t - 1, incremented by the caller, [1].
        stacked: whether the parameters are stacked.
    """

    def __init__(
        self,
        net: nn.Module,
        lr: Tensor,
        weight_decay: Tensor,
        step: Tensor,
        stacked: bool = True,
    ) -> None:
        named = dict(net.named_parameters())
        self.parameters = list(named.values())
        self.value = torch.cat([p.detach().flatten() for p in self.parameters])
        self.first, self.second = torch.zeros_like(self.value), torch.zeros_like(self.value)
        at = 0
        for parameter in self.parameters:
            parameter.data = self.value[at : at + parameter.numel()].view_as(parameter)
            at += parameter.numel()
        each = [p[0].numel() if stacked else p.numel() for p in self.parameters]
        replica = torch.arange(len(lr), device=lr.device)
        self.owner = owner = torch.cat([replica.repeat_interleave(n) for n in each])
        self.lr = lr.to(self.value.dtype)[owner]
        self.decay = None
        if bool(weight_decay.any()):
            shrunk = decayed(net)
            sizes = [(name in shrunk, p.numel()) for name, p in named.items()]
            mask = torch.cat([torch.full((n,), float(own)) for own, n in sizes]).to(self.value)
            self.decay = weight_decay.to(self.value.dtype)[owner] * mask
        self.step = step

    def update(self, gradients: Sequence[Tensor | None], rate: Tensor) -> None:
        """Take one step; ``rate`` [1] multiplies all step sizes."""
        parts = [
            torch.zeros_like(p) if g is None else g
            for p, g in zip(self.parameters, gradients, strict=True)
        ]
        slope = torch.cat([part.flatten() for part in parts])
        if on_gpu(self.value):
            from .kernels.adamw_cuda import adamw_step

            adamw_step(self, slope, rate, BETAS, EPS)
            return
        if self.value.is_cpu:
            from .kernels import adamw_cpu

            adamw_cpu.adamw_step(self, slope, rate, BETAS, EPS)
            return
        size = self.lr * rate
        if self.decay is not None:
            self.value.mul_(1 - size * self.decay)
        count = (self.step + 1).to(self.value.dtype)
        self.first.lerp_(slope, 1 - BETAS[0])
        self.second.mul_(BETAS[1]).addcmul_(slope, slope, value=1 - BETAS[1])
        deviation = (self.second / (1 - BETAS[1] ** count)).sqrt_().add_(EPS)
        self.value.sub_(size / (1 - BETAS[0] ** count) * self.first / deviation)
