"""Preparation of a training on the CPU, before the device is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import InputError
from ..nn.model import GPNN
from ..nn.sampled import check_fanout
from .plan import Plan, make_plan
from .replica import Replica, Schedule
from .resident.capacity import Capacity, capacity
from .setup import CPU, Setup
from .sources import BatchSource, HostSource, ResidentSource, SampledSource

__all__ = ["Staged", "stage"]


@dataclass(frozen=True, eq=False)
class Staged:
    """A set of replicas on the CPU, ready to be sent to a device.

    It can be created in another thread while a device trains: it uses neither the device nor a
    random state that threads share. It is read-only: several trainers may be created from it.

    Attributes:
        nets: the initial network of every replica; replicas of one origin share it.
        shift, scale: of the targets, [R, 1, targets].
        weights: class weights in the loss, [R, classes] or [R, 2, outputs], or ``None``.
        plan, rooms: if batches are assembled on the device, the graphs of every replica and step,
            and the capacity of the batches that are trained, sampled and measured.
    """

    setup: Setup
    replicas: tuple[Replica, ...]
    schedule: Schedule
    dtype: torch.dtype
    nets: tuple[GPNN, ...]
    shift: Tensor
    scale: Tensor
    plan: Plan | None = None
    rooms: tuple[Capacity, ...] | None = None
    weights: Tensor | None = None

    @property
    def steps(self) -> int:
        """Steps per epoch, the same for all replicas."""
        return self.schedule.steps_of(self.replicas[0], self.setup.task.node_level)

    def source(self, device: torch.device) -> BatchSource:
        """The source of batches for the training."""
        if self.plan is not None and self.rooms is not None:
            return ResidentSource(self.setup, self.plan, self.rooms, device, self.dtype)
        if self.schedule.fanout is not None:
            return SampledSource(self.setup, self.replicas[0], self.schedule, device, self.dtype)
        return HostSource(self.setup, self.replicas, self.schedule, device, self.dtype)


def stage(
    setup: Setup,
    replicas: Sequence[Replica],
    schedule: Schedule,
    dtype: torch.dtype = torch.float32,
    resident: bool = False,
) -> Staged:
    """Draw the weights and, for batches that are assembled on the device (``resident``), plan the
    batches and determine the capacity they need."""
    node = setup.task.node_level
    steps = {schedule.steps_of(one, node) for one in replicas}
    if len(steps) > 1:
        raise InputError(f"Replicas take {sorted(steps)} steps an epoch. Train them apart.")
    if schedule.fanout is not None:
        check_fanout(schedule.fanout, setup.config)
        if len(replicas) > 1:
            raise InputError("Models that are trained with fanout are trained one at a time.")
    if len(replicas) > 1 and not setup.stackable:
        raise InputError("Models around a module of your own are trained one at a time.")
    plan = rooms = None
    if resident:
        plan = make_plan(replicas, schedule, len(setup.samples) if node else None)
        laid = setup.resident(CPU)
        room = capacity(laid, plan.train)
        rooms = (room,) * 3
        if not node:
            rooms = room, capacity(laid, plan.sample[None]), capacity(laid, plan.measure)
    shifts, scales = zip(*(setup.scaling(one) for one in replicas), strict=True)
    weights = [own for one in replicas if (own := setup.class_weights(one)) is not None]
    nets: dict[tuple[int, bytes], GPNN] = {}
    for one in replicas:
        if one.origin not in nets:
            nets[one.origin] = setup.network(one, dtype)
    return Staged(
        setup,
        tuple(replicas),
        schedule,
        dtype,
        tuple(nets[one.origin] for one in replicas),
        torch.stack(shifts).to(dtype).unsqueeze(1),
        torch.stack(scales).to(dtype).unsqueeze(1),
        plan,
        rooms,
        torch.stack(weights).to(dtype) if weights else None,
    )
