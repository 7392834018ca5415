"""Random-walk encodings: return probabilities of random walks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..options import MAX_WALKS, Whole
from .convert import as_graphs

__all__ = ["walk_encodings"]


def walk_encodings(source: Any, steps: int = 20) -> NDArray[np.float64]:
    r"""Return probabilities of every vertex after 2, 3, …, ``steps`` + 1 steps of a random walk,

    .. math::
        p_v = \big[P^2_{vv},\; P^3_{vv},\; \dots,\; P^{K+1}_{vv}\big], \qquad P = D^{-1} A,

    of shape [vertices, K]. A walk of one step cannot return in a simple graph. The probabilities
    are exact, independent of the order of vertices up to rounding, and 0 for isolated vertices.

    Args:
        source: graphs, in any form that :func:`~gpnn.graph.convert.as_graphs` accepts.
        steps: K, the number of probabilities.

    >>> walk_encodings([(0, 1), (1, 2), (0, 2)], 2)  # a triangle
    array([[0.5 , 0.25],
           [0.5 , 0.25],
           [0.5 , 0.25]])
    """
    from .kernels.walks import walk_returns

    steps = Whole(1, MAX_WALKS).read("steps", steps)
    graphs = as_graphs(source)
    encodings: NDArray[np.float64] = walk_returns(graphs.ptr, graphs.indptr, graphs.indices, steps)
    return encodings
