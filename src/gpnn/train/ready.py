"""All that a training needs and that the CPU can work out, before the device is touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..nn.model import GPNN
from .plan import Plan, make_plan
from .replica import Replica, Schedule
from .resident.capacity import Capacity, capacity
from .setup import CPU, Setup

__all__ = ["Ready", "make_ready"]


@dataclass(frozen=True, eq=False)
class Ready:
    """A set of replicas on the CPU, ready to be sent.

    It can be made in another thread while a device trains: it calls nothing of the device and no
    random state that threads share. It is only read: several engines may be made from one.

    Attributes:
        plan: which graphs every replica sees in every step.
        room, check_room: of the batches that are trained and measured.
        nets: the network every replica starts from; replicas of one origin have the same.
        shift, scale: of the targets, [R, 1, targets].
    """

    setup: Setup
    replicas: tuple[Replica, ...]
    schedule: Schedule
    dtype: torch.dtype
    plan: Plan
    room: Capacity
    check_room: Capacity
    nets: tuple[GPNN, ...]
    shift: Tensor
    scale: Tensor


def make_ready(
    setup: Setup,
    replicas: Sequence[Replica],
    schedule: Schedule,
    dtype: torch.dtype = torch.float32,
) -> Ready:
    """Plan the batches, lay the graphs out, count the room and draw the weights."""
    node = setup.task.node_level
    plan = make_plan(replicas, schedule, len(setup.samples) if node else None)
    resident = setup.resident(CPU)
    room = capacity(resident, plan.train)
    check_room = room if node else capacity(resident, plan.measure)
    shifts, scales = zip(*(setup.scaling(one) for one in replicas), strict=True)
    nets: dict[tuple[int, bytes], GPNN] = {}
    for one in replicas:
        if one.origin not in nets:
            nets[one.origin] = setup.network(one, dtype)
    return Ready(
        setup,
        tuple(replicas),
        schedule,
        dtype,
        plan,
        room,
        check_room,
        tuple(nets[one.origin] for one in replicas),
        torch.stack(shifts).to(dtype).unsqueeze(1),
        torch.stack(scales).to(dtype).unsqueeze(1),
    )
