"""Shared by ``ogb`` and ``zinc``: one official split, several seeds, choice on validation."""

from __future__ import annotations

from collections.abc import Sequence

from ...data.samples import Samples
from ...errors import InputError
from ...train.replica import Curves
from ..recipe import Recipe
from .base import Measured, Member, Replicas, at_own_best, replica

__all__ = ["choose_on_validation", "official_replicas"]


def official_replicas(
    samples: Samples,
    recipe: Recipe,
    quick: bool = False,  # noqa: ARG001
    data: str | None = None,  # noqa: ARG001
) -> Replicas:
    """Return one model per seed of the recipe, on the official split of the dataset."""
    split = samples.split
    if split is None:
        raise InputError(
            f"{recipe.dataset} has no official split here. Put the files of the split "
            "beside the data."
        )
    parts = (split["train"], split["valid"], split["test"])
    members = [Member(0, seed) for seed in range(recipe.seeds)]
    return {member: replica(recipe, member, *parts) for member in members}


def choose_on_validation(members: Sequence[Member], curves: Curves) -> list[Measured]:
    """Return the test metric at the epoch with the best validation metric; ties go to the
    earliest."""
    return at_own_best(members, curves, curves.valid)
