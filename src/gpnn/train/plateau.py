"""Halve the step size of a replica that has stopped improving."""

from __future__ import annotations

import torch
from torch import Tensor

from .adamw import StackedAdamW

__all__ = ["Plateau"]


class Plateau:
    """Halves the step size of a replica after more than ``patience`` consecutive epochs without
    improvement.

    All operations run on the device, so that they can be captured.

    Args:
        checked: whether a replica has a validation part, [R]; without one its step size is never
            halved.

    Attributes:
        best: the best value so far (larger is better), [R]; ``since``: epochs since then, [R].
    """

    def __init__(self, adam: StackedAdamW, checked: Tensor, patience: int) -> None:
        self.adam, self.checked, self.patience = adam, checked, patience
        self.best = torch.full(
            checked.shape, -torch.inf, dtype=torch.float64, device=checked.device
        )
        self.since = torch.zeros_like(checked, dtype=torch.int64)

    def update(self, value: Tensor) -> None:
        """Call after an epoch. NaN does not count as an improvement."""
        better = value > self.best
        self.best.copy_(torch.where(better, value, self.best))
        self.since.copy_(torch.where(better, 0, self.since + self.checked))
        stalled = self.since > self.patience
        self.since.masked_fill_(stalled, 0)
        factor = torch.where(stalled, 0.5, 1.0).to(self.adam.lr.dtype)
        self.adam.lr.mul_(factor[self.adam.owner])

    def state(self) -> dict[str, Tensor]:
        return {
            "plateau.best": self.best, "plateau.since": self.since, "plateau.lr": self.adam.lr
        }  # fmt: skip
