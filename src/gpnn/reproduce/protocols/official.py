"""What ``ogb`` and ``zinc`` share: one official split, several seeds, validation chooses."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import InputError
from ...train.replica import Curves
from .base import Given, Measured, Member, Plan, at_own_best, replica

__all__ = ["choose_on_validation", "plan_official"]


def plan_official(given: Given) -> Plan:
    """The recipe's number of seeds on the dataset's own split."""
    split = given.samples.split
    if split is None:
        raise InputError(
            f"{given.recipe.dataset} comes without its official split. Put the files of the split "
            "beside the data."
        )
    members = tuple(Member(0, seed) for seed in range(given.recipe.seeds))
    parts = (split["train"], split["valid"], split["test"])
    return Plan(members, tuple(replica(given.recipe, member, *parts) for member in members))


def choose_on_validation(members: Sequence[Member], curves: Curves) -> list[Measured]:
    """The test metric at the epoch that is best on validation, the earliest among equals."""
    return at_own_best(members, curves, curves.valid)
