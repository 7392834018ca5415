"""The graphs that every replica sees in every step, planned before training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .replica import IntArray, Replica, Schedule

__all__ = ["Plan", "make_plan"]

MEASURED = 512
"""Maximum number of graphs of one replica that are measured at a time."""


@dataclass(frozen=True)
class Plan:
    """Numbers of graphs, -1 for none.

    Attributes:
        train: training graphs, [epochs · steps, R, B]; one row for all steps in a node task.
        steps: steps per epoch.
        sample: the graphs for batch statistics before measuring, [R, S].
        measure: the graphs measured after an epoch, [parts, R, M].
        valid, test: which measured items belong to the validation and test part, bool [R, items]:
            graphs in the order of ``measure``, or vertices.
        labels: in a node task, the training vertices, bool [R, vertices]; else ``None``.
    """

    train: Tensor
    steps: int
    sample: Tensor
    measure: Tensor
    valid: Tensor
    test: Tensor
    labels: Tensor | None


def make_plan(replicas: Sequence[Replica], schedule: Schedule, vertices: int | None) -> Plan:
    """The plan of a set of replicas; ``vertices`` is the number of vertices in a node task."""
    if vertices is not None:
        once = torch.zeros(1, len(replicas), 1, dtype=torch.int32)
        masks = (
            torch.from_numpy(np.stack([_mask(getattr(one, part), vertices) for one in replicas]))
            for part in ("valid", "test", "train")
        )
        return Plan(once, 1, once[0], once, *masks)
    steps = schedule.steps_of(replicas[0])
    train = _stream(replicas, schedule, steps)
    longest = max(len(one.valid) + len(one.test) for one in replicas)
    parts = max(1, -(-longest // MEASURED))
    width = -(-longest // parts)
    measure = np.full((len(replicas), parts * width), -1, np.int32)
    kind = np.zeros((len(replicas), parts * width), np.int8)
    for r, one in enumerate(replicas):
        valid, both = len(one.valid), len(one.valid) + len(one.test)
        measure[r, :both] = np.concatenate([one.valid, one.test])
        kind[r, :valid], kind[r, valid:both] = 1, 2
    return Plan(
        torch.from_numpy(train),
        steps,
        torch.from_numpy(_padded([schedule.sample(one) for one in replicas])),
        torch.from_numpy(measure.reshape(len(replicas), parts, width)).transpose(0, 1).contiguous(),
        torch.from_numpy(kind == 1),
        torch.from_numpy(kind == 2),
        None,
    )


def _stream(replicas: Sequence[Replica], schedule: Schedule, steps: int) -> NDArray[np.int32]:
    """The graphs of every step, [epochs · steps, R, B]; the same for replicas of one origin."""
    alike: dict[tuple[int, bytes], list[int]] = {}
    for r, one in enumerate(replicas):
        alike.setdefault(one.origin, []).append(r)
    sizes = {origin: schedule.sizes(replicas[same[0]], steps) for origin, same in alike.items()}
    widest = max(int(size.max()) for size in sizes.values())
    train = np.full((schedule.epochs, steps, len(replicas), widest), -1, np.int32)
    for origin, same in alike.items():
        filled = np.arange(widest) < sizes[origin][:, None]
        seen = np.full((schedule.epochs, steps, widest), -1, np.int32)
        for epoch in range(schedule.epochs):
            seen[epoch][filled] = schedule.order(replicas[same[0]], epoch, steps)
        train[:, :, same] = seen[:, :, None]
    return train.reshape(-1, len(replicas), widest)


def _padded(ids: Sequence[IntArray]) -> NDArray[np.int32]:
    out = np.full((len(ids), max(map(len, ids))), -1, np.int32)
    for r, own in enumerate(ids):
        out[r, : len(own)] = own
    return out


def _mask(ids: IntArray, size: int) -> np.ndarray:
    mask = np.zeros(size, np.bool_)
    mask[ids] = True
    return mask
