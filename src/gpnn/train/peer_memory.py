"""Number of replicas of a peer that are trained side by side on a device."""

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
"""Share of the memory of a GPU that all trainings on it may fill."""
CACHED = 2**27
"""Bytes that replicas may fill on a CPU. Side by side, small networks share the overhead of every
operation; larger ones compete for the cache. A step of PPGN on MUTAG takes 0.11 s for one network,
0.14 s a network for ten and 0.4 s a network for thirty."""
ANY = 1_000_000


def most_replicas(
    setup: Setup,
    replicas: Sequence[Replica],
    schedule: Schedule,
    device: torch.device,
    sharing: int = 1,
) -> int:
    """Maximum number of replicas trained at once, at least 1. It follows from the cells of a large
    batch and of the sample for batch statistics, within a share of the total memory of the GPU
    (not of the free memory, so that the result is the same when a run is resumed) or a fixed size
    on a CPU. ``sharing`` trainings divide the share of a GPU among themselves. Without a peer there
    is no limit."""
    cells = setup.prepared.cells if setup.config.peer is not None else None
    if cells is None:
        return ANY
    counts = sum(np.diff(ptr) for ptr in cells.ptr.values())
    mean, spread = float(np.mean(counts)), float(np.std(counts))
    size = min(schedule.batch_size, len(replicas[0].train))
    batch = size * mean + 5 * spread * size**0.5
    row = 4 * setup.config.hidden
    need = batch * row * LIVE_TRAINED * setup.config.structure.layers
    if schedule.steps_of(replicas[0], setup.task.node_level) < MANY_STEPS:
        need += min(SAMPLED, len(replicas[0].train)) * mean * row * LIVE_MEASURED
    if device.type == "cuda":
        total = torch.cuda.get_device_properties(device).total_memory
        return max(1, int(SHARE * total / sharing / need))
    return max(1, int(CACHED / need))
