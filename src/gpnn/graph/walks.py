"""Random-walk encodings: how likely a walk is back where it started."""

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

    [vertices, K]. A simple graph has no walk of one step that returns. They are exact, do not
    depend on the order of vertices beyond rounding, and are 0 for isolated vertices.

    Args:
        source: graphs, as :func:`~gpnn.graph.convert.as_graphs` takes them.

    >>> walk_encodings([(0, 1), (1, 2), (0, 2)], 2)  # a triangle
    array([[0.5 , 0.25],
           [0.5 , 0.25],
           [0.5 , 0.25]])
    """
    from .kernels.walks import walk_returns

    steps = Whole(1, MAX_WALKS).read("steps", steps)
    graphs = as_graphs(source)
    found: NDArray[np.float64] = walk_returns(graphs.ptr, graphs.indptr, graphs.indices, steps)
    return found
