"""Vertex colours from isomorphism: orbits of the whole graph, classes of rooted ego subgraphs.

All of them use structure only: node and edge labels are ignored.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .canonical import BUDGET, canonical_labelling
from .graphs import Graphs

__all__ = [
    "EGO_FAST_LIMIT",
    "EGO_LIMIT",
    "ORBIT_LIMIT",
    "ego_colours",
    "ego_fast_colours",
    "orbit_colours",
]

IntArray = NDArray[np.int64]

ORBIT_LIMIT = 1000
"""Maximum number of vertices of a graph for :func:`orbit_colours`."""

EGO_LIMIT = 1000
"""Maximum number of vertices of an ego for :func:`ego_colours`."""

EGO_FAST_LIMIT = 4000
"""Maximum number of vertices of an ego for :func:`ego_fast_colours`."""


def orbit_colours(graphs: Graphs, *, budget: int = BUDGET) -> IntArray:
    """λ_⊤(v) = (canonical form of the graph of v, automorphism orbit of v).

    Two vertices, of the same graph or of two graphs, have the same colour if and only if an
    isomorphism maps one to the other. Returns shape [vertices, 3]: the graph's 128-bit digest in
    two 64-bit words, then the orbit, numbered canonically.
    """
    sizes = np.diff(graphs.ptr)
    if len(sizes) and sizes.max() > ORBIT_LIMIT:
        g = int(sizes.argmax())
        raise InputError(
            f"Orbits are computed for graphs of at most {ORBIT_LIMIT} vertices; graph {g} has "
            f"{sizes[g]}. Use ego-1-fast, ego-2-fast or wl-k for graphs of this size."
        )
    labelling = canonical_labelling(graphs, budget=budget)
    if not labelling.exact.all():
        g = int(labelling.exact.argmin())
        raise InputError(
            f"The orbits of graph {g}, with {sizes[g]} vertices, were not found within the budget "
            f"of {budget}. Give a larger budget, or use ego-r-fast or wl-k."
        )
    digest = labelling.digest.view(np.int64)[graphs.graph_of]
    return np.concatenate([digest, labelling.orbit[:, None]], axis=1)


def ego_colours(graphs: Graphs, radius: int, *, budget: int = BUDGET) -> IntArray:
    """Isomorphism class of the subgraph induced by the vertices within ``radius`` hops of v.

    The subgraph is rooted: isomorphisms must map root to root. Returns shape [vertices, 2], a
    128-bit hash of the canonical form; two different classes collide with probability 2^-128.

    Args:
        graphs: one or many graphs.
        radius: 1 or more hops.
        budget: maximum work per ego; an error is raised beyond it.
    """
    return _hashed(graphs, radius, EGO_LIMIT, budget, exact=True)


def ego_fast_colours(graphs: Graphs, radius: int) -> IntArray:
    """The multiset, over the vertices w of the ego of v, of 1-WL with w individualised.

    The ego is that of :func:`ego_colours`, with its vertices marked by their distance to v. Each w
    in turn is given a unique colour, and 1-WL runs until it is stable. This is coarser than the
    isomorphism class, and polynomial for every ego. Returns shape [vertices, 2].
    """
    return _hashed(graphs, radius, EGO_FAST_LIMIT, BUDGET, exact=False)


def _hashed(graphs: Graphs, radius: int, limit: int, budget: int, *, exact: bool) -> IntArray:
    from .kernels import ego

    if radius < 1:
        raise InputError(f"The radius of an ego is 1 or more hops; got {radius}.")
    if budget < 1:
        raise InputError(f"The budget is work per ego and must be positive; got {budget}.")
    out = np.zeros((graphs.num_nodes, 2), np.uint64)
    what, vertex, size = ego.ego_hashes(
        graphs.ptr, graphs.indptr, graphs.indices, radius, limit, budget, exact, out
    )
    if what != ego.DONE:
        g = int(graphs.graph_of[vertex])
        why = (
            f"more than the limit of {limit}."
            if what == ego.TOO_LARGE
            else f"and their canonical form was not found within the budget of {budget}."
        )
        raise InputError(
            f"The vertices within {radius} hops of vertex {vertex - graphs.ptr[g]} of graph {g} "
            f"are {size}, {why} Use "
            + (f"ego-{radius}-fast or a smaller radius." if exact else "a smaller radius.")
        )
    return out.view(np.int64)
