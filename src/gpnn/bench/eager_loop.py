"""A plain PyTorch loop that trains one model at a time: the baseline of ``gpnn bench train``.

Batches are collated on the CPU and copied to the device. The loop uses PyTorch's optimiser and
dropout, and no CUDA graphs. It shares the network and the preparation of graphs with the trainer,
so that the benchmark compares only the loops.
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
        """Take one step per batch; return the mean loss."""
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
        """Return all metrics on the validation part."""
        self.net.eval()
        outputs, labels = [], []
        for batch, rows in self.checks:
            assert batch.y is not None
            outputs.append((self.net(batch)[rows] * self.scale + self.shift).cpu())
            labels.append(batch.y[rows].cpu())
        task = self.setup.task
        return task.measure(task.scores(torch.cat(outputs)), torch.cat(labels))

    def _batches(self, ids: IntArray, size: int) -> Iterator[tuple[GraphBatch, Tensor | slice]]:
        """Yield batches and the indices of their rows that are used."""
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
