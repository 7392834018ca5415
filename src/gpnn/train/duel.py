"""GPNN beside its base alone: the same folds, the same steps, the same input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from ..data.samples import Samples
from ..data.split import Split
from ..errors import InputError
from .fit import Epoch, Fitted, TrainConfig, fit
from .model_setup import one_thread

__all__ = ["Duel", "duel", "folds"]

OPTIONS = {"base": "gin", "scheme": "core-degree", "interactions": "edges", "hidden": 32}
MODELS = {"GPNN on GIN": True, "GIN": False}


@dataclass
class Duel:
    """Test accuracy and run of every model, one per fold, and the share of the largest class."""

    majority: float
    scores: dict[str, list[float]] = field(default_factory=dict)
    runs: dict[str, list[Fitted]] = field(default_factory=dict)

    def mean(self, name: str) -> tuple[float, float]:
        """Mean and standard deviation over the folds."""
        values = np.array(self.scores[name])
        return float(values.mean()), float(values.std(ddof=1))

    def difference(self) -> tuple[float, float]:
        """The first model less the second, fold by fold: mean and its standard error."""
        first, second = (np.array(scores) for scores in self.scores.values())
        gap = first - second
        return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap)))


def folds(samples: Samples, count: int, seed: int = 0) -> Iterator[Split]:
    """Stratified folds: one tests, the next chooses the epoch, the others train."""
    from sklearn.model_selection import StratifiedKFold

    if samples.y is None or not samples.task.has_classes:
        raise InputError("Folds need graphs with classes.")
    if count < 3:
        raise InputError(f"There must be 3 folds or more, to train, choose and test; got {count}.")
    y = samples.y.numpy()
    cut = StratifiedKFold(count, shuffle=True, random_state=seed).split(y, y)
    parts = [np.sort(test) for _, test in cut]
    for k, test in enumerate(parts):
        valid = parts[(k + 1) % count]
        train = np.setdiff1d(np.arange(len(y)), np.concatenate([test, valid]))
        yield Split(train, valid, test, f"fold {k + 1} of {count}")


def without_edge_labels(samples: Samples) -> Samples:
    """For GIN cannot read them, and both sides shall see the same."""
    return replace(samples, edge_labels=None, encoder=replace(samples.encoder, edges=()))


def duel(
    samples: Samples,
    count: int,
    epochs: int,
    keep: Path | None = None,
    tick: Callable[[str, int, Epoch], None] | None = None,
) -> Duel:
    """Train both models on every fold for the same number of epochs.

    Args:
        keep: where the GPNN of the first fold is written.
        tick: called after every epoch with the model's name and the fold.
    """
    samples = without_edge_labels(samples)
    assert samples.y is not None
    result = Duel(float(torch.bincount(samples.y).max() / len(samples.y)))
    for number, split in enumerate(folds(samples, count)):
        train = TrainConfig(epochs=epochs, patience=epochs, seed=number, device="cpu")
        for name, gpnn in MODELS.items():
            options, told = OPTIONS | {"gpnn": gpnn}, _told(tick, name, number)
            folder = keep if gpnn and number == 0 else None
            with one_thread():
                fitted = fit(samples, options, train, split, folder, told, fresh=True)
            result.scores.setdefault(name, []).append(fitted.metrics["test"]["accuracy"])
            result.runs.setdefault(name, []).append(fitted)
    return result


def _told(
    tick: Callable[[str, int, Epoch], None] | None, name: str, number: int
) -> Callable[[Epoch], None] | None:
    return None if tick is None else lambda epoch: tick(name, number, epoch)
