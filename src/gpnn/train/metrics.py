"""Metrics of all replicas at once, on the device."""

from __future__ import annotations

import torch
from torch import Tensor

from ..data.tasks import Task

__all__ = ["measure"]


def measure(task: Task, scores: Tensor, y: Tensor, chosen: Tensor) -> Tensor:
    """The task's metric over the rows that are chosen, NaN where there are none or where a score
    is no number (a model that diverged).

    Shapes: scores [R, rows, outputs], labels [R, rows(, targets)], chosen bool [R, rows] → [R].
    """
    found = _measure(task, scores, y, chosen)
    diverged = (torch.isnan(scores).any(-1) & chosen).any(-1)
    return torch.where(diverged, torch.nan, found)


def _measure(task: Task, scores: Tensor, y: Tensor, chosen: Tensor) -> Tensor:
    if task.has_classes:
        known = chosen & (y >= 0)
        right = (scores.argmax(-1) == y) & known
        return right.sum(-1).double() / known.sum(-1)
    known = chosen.unsqueeze(-1) & ~torch.isnan(y)
    if task is Task.REGRESSION:
        error = torch.where(known, (scores - y).abs(), 0).double()
        return error.sum((-2, -1)) / known.sum((-2, -1))
    return _roc_auc(scores.mT, known.mT, (y == 1).mT)


def _roc_auc(scores: Tensor, known: Tensor, positive: Tensor) -> Tensor:
    """The mean over tasks with both classes of the area under the ROC curve, by ranks; see
    :func:`gpnn.data.tasks.roc_auc`. Shapes: [R, tasks, rows] → [R]."""
    scores = torch.where(known, scores, torch.inf).contiguous()
    ordered = scores.sort(-1).values
    below = torch.searchsorted(ordered, scores)
    up_to = torch.searchsorted(ordered, scores, right=True)
    rank = (below + up_to + 1).double() / 2
    positive = positive & known
    positives = positive.sum(-1).double()
    negatives = known.sum(-1) - positives
    area = ((rank * positive).sum(-1) - positives * (positives + 1) / 2) / (positives * negatives)
    both = (positives > 0) & (negatives > 0)
    return torch.where(both, area, 0).sum(-1) / both.sum(-1)
