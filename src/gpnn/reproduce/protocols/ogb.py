"""``ogb``: the protocol of the Open Graph Benchmark for ogbg-mol*.

The scaffold split, ten seeds; ROC-AUC averaged over the tasks, missing labels left out. Reported
is the mean and the standard deviation over the seeds of the test ROC-AUC at the epoch that is best
on validation, the earliest among equals.
"""

from __future__ import annotations

from .base import Protocol
from .official import choose_on_validation, official_replicas

__all__ = ["PROTOCOL"]

PROTOCOL = Protocol(
    name="ogb",
    family="ogb",
    rule="scaffold split; test ROC-AUC at the epoch best on validation, over seeds",
    warning="",
    replicas=official_replicas,
    choose=choose_on_validation,
)
