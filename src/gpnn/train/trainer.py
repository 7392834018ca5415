"""A set of replicas on a device: one call steps all of them, another call measures them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..data.tasks import higher_is_better
from ..nn.batch import GraphBatch
from ..nn.model import GPNN
from ..nn.norm import WeightedBatchNorm
from ..nn.ranks import all_sum, ranks, rows_of_all
from .adamw import StackedAdamW
from .best import BestEpoch
from .metrics import measure
from .plateau import Plateau
from .stack import stack, unstack
from .stage import Staged

__all__ = ["MANY_STEPS", "Trainer"]

MANY_STEPS = 32
"""Steps per epoch from which running averages no longer depend on the weights before the epoch."""
NORMS = (WeightedBatchNorm, nn.modules.batchnorm._BatchNorm)


class Trainer:
    """A set of replicas with their data, on a device, ready to step.

    One call of :meth:`train_step` takes one step of every replica; :meth:`measure_step` measures
    all of them. Where the source assembles batches on the device, both run on the device only, with
    fixed shapes and without reading results back, so that on a GPU each is captured once and
    replayed. Code that sets ``step`` must ``reset`` the source.
    """

    def __init__(self, staged: Staged, device: torch.device, keep_best: bool = False) -> None:
        setup, schedule, replicas = staged.setup, staged.schedule, staged.replicas
        self.staged, self.task, self.schedule, self.device = staged, setup.task, schedule, device
        self.steps, count = staged.steps, len(staged.replicas)
        self.source = staged.source(device)
        self.shift, self.scale = staged.shift.to(device), staged.scale.to(device)
        binary, weights = setup.binary, staged.weights
        self.binary = None if binary is None else binary.to(device)
        self.weights = None if weights is None else weights.to(device)
        self.parameters = sum(p.numel() for p in staged.nets[0].parameters())
        self.step = torch.zeros(1, dtype=torch.int64, device=device)
        seeds = torch.tensor([one.seed for one in replicas], device=device)
        rates = torch.tensor([one.dropout for one in replicas], dtype=torch.float64, device=device)
        self.net = stack(staged.nets, seeds, rates, self.step, self.source.stacked).to(device)
        self.net.anneal(self.step, self.steps * schedule.epochs)
        lr = torch.tensor([one.lr for one in replicas], dtype=torch.float64, device=device)
        decay = torch.tensor([one.weight_decay for one in replicas], dtype=torch.float64)
        self.adam = StackedAdamW(self.net, lr, decay.to(device), self.step, self.source.stacked)
        factors = [schedule.rate(epoch) for epoch in range(schedule.epochs)]
        self.rates = torch.tensor(factors, dtype=staged.dtype, device=device)
        self.metrics = ("loss", *self.task.metrics(setup.config.outputs))
        self.criterion = self.metrics.index(self.task.chosen_by(setup.config.outputs))
        shape = (count, schedule.epochs)
        self.loss = torch.zeros(shape, dtype=torch.float64, device=device)
        curves = (2, len(self.metrics), *shape)
        self.curves = torch.full(curves, torch.nan, dtype=torch.float64, device=device)
        self.checked = torch.tensor([len(one.valid) > 0 for one in replicas], device=device)
        self.plateau: Plateau | None = None
        if schedule.plateau is not None:
            self.plateau = Plateau(self.adam, self.checked, schedule.plateau)
        self.best: BestEpoch | None = None
        if keep_best:
            buffers = {
                name: value if self.source.stacked else value.unsqueeze(0)
                for name, value in self.net.named_buffers()
                if value.is_floating_point()
            }
            first = min(schedule.epochs, int(self.net.annealed * schedule.epochs) + 1)
            self.best = BestEpoch(
                self.adam.value, self.adam.owner, buffers, count, schedule.patience, first
            )

    def train_step(self) -> None:
        """Forward, backward, AdamW, and preparation of the next batch."""
        self.learn()
        self.source.look_ahead(self.step)
        self.step += 1

    def learn(self) -> None:
        """Forward, backward and AdamW with the batch of this step."""
        epoch = self.step // self.steps
        losses = self.losses(*self.source.take(self.step))
        self.adam.update(self.gradients(losses), self.rates.index_select(0, epoch))
        whole = all_sum(losses.detach()).double().unsqueeze(1)
        self.loss.index_add_(1, epoch, whole / self.steps)

    def gradients(self, losses: Tensor) -> tuple[Tensor | None, ...]:
        """Gradient of every parameter, summed over all processes; in a single process, ``None``
        where the losses do not depend on a parameter."""
        own = torch.autograd.grad(losses.sum(), self.adam.parameters, allow_unused=True)
        if ranks() == 1:
            return own
        pairs = zip(own, self.adam.parameters, strict=True)
        parts = [torch.zeros_like(p) if g is None else g for g, p in pairs]
        flat = all_sum(torch.cat([part.flatten() for part in parts]))
        pieces = flat.split([part.numel() for part in parts])
        return tuple(piece.view_as(p) for piece, p in zip(pieces, parts, strict=True))

    def seed_epoch(self, epoch: int) -> None:
        """Seed torch's generator, which a user-defined module may use, from seed and epoch. The
        modules of gpnn draw from seed and step instead."""
        if not self.staged.setup.stackable:
            torch.manual_seed(self.staged.replicas[0].seed * 1_000_003 + epoch + 1)

    def losses(self, batch: GraphBatch, y: Tensor) -> Tensor:
        """The mean loss of every replica, [R]; with several processes, the share of this one."""
        if y.is_floating_point():
            y = (y - self.shift) / self.scale
        outputs = self.outputs(batch)
        return self.task.loss(outputs, y, None, self.binary, self.weights, all_sum)

    def outputs(self, batch: GraphBatch) -> Tensor:
        """Outputs of the network, [R, rows, outputs]."""
        out: Tensor = self.net(batch)
        return out if self.source.stacked else out.unsqueeze(0)

    def settle(self) -> None:
        """If an epoch has few steps, recompute running statistics with the current weights, over a
        fixed sample of training graphs, without dropout.

        Running averages lag behind: they were taken with the weights of earlier steps. If the
        weights change much in few steps, this lag distorts the measurement: a feature that hardly
        varies is divided by a small deviation, and so is the shift of its mean. With many steps the
        averages cover more graphs than the sample, and are the better estimate.
        """
        if self.steps >= MANY_STEPS:
            return
        norms = [one for one in self.net.modules() if isinstance(one, NORMS)]
        before = [one.momentum for one in norms]
        for one in norms:
            one.momentum = 1.0
            one.train()
        self.net(self.source.sample())
        for one, momentum in zip(norms, before, strict=True):
            one.momentum = momentum
            one.eval()

    @torch.no_grad()
    def measure_step(self) -> None:
        """Compute every metric of the epoch just finished, for every replica, in eval mode."""
        self.settle()
        epoch = self.step // self.steps
        outputs, labels, valid, test = [], [], [], []
        for batch, y, checked, tested in self.source.measured():
            outputs.append(self.outputs(batch))
            labels.append(y)
            valid.append(checked)
            test.append(tested)
        if outputs:
            parts = [torch.cat(rows, 1) for rows in (outputs, labels, valid, test)]
            whole, y, *sets = map(rows_of_all, parts) if self.source.divided else parts
            rest = (self.shift, self.scale, self.binary, self.weights)
            values = torch.stack([measure(self.task, whole, y, one, *rest) for one in sets])
            self.curves.index_copy_(3, epoch - 1, values.unsqueeze(3))
        now = self.curves.index_select(3, epoch - 1)[0, :, :, 0]
        up = higher_is_better(self.metrics[self.criterion])
        chosen_by = now[self.criterion] if up else -now[self.criterion]
        if self.plateau is not None:
            self.plateau.update(chosen_by)
        if self.best is not None:
            self.best.update(epoch, chosen_by, now[0], self.checked)

    def state(self) -> dict[str, Tensor]:
        """All tensors that change from step to step."""
        more = {} if self.best is None else self.best.state()
        more |= {} if self.plateau is None else self.plateau.state()
        return {
            "step": self.step,
            "loss": self.loss,
            "curves": self.curves,
            "value": self.adam.value,
            "first": self.adam.first,
            "second": self.adam.second,
            **{f"buffer.{name}": buffer for name, buffer in self.net.named_buffers()},
            **more,
        }

    def networks(self) -> list[GPNN]:
        """The network of every replica, at its best epoch."""
        assert self.best is not None
        self.adam.value.copy_(self.best.value)
        for name, buffer in self.best.buffers.items():
            buffer.copy_(self.best.kept[name])
        return unstack(self.net, self.staged.nets, self.source.stacked)
