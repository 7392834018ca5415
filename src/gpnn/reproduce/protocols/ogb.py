"""``ogb``: the protocol of the Open Graph Benchmark for ogbg-mol*.

The scaffold split with ten seeds. The metric is ROC-AUC averaged over the tasks, without missing
labels. The result is the mean and standard deviation over the seeds of the test ROC-AUC at the
epoch with the best validation ROC-AUC; ties go to the earliest epoch.
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
