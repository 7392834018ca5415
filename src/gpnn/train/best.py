"""The best epoch so far of every replica, with its weights, stored on the device."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

__all__ = ["BestEpoch"]


class BestEpoch:
    """Weights and buffers of the epoch that is best on the validation part, replica by replica.

    An epoch is better if the criterion is higher, or if it is equal and the validation loss is
    lower. After ``patience`` epochs without improvement a replica has stopped: later epochs, while
    other replicas continue, are ignored. Without a validation part the last epoch is kept. Epochs
    before ``first`` are not candidates, and no replica stops in them.

    Args:
        value: all parameters of all replicas; ``owner``: the replica of every entry.
        buffers: by name, [R, …].
        patience: number of epochs, or ``None`` for no limit.
        first: the first epoch that may be kept, from 1.
    """

    def __init__(
        self,
        value: Tensor,
        owner: Tensor,
        buffers: Mapping[str, Tensor],
        replicas: int,
        patience: int | None,
        first: int = 1,
    ) -> None:
        self.live, self.owner, self.buffers = value, owner, dict(buffers)
        self.patience, self.first = patience, first
        device = value.device
        self.value = value.clone()
        self.kept = {name: buffer.clone() for name, buffer in buffers.items()}
        self.key = torch.full((replicas, 2), -torch.inf, dtype=torch.float64, device=device)
        self.epoch = torch.zeros(replicas, dtype=torch.int64, device=device)

    def update(self, epoch: Tensor, criterion: Tensor, loss: Tensor, checked: Tensor) -> None:
        """Call after an epoch.

        Args:
            epoch: counted from 1, [1].
            criterion: higher is better, NaN where it is undefined, [R].
            loss: on the validation part, [R].
            checked: whether a replica has a validation part, bool [R].
        """
        criterion = torch.where(torch.isnan(criterion), -torch.inf, criterion)
        before, lost = self.key.unbind(1)
        higher = (criterion > before) | ((criterion == before) & (-loss > lost))
        better = torch.where(checked, higher & ~torch.isnan(loss), True) & self.active(epoch - 1)
        better &= epoch >= self.first
        new = torch.stack([criterion, -loss], 1)
        self.key.copy_(torch.where(better.unsqueeze(1), new, self.key))
        self.epoch.copy_(torch.where(better, epoch, self.epoch))
        self.value.copy_(torch.where(better[self.owner], self.live, self.value))
        for name, buffer in self.buffers.items():
            mask = better.view(-1, *[1] * (buffer.dim() - 1))
            self.kept[name].copy_(torch.where(mask, buffer, self.kept[name]))

    def active(self, epoch: Tensor) -> Tensor:
        """Which replicas continue after an epoch, [R]."""
        if self.patience is None:
            return torch.ones_like(self.epoch, dtype=torch.bool)
        return epoch < self.last()

    def last(self) -> Tensor:
        """The last epoch of every replica if none improves it, with ``patience``, [R]."""
        assert self.patience is not None
        return self.epoch.clamp(min=self.first - 1) + self.patience

    def state(self) -> dict[str, Tensor]:
        """All tensors that change from epoch to epoch."""
        buffers = {f"best.buffer.{name}": value for name, value in self.kept.items()}
        return {"best.value": self.value, "best.key": self.key, "best.epoch": self.epoch, **buffers}
