"""One model at a time, the plain way: what the stacked engine is compared with."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.samples import Samples
from ..nn.batch import GraphBatch
from ..nn.model import GPNN
from .adamw import parameter_groups
from .model_setup import deterministic, pick_device
from .replica import Curves, IntArray, Replica, Schedule
from .setup import Setup, set_up

__all__ = ["OneModel", "train_one_by_one"]

MEASURED = 256


def train_one_by_one(
    samples: Samples,
    model: Mapping[str, Any] | None,
    replicas: Sequence[Replica],
    schedule: Schedule,
    *,
    device: str = "auto",
    dtype: torch.dtype = torch.float32,
    progress: Callable[[int, int], None] | None = None,
) -> Curves:
    """Train the replicas one after another; arguments and result as in ``train_replicas``."""
    setup, where = set_up(samples, model, replicas), pick_device(device)
    steps = schedule.steps_of(replicas, samples.task.node_level)
    began = time.perf_counter()
    shape = (len(replicas), schedule.epochs)
    loss, valid, test = (np.full(shape, np.nan) for _ in range(3))
    parameters = 0
    with deterministic(where):
        for r, replica in enumerate(replicas):
            torch.manual_seed(replica.seed)
            net = setup.network(replica, dtype).to(where)
            parameters = sum(p.numel() for p in net.parameters())
            run = OneModel(setup, replica, net, where, dtype)
            for epoch in range(schedule.epochs):
                run.set_rate(replica.lr * schedule.rate(epoch))
                loss[r, epoch] = run.train(schedule.batches(replica, epoch, steps))
                valid[r, epoch] = run.measure(replica.valid)
                test[r, epoch] = run.measure(replica.test)
                if progress is not None:
                    progress(r * schedule.epochs + epoch + 1, len(replicas) * schedule.epochs)
    seconds = time.perf_counter() - began
    return Curves(samples.task.metric, loss, valid, test, parameters, seconds, str(where))


class OneModel:
    """One model with its optimiser."""

    def __init__(
        self, setup: Setup, replica: Replica, net: GPNN, device: torch.device, dtype: torch.dtype
    ) -> None:
        self.setup, self.net, self.device, self.dtype = setup, net, device, dtype
        self.shift, self.scale = (part.to(device, dtype) for part in setup.scaling(replica))
        self.adam = torch.optim.AdamW(parameter_groups(net, replica.weight_decay), replica.lr)

    def set_rate(self, rate: float) -> None:
        for group in self.adam.param_groups:
            group["lr"] = rate

    def train(self, batches: list[IntArray]) -> float:
        self.net.train()
        losses = []
        for ids in batches:
            batch, rows = self._batch(ids)
            y = self._labels(batch)[rows]
            loss = self.setup.task.loss(self.net(batch)[rows], y)
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
            losses.append(loss.detach())
        return float(torch.stack(losses).mean())

    @torch.no_grad()
    def measure(self, ids: IntArray) -> float:
        if not len(ids):
            return float("nan")
        self.net.eval()
        task = self.setup.task
        outputs, labels = [], []
        for part in [ids] if task.node_level else np.array_split(ids, -(-len(ids) // MEASURED)):
            batch, rows = self._batch(part)
            assert batch.y is not None
            outputs.append(self.net(batch)[rows] * self.scale + self.shift)
            labels.append(batch.y[rows])
        scores = task.scores(torch.cat(outputs))
        return task.measure(scores, torch.cat(labels)).get(task.metric, float("nan"))

    def _batch(self, ids: IntArray) -> tuple[GraphBatch, Tensor | slice]:
        if self.setup.task.node_level:
            whole = self.setup.prepared.batch().to(self.device, self.dtype)
            return whole, torch.from_numpy(ids).to(self.device)
        return self.setup.prepared.batch(ids).to(self.device, self.dtype), slice(None)

    def _labels(self, batch: GraphBatch) -> Tensor:
        assert batch.y is not None
        y = batch.y
        return (y - self.shift) / self.scale if y.is_floating_point() else y
