"""What is learned: a task knows its loss, its metrics and the meaning of the network's outputs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ..errors import InputError
from ..text import did_you_mean

__all__ = ["Task", "get_task", "higher_is_better", "roc_auc"]

Floats = NDArray[np.float64]

SCALED = "scaled_mae"


class Task(StrEnum):
    """A kind of target.

    ======================= ======================== ==================== ========= ==============
    task                    labels                   loss                 metric    epoch chosen by
    ======================= ======================== ==================== ========= ==============
    ``classification``      long [graphs]            cross-entropy        accuracy  ROC-AUC of two
                                                                                    classes, loss
                                                                                    of more
    ``multitask``           float [graphs, tasks]    binary cross-entropy ROC-AUC   ROC-AUC
    ``regression``          float [graphs, targets]  mean absolute error  MAE       loss
    ``node-classification`` long [vertices]          cross-entropy        accuracy  as above
    ======================= ======================== ==================== ========= ==============

    A missing label is -1 among whole numbers and NaN among floats; it enters neither loss nor
    metric. ROC-AUC is the mean over the tasks that hold both classes, as the OGB evaluator has it.
    Targets of a regression are scaled by their mean and deviation over the training part, one by
    one. Several of them are told together as the mean of their scaled errors, ``scaled_mae``, and
    one by one in units of their own. Accuracy chooses no epoch: where one class is rare it says
    nothing. Where ROC-AUC is equal or undefined, the loss chooses.
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

    def metric(self, outputs: int) -> str:
        """The metric that is told first, of a network with so many outputs."""
        if self is Task.REGRESSION:
            return "mae" if outputs == 1 else SCALED
        return "roc_auc" if self is Task.MULTITASK else "accuracy"

    def metrics(self, outputs: int) -> tuple[str, ...]:
        """The metrics that are measured after every epoch, beside the loss."""
        binary = self.has_classes and outputs == 2
        return (self.metric(outputs), *(("roc_auc",) if binary else ()))

    def chosen_by(self, outputs: int) -> str:
        """What chooses the best epoch: a metric, or ``loss``."""
        return "roc_auc" if "roc_auc" in self.metrics(outputs) else "loss"

    def outputs(self, classes: int, targets: int) -> int:
        """Numbers the network puts out per graph or vertex."""
        return classes if self.has_classes else targets

    def losses(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of every label, and which labels are there; shapes like the labels.

        Shapes: outputs [..., rows, outputs], labels [..., rows(, targets)].
        """
        if self.has_classes:
            chosen = y.clamp(min=0).unsqueeze(-1)
            return -torch.log_softmax(outputs, -1).gather(-1, chosen).squeeze(-1), y >= 0
        known = ~torch.isnan(y)
        target = torch.where(known, y, 0).to(outputs.dtype)
        if self is Task.MULTITASK:
            each = functional.binary_cross_entropy_with_logits(outputs, target, reduction="none")
        else:
            each = (outputs - target).abs()
        return each, known

    def loss(self, outputs: Tensor, y: Tensor, chosen: Tensor | None = None) -> Tensor:
        """The mean loss over the labels that are there, in the rows that are chosen, bool
        [..., rows]; zero where there are none. Shapes: as in :meth:`losses` → [...]."""
        each, known = self.losses(outputs, y)
        over: tuple[int, ...] = (-1,) if self.has_classes else (-2, -1)
        if chosen is not None:
            known = known & (chosen if self.has_classes else chosen.unsqueeze(-1))
        return (each * known).sum(over) / known.sum(over).clamp(min=1)

    def scores(self, outputs: Tensor) -> Tensor:
        """Probabilities, or the values themselves for a regression."""
        if self.has_classes:
            return outputs.softmax(dim=-1)
        return outputs.sigmoid() if self is Task.MULTITASK else outputs

    def measure(
        self,
        scores: Tensor,
        y: Tensor,
        scale: Sequence[float] = (),
        names: Sequence[str] = (),
    ) -> dict[str, float]:
        """Every metric that is defined for these scores and labels.

        Args:
            scale, names: of the targets of a regression.
        """
        found, truth = scores.double().cpu().numpy(), y.cpu().numpy()
        if self.has_classes:
            return _classes(found[truth >= 0], truth[truth >= 0])
        if self is Task.MULTITASK:
            return _binary(found, truth)
        return _errors(found, truth, scale, names)


def get_task(name: str) -> Task:
    """The task of a name."""
    try:
        return Task(name)
    except ValueError:
        meant = did_you_mean(str(name), Task)
        raise InputError(
            f"There is no task {name!r}.{meant} Choose one of {', '.join(Task)}."
        ) from None


def higher_is_better(metric: str) -> bool:
    """Whether more is better: of all metrics but errors and losses."""
    return metric not in ("loss", "mae", "rmse", SCALED)


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


def _errors(
    found: Floats, truth: Floats, scale: Sequence[float], names: Sequence[str]
) -> dict[str, float]:
    known = ~np.isnan(truth)
    if not known.any():
        return {}
    error = np.where(known, found - truth, np.nan)
    counts = known.sum(0)
    with np.errstate(invalid="ignore"):
        mae = np.nansum(np.abs(error), 0) / counts
        rmse = np.sqrt(np.nansum(error**2, 0) / counts)
    if truth.shape[1] == 1:
        return {"mae": float(mae[0]), "rmse": float(rmse[0])}
    out = {}
    if len(scale):
        out[SCALED] = float(np.nanmean(np.abs(error) / np.array(scale)))
    for name, one, two in zip(names, mae.tolist(), rmse.tolist(), strict=False):
        if one == one:
            out |= {f"mae[{name}]": one, f"rmse[{name}]": two}
    return out


def roc_auc(score: Floats, positive: NDArray[np.bool_]) -> float | None:
    """The area under the ROC curve; ``None`` where one kind is absent."""
    from sklearn.metrics import roc_auc_score

    if not 0 < int(positive.sum()) < len(positive):
        return None
    return float(roc_auc_score(positive, score))
