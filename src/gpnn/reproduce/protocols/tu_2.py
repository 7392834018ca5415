"""``tu-2``: setting 2, the protocol of Feng et al. (2022).

The folds and the training of ``tu-1``. The result is the mean and standard deviation over the folds
of the *best* test accuracy of each fold over all epochs; ties go to the earliest epoch. The choice
uses the test folds, once per fold, so the result overestimates the accuracy on new data.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...train.replica import Curves
from .base import Measured, Member, Protocol, at_own_best
from .tu_1 import replicas

__all__ = ["PROTOCOL", "choose"]


def choose(members: Sequence[Member], curves: Curves) -> list[Measured]:
    """Choose a separate epoch for every fold and seed."""
    return at_own_best(members, curves, curves.test)


PROTOCOL = Protocol(
    name="tu-2",
    family="tu",
    rule="10 stratified folds; of every fold its own best test accuracy",
    warning="tu-2 chooses an epoch for every fold on its test part: for comparison with published "
    "tables only; it reads higher than the model is.",
    replicas=replicas,
    choose=choose,
    overlap=1 / 9,
)
