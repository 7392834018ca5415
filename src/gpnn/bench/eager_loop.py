"""One model at a time, as a plain PyTorch loop trains it: the yardstick of ``gpnn bench train``.

This is the loop that ``gpnn train`` had before it trained through the one trainer: batches are put
together on the CPU and sent, PyTorch's optimiser and dropout, no capture. It shares the network and
the preparation of graphs with the trainer, so that loops are compared and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from ..nn.batch import GraphBatch
from ..nn.model import GPNN
from ..train.adamw import parameter_groups
from ..train.replica import IntArray, Replica
from ..train.setup import Setup

__all__ = ["EagerLoop"]

MEASURED = 256


class EagerLoop:
    """One model with its optimiser."""

    def __init__(self, setup: Setup, replica: Replica, net: GPNN, device: torch.device) -> None:
        self.setup, self.net, self.device = setup, net.to(device), device
        self.shift, self.scale = (part.to(device) for part in setup.scaling(replica))
        groups = parameter_groups(net, replica.weight_decay)
        self.adam = torch.optim.AdamW(groups, replica.lr, fused=True)
        self.checks = list(self._batches(replica.valid, MEASURED)) if len(replica.valid) else []

    def train(self, batches: list[IntArray]) -> float:
        """A step for every batch; the mean loss."""
        self.net.train()
        total, seen = 0.0, 0
        for ids in batches:
            batch, rows = next(self._batches(ids, len(ids)))
            y = self._labels(batch)[rows]
            loss = self.setup.task.loss(self.net(batch)[rows], y)
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
            total, seen = total + loss.item() * len(ids), seen + len(ids)
        return total / seen

    @torch.no_grad()
    def measure(self) -> dict[str, float]:
        """Every metric of the validation part."""
        self.net.eval()
        outputs, labels = [], []
        for batch, rows in self.checks:
            assert batch.y is not None
            outputs.append((self.net(batch)[rows] * self.scale + self.shift).cpu())
            labels.append(batch.y[rows].cpu())
        task = self.setup.task
        return task.measure(task.scores(torch.cat(outputs)), torch.cat(labels))

    def _batches(self, ids: IntArray, size: int) -> Iterator[tuple[GraphBatch, Tensor | slice]]:
        """Batches, and the rows of them that count."""
        if self.setup.task.node_level:
            whole = self.setup.prepared.batch().to(self.device)
            yield whole, torch.from_numpy(ids).to(self.device)
            return
        for part in np.array_split(ids, -(-len(ids) // size)):
            yield self.setup.prepared.batch(part).to(self.device), slice(None)

    def _labels(self, batch: GraphBatch) -> Tensor:
        assert batch.y is not None
        y = batch.y
        return (y - self.shift) / self.scale if y.is_floating_point() else y
