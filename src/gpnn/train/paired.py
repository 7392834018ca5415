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

EQUAL = 1e-9
"""Differences with a standard error below this share of their mean are equal up to rounding."""
ROUNDING = 1e-6
"""Differences below this share of the values are those of the rounding of single precision."""


def paired(
    first: Sequence[float], second: Sequence[float], higher: bool, ratio: float = 0.0
) -> tuple[float, float | None]:
    """Mean difference (positive where the first is better) and its standard error, which is
    ``None`` for a single difference. Values that are equal up to rounding do not differ."""
    one, other = np.asarray(first, float), np.asarray(second, float)
    each = (1.0 if higher else -1.0) * (one - other)
    each[np.abs(each) <= ROUNDING * np.maximum(np.abs(one), np.abs(other))] = 0.0
    if len(each) < 2:
        return float(each.mean()), None
    return float(each.mean()), math.sqrt(1 / len(each) + ratio) * float(each.std(ddof=1))


def student_p(mean: float, error: float, freedom: int, sides: int = 1) -> float:
    """The p-value of t = mean / error under the null hypothesis that the true mean is not above
    zero (one-sided) or is zero (two-sided). Equal differences have no error; for them it is the
    p-value of the sign test."""
    from scipy.stats import t

    value = abs(mean) if sides == 2 else mean
    if error <= EQUAL * abs(mean):
        return sides * 0.5 ** (freedom + 1) if value > 0 else 1.0
    return min(1.0, float(sides * t.sf(value / error, freedom)))


def holm(values: Sequence[float]) -> list[float]:
    """p-values after Holm's correction, in the order given."""
    order = sorted(range(len(values)), key=lambda place: values[place])
    corrected, highest = [0.0] * len(values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = highest
    return corrected
