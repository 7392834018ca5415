"""Metrics of all replicas at once, on the device."""

from __future__ import annotations

import torch
from torch import Tensor

from ..data.tasks import Task

__all__ = ["measure"]


def measure(
    task: Task,
    outputs: Tensor,
    y: Tensor,
    chosen: Tensor,
    shift: Tensor,
    scale: Tensor,
    binary: Tensor | None = None,
    weights: Tensor | None = None,
) -> Tensor:
    """The loss and every metric over the chosen rows; NaN where no row is chosen or where an output
    is NaN (a model that diverged).

    Args:
        outputs: of the network; ``y``: labels as stored in the data, not scaled.
        shift, scale: convert outputs of a regression to targets, [R, 1, targets].
        binary, weights: as in :meth:`~gpnn.data.tasks.Task.loss`.

    Shapes: outputs [R, rows, outputs], labels [R, rows(, targets)], chosen bool [R, rows] →
    [1 + metrics, R], in the order of :meth:`~gpnn.data.tasks.Task.metrics`.
    """
    scaled = (y - shift) / scale if y.is_floating_point() else y
    values = [task.loss(outputs, scaled, chosen, binary, weights).double()]
    values += [
        _metric(name, task, outputs, scaled, chosen, scale, binary)
        for name in task.metrics(outputs.shape[-1])
    ]
    diverged = (torch.isnan(outputs).any(-1) & chosen).any(-1)
    missing = ~chosen.any(-1)
    return torch.where(diverged | missing, torch.nan, torch.stack(values))


def _metric(
    name: str,
    task: Task,
    outputs: Tensor,
    y: Tensor,
    chosen: Tensor,
    scale: Tensor,
    binary: Tensor | None,
) -> Tensor:
    if name == "accuracy":
        known = chosen & (y >= 0)
        right = (outputs.argmax(-1) == y) & known
        return right.sum(-1).double() / known.sum(-1)
    if name == "roc_auc":
        if task.has_classes:
            score = (outputs[..., 1] - outputs[..., 0]).unsqueeze(-2)
            return _roc_auc(score, (chosen & (y >= 0)).unsqueeze(-2), (y == 1).unsqueeze(-2))
        known = chosen.unsqueeze(-1) & ~torch.isnan(y)
        return _roc_auc(outputs.mT, known.mT, (y == 1).mT)
    known = ~torch.isnan(y) & chosen.unsqueeze(-1)
    error = (task.scores(outputs, binary) - y).abs()
    if name == "mae":
        error = error * scale
    return torch.where(known, error, 0).double().sum((-2, -1)) / known.sum((-2, -1))


def _roc_auc(scores: Tensor, known: Tensor, positive: Tensor) -> Tensor:
    r"""Area under the ROC curve, averaged over the tasks with both classes. It is computed from
    ranks r that start at 1, with mean ranks for ties:

    .. math::
        AUC = \frac{\sum_{i \in P} r_i - |P| (|P| + 1) / 2}{|P| \, |N|}

    NaN where no task has both classes. Shapes: [R, tasks, rows] → [R].
    """
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
