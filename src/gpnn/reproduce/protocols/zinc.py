"""``zinc``: mean absolute error on ZINC-12k.

The benchmark's validation and test molecules with a resampled training part, and four seeds. The
result is the mean and standard deviation over the seeds of the test error at the epoch with the
lowest validation error; ties go to the earliest epoch.
"""

from __future__ import annotations

from .base import Protocol
from .official import choose_on_validation, official_replicas

__all__ = ["PROTOCOL"]

PROTOCOL = Protocol(
    name="zinc",
    family="zinc",
    rule="test error at the epoch best on validation, over seeds",
    warning="ZINC-12k, resampled train: the training molecules are not the published benchmark's, "
    "so the figures are not comparable digit by digit.",
    replicas=official_replicas,
    choose=choose_on_validation,
)
