"""One model at a time, the plain way: what the trainer is compared with.

Batches of prepared graphs, the network as it is, PyTorch's AdamW, metrics of scikit-learn. Nothing
is stacked, padded or captured, and dropout is off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpnn.data.samples import Samples
from gpnn.data.tasks import higher_is_better
from gpnn.nn.batch import GraphBatch
from gpnn.nn.model import GPNN
from gpnn.nn.norm import WeightedBatchNorm
from gpnn.train.adamw import parameter_groups
from gpnn.train.replica import Curves, IntArray, Replica, Schedule
from gpnn.train.setup import Setup, set_up
from gpnn.train.trainer import MANY_STEPS

__all__ = ["OneModel", "train_one_by_one"]


def train_one_by_one(
    samples: Samples,
    model: Mapping[str, Any] | None,
    replicas: Sequence[Replica],
    schedule: Schedule,
    dtype: torch.dtype = torch.float64,
) -> Curves:
    """Train the replicas one after another; arguments and result as in ``train_replicas``."""
    setup = set_up(samples, model, replicas)
    shape = (len(replicas), schedule.epochs)
    loss, valid, test = (np.full(shape, np.nan) for _ in range(3))
    parameters = 0
    for r, replica in enumerate(replicas):
        net = setup.network(replica, dtype)
        parameters = sum(p.numel() for p in net.parameters())
        run = OneModel(setup, replica, net, dtype)
        steps = schedule.steps_of(replica, samples.task.node_level)
        net.anneal(run.step, steps * schedule.epochs)
        rate = torch.optim.SGD([torch.zeros(1)], lr=replica.lr)
        tired = None
        if schedule.plateau is not None and len(replica.valid):
            up = higher_is_better(samples.metric)
            tired = torch.optim.lr_scheduler.ReduceLROnPlateau(
                rate, "max" if up else "min", 0.5, schedule.plateau, threshold=0.0
            )
        for epoch in range(schedule.epochs):
            run.set_rate(rate.param_groups[0]["lr"] * schedule.rate(epoch))
            batches = schedule.batches(replica, epoch, steps)
            loss[r, epoch] = run.train(batches)
            if steps < MANY_STEPS:
                run.settle(schedule.sample(replica))
            valid[r, epoch] = run.measure(replica.valid)
            if tired is not None:
                tired.step(float(valid[r, epoch]))
            test[r, epoch] = run.measure(replica.test)
    return Curves(samples.metric, loss, valid, test, parameters, 0.0, "CPU")


class OneModel:
    """One model with its optimiser."""

    def __init__(self, setup: Setup, replica: Replica, net: GPNN, dtype: torch.dtype) -> None:
        self.setup, self.net, self.dtype = setup, net, dtype
        self.step = torch.zeros(1, dtype=torch.int64)
        self.shift, self.scale = (part.to(dtype) for part in setup.scaling(replica))
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
            self.step += 1
            losses.append(loss.detach())
        return float(torch.stack(losses).mean())

    @torch.no_grad()
    def settle(self, ids: IntArray) -> None:
        """Statistics of the weights as they are now, over these graphs, without dropout."""
        norms = [one for one in self.net.modules() if isinstance(one, WeightedBatchNorm)]
        self.net.eval()
        for one in norms:
            one.train()
            one.momentum = 1.0
        self.net(self._batch(ids)[0])
        for one in norms:
            one.momentum = 0.1

    @torch.no_grad()
    def measure(self, ids: IntArray) -> float:
        if not len(ids):
            return float("nan")
        self.net.eval()
        task = self.setup.task
        batch, rows = self._batch(ids)
        assert batch.y is not None
        scores = task.scores(self.net(batch)[rows] * self.scale + self.shift)
        names = self.setup.samples.target_names
        found = task.measure(scores, batch.y[rows], self.scale.tolist(), names)
        return found.get(self.setup.samples.metric, float("nan"))

    def _batch(self, ids: IntArray) -> tuple[GraphBatch, Tensor | slice]:
        if self.setup.task.node_level:
            whole = self.setup.prepared.batch().to("cpu", self.dtype)
            return whole, torch.from_numpy(ids)
        return self.setup.prepared.batch(ids).to("cpu", self.dtype), slice(None)

    def _labels(self, batch: GraphBatch) -> Tensor:
        assert batch.y is not None
        y = batch.y
        return (y - self.shift) / self.scale if y.is_floating_point() else y
