"""What is learned: a task knows its loss, its metric and the meaning of the network's outputs."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ..errors import InputError

__all__ = ["Task", "get_task", "roc_auc"]

Floats = NDArray[np.float64]


class Task(StrEnum):
    """A kind of target.

    ======================= ======================== ======================= =================
    task                    labels                   loss                    metric
    ======================= ======================== ======================= =================
    ``classification``      long [graphs]            cross-entropy           accuracy
    ``multitask``           float [graphs, tasks]    binary cross-entropy    ROC-AUC
    ``regression``          float [graphs, targets]  mean absolute error     the same (MAE)
    ``node-classification`` long [vertices]          cross-entropy           accuracy
    ======================= ======================== ======================= =================

    A missing label is -1 among whole numbers and NaN among floats; it enters neither loss nor
    metric. ROC-AUC is the mean over the tasks that hold both classes, as the OGB evaluator has it.
    """

    CLASSIFICATION = "classification"
    MULTITASK = "multitask"
    REGRESSION = "regression"
    NODE_CLASSIFICATION = "node-classification"

    @property
    def node_level(self) -> bool:
        return self is Task.NODE_CLASSIFICATION

    @property
    def has_classes(self) -> bool:
        """Whether exactly one of several classes is right."""
        return self in (Task.CLASSIFICATION, Task.NODE_CLASSIFICATION)

    @property
    def metric(self) -> str:
        if self is Task.REGRESSION:
            return "mae"
        return "roc_auc" if self is Task.MULTITASK else "accuracy"

    @property
    def higher_is_better(self) -> bool:
        return self is not Task.REGRESSION

    def outputs(self, classes: int, targets: int) -> int:
        """Numbers the network puts out per graph or vertex."""
        return classes if self.has_classes else targets

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The mean loss over the labels that are there; zero where there are none.

        Shapes: outputs [..., rows, outputs], labels [..., rows(, targets)] → [...].
        """
        over: tuple[int, ...] = (-2, -1)
        if self.has_classes:
            known, over = y >= 0, (-1,)
            chosen = y.clamp(min=0).unsqueeze(-1)
            each = -torch.log_softmax(outputs, -1).gather(-1, chosen).squeeze(-1)
        else:
            known = ~torch.isnan(y)
            target = torch.where(known, y, 0).to(outputs.dtype)
            if self is Task.MULTITASK:
                each = functional.binary_cross_entropy_with_logits(
                    outputs, target, reduction="none"
                )
            else:
                each = (outputs - target).abs()
        return (each * known).sum(over) / known.sum(over).clamp(min=1)

    def scores(self, outputs: Tensor) -> Tensor:
        """Probabilities, or the values themselves for a regression."""
        if self.has_classes:
            return outputs.softmax(dim=-1)
        return outputs.sigmoid() if self is Task.MULTITASK else outputs

    def measure(self, scores: Tensor, y: Tensor) -> dict[str, float]:
        """Every metric that is defined for these scores and labels."""
        found, truth = scores.double().cpu().numpy(), y.cpu().numpy()
        if self.has_classes:
            return _classes(found[truth >= 0], truth[truth >= 0])
        if self is Task.MULTITASK:
            return _binary(found, truth)
        known = ~np.isnan(truth)
        if not known.any():
            return {}
        error = found[known] - truth[known]
        return {"mae": float(np.abs(error).mean()), "rmse": float(np.sqrt((error**2).mean()))}


def get_task(name: str) -> Task:
    """The task of a name."""
    try:
        return Task(name)
    except ValueError:
        raise InputError(f"There is no task {name!r}. Choose one of {', '.join(Task)}.") from None


def _classes(probability: Floats, truth: NDArray[np.int64]) -> dict[str, float]:
    if not len(truth):
        return {}
    out = {"accuracy": float((probability.argmax(axis=1) == truth).mean())}
    if probability.shape[1] == 2:
        area = roc_auc(probability[:, 1], truth == 1)
        if area is not None:
            out["roc_auc"] = area
    return out


def _binary(probability: Floats, truth: Floats) -> dict[str, float]:
    areas = []
    for column in range(truth.shape[1]):
        known = ~np.isnan(truth[:, column])
        area = roc_auc(probability[known, column], truth[known, column] == 1)
        if area is not None:
            areas.append(area)
    return {"roc_auc": float(np.mean(areas))} if areas else {}


def roc_auc(score: Floats, positive: NDArray[np.bool_]) -> float | None:
    r"""The chance that a positive scores above a negative, ties counting one half.

    .. math::
        AUC = \frac{\sum_{i \in P} r_i - |P| (|P| + 1) / 2}{|P| \, |N|}

    with :math:`r` the ranks from 1, ties sharing their mean. ``None`` where one kind is absent.
    """
    positives = int(positive.sum())
    negatives = len(positive) - positives
    if positives == 0 or negatives == 0:
        return None
    _, place, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = np.cumsum(count) - (count - 1) / 2
    total = float(rank[place.reshape(-1)][positive].sum())
    return (total - positives * (positives + 1) / 2) / (positives * negatives)
