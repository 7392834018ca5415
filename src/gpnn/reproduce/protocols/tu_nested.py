"""``tu-nested``: the honest protocol for TU collections.

The folds of ``tu-1``. In every fold, a stratified ninth of the training part is held out for
validation. Up to ten configurations of step size, dropout and weight decay (the recipe's own and
random others of its space, the same for all folds, seeds and models) are trained on the rest.
For every fold and seed, the configuration and the epoch with the best validation accuracy are
chosen; ties go to the earliest epoch, then to the first configuration. The test part is used only
once, at this epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from ...data.samples import Samples
from ...data.tasks import higher_is_better
from ...train.replica import Curves
from ..recipe import Recipe
from .base import Measured, Member, Protocol, Replicas, best_epoch, replica
from .tu_1 import folds

__all__ = ["PROTOCOL", "choose", "configurations", "replicas"]

NINTH = 1 / 9


def configurations(recipe: Recipe) -> list[dict[str, float]]:
    """Return the recipe's own configuration, then random others of its space, at most
    ``nested.trials``."""
    space, names = recipe.nested, ("lr", "dropout", "weight_decay")
    own = tuple(getattr(recipe, name) for name in names)
    others = [v for v in product(*(getattr(space, name) for name in names)) if v != own]
    order = np.random.default_rng(0).permutation(len(others))[: space.trials - 1]
    return [dict(zip(names, values, strict=True)) for values in (own, *(others[k] for k in order))]


def replicas(
    samples: Samples,
    recipe: Recipe,
    quick: bool = False,
    data: str | None = None,  # noqa: ARG001
) -> Replicas:
    """Return one model per configuration, seed and fold."""
    from sklearn.model_selection import train_test_split

    outer = folds(samples, quick)
    assert samples.y is not None
    y = samples.y.numpy()
    parts = []
    for fold, (train, test) in enumerate(outer):
        rest, valid = train_test_split(train, test_size=NINTH, stratify=y[train], random_state=fold)
        parts.append((rest, valid, test))
    made: Replicas = {}
    for trial, changes in enumerate(configurations(recipe)):
        for seed in range(recipe.nested.seeds):
            for fold, (rest, valid, test) in enumerate(parts):
                member = Member(fold, seed, trial)
                made[member] = replica(recipe, member, rest, valid, test, **changes)
    return made


def choose(members: Sequence[Member], curves: Curves) -> list[Measured]:
    """Choose configuration and epoch on validation graphs, for every fold and seed."""
    sign = 1 if higher_is_better(curves.metric) else -1
    best: dict[tuple[int, int], tuple[tuple[float, int, int], int]] = {}
    for row, member in enumerate(members):
        epoch = best_epoch(curves.valid[row], curves.metric)
        rank = (-sign * float(curves.valid[row, epoch]), epoch, member.trial)
        so_far = best.get((member.seed, member.fold))
        if so_far is None or rank < so_far[0]:
            best[member.seed, member.fold] = (rank, row)
    return [
        Measured(fold, seed, float(curves.test[row, epoch]), epoch + 1, trial)
        for (seed, fold), ((_, epoch, trial), row) in sorted(best.items())
    ]


PROTOCOL = Protocol(
    name="tu-nested",
    family="tu-nested",
    rule="10 stratified folds; configuration and epoch chosen on a ninth of the training part, "
    "test looked at once",
    warning="",
    replicas=replicas,
    choose=choose,
    overlap=1 / 8,
)
