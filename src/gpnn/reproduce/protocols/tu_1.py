"""``tu-1``: setting 1, the protocol of Xu et al. (2019).

Ten stratified folds, shuffled with seed 0, without a validation part. For every seed, the protocol
chooses the epoch whose *mean* test accuracy over the folds is best; ties go to the earliest epoch.
The result is the mean and standard deviation over the folds at that epoch. The choice uses the test
folds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...data.samples import Samples
from ...errors import InputError
from ...train.replica import Curves
from ..recipe import Recipe
from .base import IntArray, Measured, Member, Protocol, Replicas, best_epoch, replica

__all__ = ["PROTOCOL", "choose", "folds", "replicas"]

FOLDS, QUICK_FOLDS = 10, 3


def folds(samples: Samples, quick: bool = False) -> list[tuple[IntArray, IntArray]]:
    """Return the training and test graphs of every fold."""
    from sklearn.model_selection import StratifiedKFold

    if samples.y is None or not samples.task.has_classes or samples.task.node_level:
        raise InputError("Stratified folds need graphs with classes. Choose another protocol.")
    y = samples.y.numpy()
    count = QUICK_FOLDS if quick else FOLDS
    return list(StratifiedKFold(count, shuffle=True, random_state=0).split(np.zeros(len(y)), y))


def replicas(
    samples: Samples,
    recipe: Recipe,
    quick: bool = False,
    data: str | None = None,  # noqa: ARG001
) -> Replicas:
    """Return one model per fold and seed."""
    made: Replicas = {}
    for seed in range(recipe.seeds):
        for fold, (train, test) in enumerate(folds(samples, quick)):
            member = Member(fold, seed)
            made[member] = replica(recipe, member, train, [], test)
    return made


def choose(members: Sequence[Member], curves: Curves) -> list[Measured]:
    """Choose one epoch per seed, for all of its folds."""
    measured = []
    for seed in sorted({m.seed for m in members}):
        rows = [row for row, m in enumerate(members) if m.seed == seed]
        epoch = best_epoch(curves.test[rows].mean(axis=0), curves.metric)
        measured += [
            Measured(members[row].fold, seed, float(curves.test[row, epoch]), epoch + 1)
            for row in rows
        ]
    return measured


PROTOCOL = Protocol(
    name="tu-1",
    family="tu",
    rule="10 stratified folds; the one epoch with the best mean test accuracy",
    warning="tu-1 chooses the epoch on the test folds: for comparison with published tables only.",
    replicas=replicas,
    choose=choose,
    overlap=1 / 9,
)
