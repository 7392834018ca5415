"""Elements of every protocol: the replicas, the choice of the epoch, and the averaging."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.samples import Samples
from ...errors import InputError
from ...train.replica import Curves, Replica, best_epoch
from ..recipe import Recipe

__all__ = [
    *("Measured", "Member", "Protocol", "Replicas", "Summary"),
    *("at_own_best", "best_epoch", "replica", "summarise"),
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
SEEDS_APART = 1_000


@dataclass(frozen=True)
class Member:
    """Identifies the model of a replica: fold (or split), seed and configuration, each from 0."""

    fold: int
    seed: int
    trial: int = 0


Replicas = dict[Member, Replica]
"""The models of a job, in the order in which they are trained."""


@dataclass(frozen=True)
class Measured:
    """The test metric of one fold and seed, at the epoch (from 1) and trial that were chosen."""

    fold: int
    seed: int
    value: float
    epoch: int
    trial: int = 0


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation and standard error of the mean over ``units`` (folds, or seeds of
    one fold); ``None`` if there are too few."""

    mean: float
    std: float | None
    error: float | None
    units: int = 0


@dataclass(frozen=True)
class Protocol:
    """A rule that turns learning curves into a figure.

    Attributes:
        name: the name in ``gpnn reproduce``.
        family: protocols of one family are computed from the same training.
        rule: one sentence for reports.
        warning: what a reader must know about its figures, or "".
        replicas: creates the models to train, called as
            ``replicas(samples, recipe, quick, data)``; ``quick`` requests a small sample of the
            protocol, ``data`` is the folder of datasets.
        choose: chooses the value of every fold and seed from the curves.
        overlap: test samples per training sample, where folds or splits share training samples;
            the standard error of a gain is corrected by it.
        published_overlap: the same for the published splits of a recipe, ``geom-gcn``.
    """

    name: str
    family: str
    rule: str
    warning: str
    replicas: Callable[[Samples, Recipe, bool, str | None], Replicas]
    choose: Callable[[Sequence[Member], Curves], list[Measured]]
    overlap: float = 0.0
    published_overlap: float = 0.0

    def overlap_of(self, record: Mapping[str, Any] | None) -> float:
        """The overlap of the splits of a record."""
        recipe = {} if record is None else record.get("recipe", {})
        return self.published_overlap if recipe.get("splits") == "geom-gcn" else self.overlap


def at_own_best(members: Sequence[Member], curves: Curves, chooser: FloatArray) -> list[Measured]:
    """Return the test metric of every model at the epoch at which its row of ``chooser`` is
    best."""
    epochs = [best_epoch(chooser[row], curves.metric) for row in range(len(members))]
    return [
        Measured(member.fold, member.seed, float(curves.test[row, epoch]), epoch + 1)
        for row, (member, epoch) in enumerate(zip(members, epochs, strict=True))
    ]


def summarise(measured: Sequence[Measured]) -> Summary:
    """Return the mean over all values, the standard deviation over the folds of each seed, averaged
    over the seeds, and the standard error over the folds, each averaged over its seeds. With one
    fold, deviation and error are taken over the seeds. Deviations divide by n - 1."""
    table = as_table(measured)
    mean = float(table.mean())
    per_unit = table.mean(axis=0) if table.shape[1] > 1 else table[:, 0]
    if len(per_unit) < 2:
        return Summary(mean, None, None, len(per_unit))
    spread = table.std(axis=1, ddof=1).mean() if table.shape[1] > 1 else per_unit.std(ddof=1)
    error = float(per_unit.std(ddof=1) / np.sqrt(len(per_unit)))
    return Summary(mean, float(spread), error, len(per_unit))


def as_table(measured: Sequence[Measured]) -> FloatArray:
    """Return the values as [seeds, folds]."""
    folds = sorted({m.fold for m in measured})
    seeds = sorted({m.seed for m in measured})
    scores = {(m.seed, m.fold): m.value for m in measured}
    if len(scores) != len(measured) or len(scores) != len(folds) * len(seeds):
        raise InputError("A result must hold one value for every fold and seed.")
    return np.array([[scores[seed, fold] for fold in folds] for seed in seeds])


def replica(
    recipe: Recipe, member: Member, train: Any, valid: Any, test: Any, **changes: float
) -> Replica:
    """Return one model; its random seed depends on fold and seed, not on the configuration."""
    train, valid, test = (np.sort(np.asarray(part, np.int64)) for part in (train, valid, test))
    made = Replica(
        train,
        valid,
        test,
        seed=SEEDS_APART * member.seed + member.fold,
        lr=recipe.lr,
        weight_decay=recipe.weight_decay,
        dropout=recipe.dropout,
    )
    return replace(made, **changes)  # type: ignore[arg-type]
