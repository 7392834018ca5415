"""The settings that identify a training, in a form that users can compare."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import Any

from .stage import Staged

__all__ = ["describe"]


def describe(staged: Staged, keep_best: bool = False) -> dict[str, Any]:
    """Data, model, schedule and replicas, ready for JSON."""
    setup = staged.setup
    parts, settings = hashlib.sha256(), []
    schedule = asdict(staged.schedule)
    if staged.schedule.fanout is None:  # as in checkpoints from before this field existed
        del schedule["fanout"]
    for one in staged.replicas:
        for ids in (one.train, one.valid, one.test):
            parts.update(ids.tobytes() + b"|")
        own = {"seed": one.seed, "lr": one.lr, "weight_decay": one.weight_decay}
        settings.append({**own, "dropout": one.dropout})
    return {
        "data": setup.samples.digest(),
        "split": parts.hexdigest(),
        "model": setup.config.to_dict(),
        "schedule": schedule,
        "replicas": settings[0]
        if len(settings) == 1
        else {str(k): v for k, v in enumerate(settings)},
        "dtype": str(staged.dtype).removeprefix("torch."),
        "keep_best": keep_best,
    }
