"""Training many models side by side, top to bottom."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only

from ..data.samples import Samples
from ..errors import InputError
from ..nn.batch import GraphBatch
from ..nn.branch import Branch
from .adamw import StackedAdamW
from .capture import Capture
from .metrics import measure
from .model_setup import deterministic, pick_device
from .ready import Ready, make_ready
from .replica import Curves, Paused, Replica, Schedule
from .resident.assembler import Assembler
from .saved import Saved
from .setup import set_up
from .stack import stack

__all__ = ["Engine", "train_ready", "train_replicas"]

SAVE_SECONDS = 15.0


class Engine:
    """A set of replicas with their data, on a device, ready to step.

    One call of :meth:`train_step` takes one step of every replica; :meth:`measure_step` measures
    all of them. Both only use the device, with fixed shapes and no look at the results, so that on
    a GPU each is captured once and replayed. The batch of the next step is put together while this
    one is learned from; whoever sets ``step`` must :meth:`prime` the engine.
    """

    def __init__(self, ready: Ready, device: torch.device) -> None:
        setup, schedule, dtype = ready.setup, ready.schedule, ready.dtype
        plan, replicas = ready.plan, ready.replicas
        self.setup, self.task, self.schedule = setup, setup.task, schedule
        self.device, self.dtype = device, dtype
        self.steps = plan.steps

        def send(value: Any, kind: torch.dtype | None = None) -> Tensor:
            return torch.as_tensor(value).to(device, kind)

        resident = setup.resident(device)
        y = resident.y.to(dtype) if resident.y.is_floating_point() else resident.y
        missing = torch.full_like(y[:1], torch.nan if y.is_floating_point() else -1)
        self.y = torch.cat([y, missing])
        self.plan, self.measured = send(plan.train), send(plan.measure)
        self.valid, self.test = send(plan.valid), send(plan.test)
        node = setup.task.node_level
        self.batches = self.checks = Assembler(resident, ready.room, dtype)
        if not node:
            self.checks = Assembler(resident, ready.check_room, dtype)
        self.shift, self.scale = send(ready.shift), send(ready.scale)

        self.step = torch.zeros(1, dtype=torch.int64, device=device)
        self.whole: GraphBatch | None = None
        if node:
            self.whole = self.batches.batch(self.plan[0])
            self.held = self.whole, torch.where(send(plan.labels), self.y[:-1], -1)
        else:
            self.held = tree_map_only(Tensor, Tensor.clone, self.batch_of(self.step))
        self.parameters = sum(p.numel() for p in ready.nets[0].parameters())
        seeds = torch.tensor([one.seed for one in replicas])
        rates = torch.tensor([one.dropout for one in replicas], dtype=torch.float64)
        self.net = stack(ready.nets, send(seeds), send(rates), self.step).to(device)
        lr = torch.tensor([one.lr for one in replicas], dtype=torch.float64)
        decay = torch.tensor([one.weight_decay for one in replicas], dtype=torch.float64)
        self.adam = StackedAdamW(self.net, send(lr), send(decay), self.step)
        factors = [schedule.rate(epoch) for epoch in range(schedule.epochs)]
        self.rates = send(torch.tensor(factors), dtype)
        shape = (len(replicas), schedule.epochs)
        self.loss = torch.zeros(shape, dtype=torch.float64, device=device)
        self.curves = torch.full((2, *shape), torch.nan, dtype=torch.float64, device=device)

    def train_step(self) -> None:
        """Forward, backward, Adam, and the next batch: for every replica."""
        if self.whole is not None:
            self.learn()
        else:
            beside = Branch("next batch", self.step)
            self.learn()
            with beside:  # last, because a captured step is launched in the order it was written
                coming = self.batch_of(self.step + 1)
            beside.bring(*_tensors(coming))
            self._hold(coming)
        self.step += 1

    def learn(self) -> None:
        """Forward, backward and Adam with the batch at hand."""
        epoch = self.step // self.steps
        losses = self.losses(*self.held)
        self.adam.update(self.gradients(losses), self.rates.index_select(0, epoch))
        self.loss.index_add_(1, epoch, losses.detach().double().unsqueeze(1) / self.steps)

    def batch_of(self, step: Tensor) -> tuple[GraphBatch, Tensor]:
        """The batch of a step, and its labels; after the last step comes the first."""
        ids = self.plan.index_select(0, step % len(self.plan)).squeeze(0)
        return self.batches.batch(ids), self.y[ids.long()]

    def prime(self) -> None:
        """Take the batch of this step to hand."""
        if self.whole is None:
            self._hold(self.batch_of(self.step))

    def _hold(self, batch: tuple[GraphBatch, Tensor]) -> None:
        """Copy a batch into its place; tensors of one type go together."""
        pairs = list(zip(_tensors(self.held), _tensors(batch), strict=True))
        for kind in dict.fromkeys(old.dtype for old, _ in pairs):
            old, new = zip(*(pair for pair in pairs if pair[0].dtype == kind), strict=True)
            torch._foreach_copy_(old, new)

    def losses(self, batch: GraphBatch, y: Tensor) -> Tensor:
        """The mean loss of every replica, [R]."""
        if y.is_floating_point():
            y = (y - self.shift) / self.scale
        return self.task.loss(self.net(batch), y)

    def gradients(self, losses: Tensor) -> tuple[Tensor | None, ...]:
        """Of every stacked parameter; ``None`` where a loss does not depend on it."""
        return torch.autograd.grad(losses.sum(), self.adam.parameters, allow_unused=True)

    @torch.no_grad()
    def measure_step(self) -> None:
        """Every metric of the epoch just finished, for every replica."""
        if self.whole is not None:
            outputs, y = self.net(self.whole), self.y[:-1].expand(len(self.shift), -1)
        else:
            parts = [self.net(self.checks.batch(ids)) for ids in self.measured]
            outputs = torch.cat(parts, 1)
            y = self.y[self.measured.long().transpose(0, 1).flatten(1)]
        scores = self.task.scores(outputs * self.scale + self.shift)
        found = [measure(self.task, scores, y, chosen) for chosen in (self.valid, self.test)]
        self.curves.index_copy_(2, self.step // self.steps - 1, torch.stack(found).unsqueeze(2))

    def state(self) -> dict[str, Tensor]:
        """All tensors that change from step to step."""
        return {
            "step": self.step,
            "loss": self.loss,
            "curves": self.curves,
            "value": self.adam.value,
            "first": self.adam.first,
            "second": self.adam.second,
            **{f"buffer.{name}": buffer for name, buffer in self.net.named_buffers()},
        }


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def train_replicas(
    samples: Samples,
    model: Mapping[str, Any] | None,
    replicas: Sequence[Replica],
    schedule: Schedule,
    *,
    device: str = "auto",
    dtype: torch.dtype = torch.float32,
    folder: Path | None = None,
    progress: Callable[[int, int], bool | None] | None = None,
) -> Curves:
    """Train a set of replicas side by side and measure all of them after every epoch.

    Every replica gives what it would give alone in as many steps: weights, batches, dropout, batch
    statistics and optimiser are its own and depend on its seed and data alone. The number of steps
    in an epoch is that of the replica with the most training graphs.

    Args:
        samples: with labels.
        model: fields of :class:`~gpnn.nn.config.GPNNConfig` but ``dropout``, the same for all.
        replicas: what differs: data, seed, step size, weight decay, dropout.
        schedule: epochs and steps, the same for all.
        device: ``auto``, ``cpu``, ``cuda`` …; on a GPU the step is captured.
        folder: where the state of the set is kept; a run that was ended goes on from there.
        progress: called with the epochs done and all; ``False`` ends the run with
            :class:`~gpnn.train.replica.Paused`, and it can go on later where there is a
            folder.
    """
    began = time.perf_counter()
    setup, where = set_up(samples, model, replicas), pick_device(device)
    ready = make_ready(setup, replicas, schedule, dtype)
    waited = time.perf_counter() - began
    return train_ready(ready, where, folder=folder, progress=progress, waited=waited)


def train_ready(
    ready: Ready,
    device: torch.device,
    *,
    folder: Path | None = None,
    progress: Callable[[int, int], bool | None] | None = None,
    waited: float = 0.0,
) -> Curves:
    """Train what is ready; the other arguments, and the result, as in :func:`train_replicas`.

    Args:
        waited: seconds the caller waited until it was ready. The record adds those that the device
            takes to set up: all that a training has to wait for.
    """
    try:
        return _train(ready, device, folder, progress, waited)
    except torch.OutOfMemoryError:
        raise InputError(
            f"{len(ready.replicas)} replicas in batches of {ready.schedule.batch_size} do not fit "
            "into the memory of the device. Use smaller batches, fewer replicas at once or a "
            "smaller model."
        ) from None


def _train(
    ready: Ready,
    where: torch.device,
    folder: Path | None,
    progress: Callable[[int, int], bool | None] | None,
    waited: float,
) -> Curves:
    schedule, began = ready.schedule, time.perf_counter()
    with deterministic(where):
        engine = Engine(ready, where)
        saved = None if folder is None else Saved(folder, ready)
        done, spent = (0, 0.0) if saved is None else saved.restore(engine.state())
        engine.prime()
        prepared = waited + time.perf_counter() - began
        train, check = Capture(engine, engine.train_step), Capture(engine, engine.measure_step)
        began = last = time.perf_counter()
        for epoch in range(done, schedule.epochs):
            engine.net.train()
            for _ in range(engine.steps):
                train()
            engine.net.eval()
            if engine.measured.numel():
                check()
            train.keep_up()
            now = time.perf_counter()
            going = progress is None or progress(epoch + 1, schedule.epochs) is not False
            over = epoch + 1 == schedule.epochs
            if saved is not None and (over or not going or now - last > SAVE_SECONDS):
                saved.keep(engine.state(), epoch + 1, spent + now - began)
                last = now
            if not going and not over:
                raise Paused
        loss, (valid, test) = engine.loss.cpu().numpy(), engine.curves.cpu().numpy()
        seconds = spent + time.perf_counter() - began
    about: dict[str, object] = {
        "prepare_seconds": prepared,
        "replicas": len(ready.replicas),
        "captured": train.captured,
    }
    name = torch.cuda.get_device_name(where) if where.type == "cuda" else "CPU"
    metric = ready.setup.task.metric
    return Curves(metric, loss, valid, test, engine.parameters, seconds, name, about)
