"""What ``ogb`` and ``zinc`` share: one official split, several seeds, validation chooses."""

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
    """The recipe's number of seeds on the dataset's own split."""
    split = samples.split
    if split is None:
        raise InputError(
            f"{recipe.dataset} comes without its official split. Put the files of the split "
            "beside the data."
        )
    parts = (split["train"], split["valid"], split["test"])
    members = [Member(0, seed) for seed in range(recipe.seeds)]
    return {member: replica(recipe, member, *parts) for member in members}


def choose_on_validation(members: Sequence[Member], curves: Curves) -> list[Measured]:
    """The test metric at the epoch that is best on validation, the earliest among equals."""
    return at_own_best(members, curves, curves.valid)
