"""Canonical labelling by BLISS through igraph, an optional accelerator.

igraph is licensed under the GPL, so it is never required and imported only on request.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .graphs import Graphs

__all__ = ["label"]

IntArray = NDArray[np.int64]


def label(graphs: Graphs, colours: IntArray, position: IntArray, root: IntArray) -> None:
    """Fill in the canonical position of every vertex and a representative of its orbit."""
    try:
        import igraph
    except ImportError:
        raise InputError(
            'backend="bliss" needs the package igraph (GPL), which is not installed. Install '
            'gpnn[bench], or use the default backend="search".'
        ) from None
    from .kernels.components import components

    # igraph 1.0 inverted its permutations: entry i was the new position of vertex i, and is now
    # the vertex at position i.
    probe = igraph.Graph(3, [(0, 1)]).permute_vertices([1, 2, 0]).get_edgelist()
    turned = set(probe[0]) != {1, 2}
    for g, graph in enumerate(graphs):
        low, n = int(graphs.ptr[g]), graph.num_nodes
        ranks = np.unique(colours[low : low + n], return_inverse=True)[1].tolist()
        peer = igraph.Graph(n, graph.edges().T.tolist())
        order = np.asarray(peer.canonical_permutation(color=ranks), np.int64)
        position[low : low + n] = np.argsort(order) if turned else order
        moves = [np.asarray(move) for move in peer.automorphism_group(color=ranks)]
        moved = Graphs.from_edges(
            np.tile(np.arange(n), len(moves)), np.concatenate([np.arange(0), *moves]), n
        )
        root[low : low + n] = low + components(moved.indptr, moved.indices, np.zeros(n, np.int64))
