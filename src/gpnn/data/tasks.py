"""Tasks: a task defines the loss, the metrics and the meaning of the network's outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    ``mixed``               float [graphs, outputs]  the two above,       scaled    loss
                                                     output by output     MAE
    ``node-classification`` long [vertices]          cross-entropy        accuracy  as above
    ======================= ======================== ==================== ========= ==============

    A missing label is -1 for integer labels and NaN for floats; it enters neither loss nor metric.
    ROC-AUC is the mean over the tasks with both classes, as in the OGB evaluator. Every target of a
    regression is scaled by its mean and standard deviation over the training part. Several targets
    are reported together as the mean of their scaled errors, ``scaled_mae``, and each in its own
    units. Accuracy does not choose the epoch, because it is not informative where one class is
    rare. Where ROC-AUC is equal or undefined, the loss chooses.

    A mixed task has numeric outputs and binary outputs (a target with more than two classes has a
    binary output for each); ``binary``, bool [outputs], marks the latter. The error of a binary
    output is the distance of its probability from the label.
    """

    CLASSIFICATION = "classification"
    MULTITASK = "multitask"
    REGRESSION = "regression"
    MIXED = "mixed"
    NODE_CLASSIFICATION = "node-classification"

    @property
    def node_level(self) -> bool:
        return self is Task.NODE_CLASSIFICATION

    @property
    def scaled(self) -> bool:
        """Whether some targets are numbers and therefore scaled."""
        return self in (Task.REGRESSION, Task.MIXED)

    @property
    def has_classes(self) -> bool:
        """Whether every sample has exactly one of several classes."""
        return self in (Task.CLASSIFICATION, Task.NODE_CLASSIFICATION)

    def metric(self, outputs: int) -> str:
        """The main metric for a network with ``outputs`` outputs."""
        if self.scaled:
            return "mae" if outputs == 1 and self is Task.REGRESSION else SCALED
        return "roc_auc" if self is Task.MULTITASK else "accuracy"

    def metrics(self, outputs: int) -> tuple[str, ...]:
        """The metrics that are measured after every epoch, in addition to the loss."""
        binary = self.has_classes and outputs == 2
        return (self.metric(outputs), *(("roc_auc",) if binary else ()))

    def chosen_by(self, outputs: int) -> str:
        """The criterion that chooses the best epoch: a metric, or ``loss``."""
        return "roc_auc" if "roc_auc" in self.metrics(outputs) else "loss"

    def losses(
        self, outputs: Tensor, y: Tensor, binary: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The loss of every label, and a mask of known labels, both with the shape of the labels.

        Shapes: outputs [..., rows, outputs], labels [..., rows(, targets)].
        """
        if self.has_classes:
            chosen = y.clamp(min=0).unsqueeze(-1)
            return -torch.log_softmax(outputs, -1).gather(-1, chosen).squeeze(-1), y >= 0
        known = ~torch.isnan(y)
        target = torch.where(known, y, 0).to(outputs.dtype)
        if self is Task.REGRESSION:
            return (outputs - target).abs(), known
        likely = functional.binary_cross_entropy_with_logits
        if self is Task.MULTITASK:
            return likely(outputs, target, reduction="none"), known
        assert binary is not None
        wrong = likely(outputs, torch.where(binary, target, 0), reduction="none")
        return torch.where(binary, wrong, (outputs - target).abs()), known

    def loss(
        self,
        outputs: Tensor,
        y: Tensor,
        chosen: Tensor | None = None,
        binary: Tensor | None = None,
        weights: Tensor | None = None,
        total: Callable[[Tensor], Tensor] = lambda own: own,
    ) -> Tensor:
        """The mean loss over the known labels in the rows ``chosen``, bool [..., rows]; zero if
        there are none. Shapes: as in :meth:`losses` → [...].

        Args:
            weights: class weights, [..., classes], or weights of 0 and 1 for every output,
                [..., 2, outputs].
            total: sums the divisor of the mean over all processes that train together.
        """
        each, known = self.losses(outputs, y, binary)
        over: tuple[int, ...] = (-1,) if self.has_classes else (-2, -1)
        if chosen is not None:
            known = known & (chosen if self.has_classes else chosen.unsqueeze(-1))
        if weights is None:
            return (each * known).sum(over) / total(known.sum(over)).clamp(min=1)
        if self.has_classes:
            weight = weights.gather(-1, y.clamp(min=0))
        else:
            weight = torch.where(y == 1, weights[..., 1:, :], weights[..., :1, :])
        weight = weight * known
        whole = total(weight.sum(over))
        return (each * weight).sum(over) / torch.where(whole > 0, whole, 1)

    def scores(self, outputs: Tensor, binary: Tensor | None = None) -> Tensor:
        """Probabilities, or the values themselves for numbers."""
        if self.has_classes:
            return outputs.softmax(dim=-1)
        if self is Task.MIXED:
            assert binary is not None
            return torch.where(binary, outputs.sigmoid(), outputs)
        return outputs.sigmoid() if self is Task.MULTITASK else outputs

    def measure(
        self,
        scores: Tensor,
        y: Tensor,
        scale: Sequence[float] = (),
        names: Sequence[str] = (),
        binary: Sequence[bool] = (),
    ) -> dict[str, float]:
        """Every metric that is defined for these scores and labels.

        Args:
            scale, names, binary: of the outputs, if they are targets.
        """
        predicted, truth = scores.double().cpu().numpy(), y.cpu().numpy()
        if self.has_classes:
            return _classes(predicted[truth >= 0], truth[truth >= 0])
        if self is Task.MULTITASK:
            return _binary(predicted, truth, names)
        return _errors(predicted, truth, scale, names, binary or [False] * truth.shape[1])


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
    """Whether higher values are better: for all metrics except errors and losses."""
    return metric.split("[")[0] not in ("loss", "mae", "rmse", SCALED)


def _classes(probability: Floats, truth: NDArray[np.int64]) -> dict[str, float]:
    if not len(truth):
        return {}
    out = {"accuracy": float((probability.argmax(axis=1) == truth).mean())}
    if probability.shape[1] == 2:
        area = roc_auc(probability[:, 1], truth == 1)
        if area is not None:
            out["roc_auc"] = area
    return out


def _binary(probability: Floats, truth: Floats, names: Sequence[str]) -> dict[str, float]:
    """The mean over the targets and, for several targets, the value of each."""
    areas = {}
    for column in range(truth.shape[1]):
        known = ~np.isnan(truth[:, column])
        area = roc_auc(probability[known, column], truth[known, column] == 1)
        if area is not None:
            areas[column] = area
    if not areas:
        return {}
    each = {f"roc_auc[{names[c]}]": area for c, area in areas.items()} if len(names) > 1 else {}
    return {"roc_auc": float(np.mean(list(areas.values())))} | each


def _errors(
    found: Floats,
    truth: Floats,
    scale: Sequence[float],
    names: Sequence[str],
    binary: Sequence[bool],
) -> dict[str, float]:
    known = ~np.isnan(truth)
    if not known.any():
        return {}
    error = np.where(known, found - truth, np.nan)
    counts = known.sum(0)
    with np.errstate(invalid="ignore"):
        mae = np.nansum(np.abs(error), 0) / counts
        rmse = np.sqrt(np.nansum(error**2, 0) / counts)
    if truth.shape[1] == 1 and not binary[0]:
        return {"mae": float(mae[0]), "rmse": float(rmse[0])}
    out = {}
    if len(scale):
        out[SCALED] = float(np.nanmean(np.abs(error) / np.array(scale)))
    for place, name in enumerate(names):
        here = known[:, place]
        if binary[place]:
            area = roc_auc(found[here, place], truth[here, place] == 1)
            out |= {} if area is None else {f"roc_auc[{name}]": area}
        elif counts[place]:
            out |= {f"mae[{name}]": float(mae[place]), f"rmse[{name}]": float(rmse[place])}
    return out


def roc_auc(score: Floats, positive: NDArray[np.bool_]) -> float | None:
    """The area under the ROC curve, from ranks; ``None`` if a class is absent."""
    from scipy.stats import rankdata

    ones = int(positive.sum())
    zeros = len(positive) - ones
    if not ones or not zeros:
        return None
    return float((rankdata(score)[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))
