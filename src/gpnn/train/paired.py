r"""Paired differences of two models that were trained on the same folds with the same seeds.

For differences :math:`d_k`, :math:`k = 1 … n`, of models with :math:`r` validation samples per
training sample,

.. math::
    \bar d = \frac1n \sum_k d_k, \qquad s^2 = \Big(\frac1n + r\Big)\, \mathrm{var}_k(d_k).

The term r is the correction of Nadeau and Bengio (2003) for folds that share training samples;
r = 0 is the usual standard error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

__all__ = ["holm", "paired", "student_p"]


def paired(
    first: Sequence[float], second: Sequence[float], higher: bool, ratio: float = 0.0
) -> tuple[float, float | None]:
    """Mean difference (positive where the first is better) and its standard error, which is
    ``None`` for a single difference."""
    each = (1.0 if higher else -1.0) * (np.asarray(first, float) - np.asarray(second, float))
    if len(each) < 2:
        return float(each.mean()), None
    return float(each.mean()), math.sqrt(1 / len(each) + ratio) * float(each.std(ddof=1))


def student_p(mean: float, error: float, freedom: int, sides: int = 1) -> float:
    """The p-value of t = mean / error under the null hypothesis that the true mean is not above
    zero (one-sided) or is zero (two-sided)."""
    from scipy.stats import t

    value = abs(mean) if sides == 2 else mean
    if error == 0:
        return 0.0 if value > 0 else 1.0
    return min(1.0, float(sides * t.sf(value / error, freedom)))


def holm(values: Sequence[float]) -> list[float]:
    """p-values after Holm's correction, in the order given."""
    order = sorted(range(len(values)), key=lambda place: values[place])
    corrected, highest = [0.0] * len(values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = highest
    return corrected
