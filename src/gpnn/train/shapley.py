"""Exact Shapley values of a game with few players."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

__all__ = ["shapley"]


def shapley(values: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Mean marginal contribution of every player, over all orders in which players can join.

    .. math::
        \phi_j = \sum_{S \not\ni j} \frac{|S|! \, (k - |S| - 1)!}{k!} \,
        \big(v(S \cup \{j\}) - v(S)\big), \qquad \sum_j \phi_j = v(\text{all}) - v(\varnothing)

    Args:
        values: v of every subset of the k players, [2^k]; player j is in the subset if bit j of
            the index is set.
    """
    players = len(values).bit_length() - 1
    number = np.arange(len(values))
    size = (number[:, None] >> np.arange(players) & 1).sum(axis=1)
    weight = np.array([1 / (players * comb(players - 1, s)) for s in range(players)])
    out = np.empty(players)
    for player in range(players):
        without = number[number >> player & 1 == 0]
        gain = values[without | 1 << player] - values[without]
        out[player] = weight[size[without]] @ gain
    return out
