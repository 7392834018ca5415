"""Number of replicas of a peer that fit on a device at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from .replica import SAMPLED, Replica, Schedule
from .setup import Setup
from .trainer import MANY_STEPS

__all__ = ["most_replicas"]

LIVE_TRAINED, LIVE_MEASURED = 8, 4
"""Rows of the network's width that a cell keeps in memory, per layer of a training step, and in
evaluation."""
SHARE = 0.7
ANY = 1_000_000


def most_replicas(setup: Setup, replicas: Sequence[Replica], schedule: Schedule) -> int:
    """Maximum number of replicas trained at once, at least 1. It follows from the cells of a large
    batch and of the sample for batch statistics, within a share of the total memory of the device
    (not of the free memory, so that the result is the same when a run is resumed). Without a peer,
    or a GPU, there is no limit."""
    cells = setup.prepared.cells if setup.config.peer is not None else None
    if cells is None or not torch.cuda.is_available():
        return ANY
    counts = sum(np.diff(ptr) for ptr in cells.ptr.values())
    mean, spread = float(np.mean(counts)), float(np.std(counts))
    size = min(schedule.batch_size, len(replicas[0].train))
    batch = size * mean + 5 * spread * size**0.5
    row = 4 * setup.config.hidden
    need = batch * row * LIVE_TRAINED * setup.config.structure.layers
    if schedule.steps_of(replicas[0], setup.task.node_level) < MANY_STEPS:
        need += min(SAMPLED, len(replicas[0].train)) * mean * row * LIVE_MEASURED
    whole = torch.cuda.get_device_properties(0).total_memory
    return max(1, int(SHARE * whole / need))
