"""``tu-2``: setting 2, the protocol of Feng et al. (2022).

The folds and the training of ``tu-1``; of every fold its own *best* test accuracy over all epochs
(the earliest among equals), and of these the mean and the standard deviation. It chooses on the
test folds, once per fold, and so reads higher than any model does on new data.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...train.replica import Curves
from .base import Measured, Member, Protocol, at_own_best
from .tu_1 import replicas

__all__ = ["PROTOCOL", "choose"]


def choose(members: Sequence[Member], curves: Curves) -> list[Measured]:
    """An epoch of its own for every fold and seed."""
    return at_own_best(members, curves, curves.test)


PROTOCOL = Protocol(
    name="tu-2",
    family="tu",
    rule="10 stratified folds; of every fold its own best test accuracy",
    warning="tu-2 chooses an epoch for every fold on its test part: for comparison with published "
    "tables only; it reads higher than the model is.",
    replicas=replicas,
    choose=choose,
)
