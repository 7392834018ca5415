"""KP-GIN: the k-hop neighbours of every vertex, and the edges among them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..graphs import Graphs
from .structure import Cells, PeerStructure, Relation

__all__ = ["EDGE_COUNTS", "KERNELS", "k_hop_shells"]

IntArray = NDArray[np.int64]

KERNELS = ("shortest", "diffusion")
EDGE_COUNTS = 32
"""Maximum number of peripheral edges of a component; larger counts are clipped."""


def k_hop_shells(graphs: Graphs, hops: int, kernel: str, edged: bool) -> PeerStructure:
    """Relations ``hop k`` between a vertex and its k-hop neighbours Q_k(v), and ``periphery k``
    into cells ``component``: the connected components of G[Q_k(v)] with at least one edge, with
    their number of edges as the code ``edges``. ``original`` connects neighbours if edges have
    labels.

    Args:
        kernel: ``shortest``: Q_k(v) are the vertices at distance k; ``diffusion``: the vertices
            reached by a walk of k steps, except v itself.
    """
    from ..kernels.periphery import peripheral_components

    out = PeerStructure()
    shells = _shortest(graphs, hops) if kernel == "shortest" else _diffusion(graphs, hops)
    owners, counts, hop = [], [], []
    n = graphs.num_nodes
    for k, (row, column) in enumerate(shells, 1):
        out.relations[f"hop {k}"] = Relation("vertex", "vertex", row, column, symmetric=True)
        bounds = np.searchsorted(row, np.arange(n + 1))
        owner, edges = peripheral_components(bounds, column, graphs.indptr, graphs.indices)
        owners.append(owner)
        counts.append(np.minimum(edges, EDGE_COUNTS))
        hop.append(np.full(len(owner), k))
    owner, edges, far = (np.concatenate(parts) for parts in (owners, counts, hop))
    order = np.argsort(graphs.graph_of[owner], kind="stable")
    owner, edges, far = owner[order], edges[order], far[order]
    out.cells["component"] = Cells(graphs.graph_of[owner].astype(np.int64), None, {"edges": edges})
    for k in range(1, hops + 1):
        own = np.flatnonzero(far == k)
        out.relations[f"periphery {k}"] = Relation("vertex", "component", owner[own], own)
    if edged:
        rows, columns = graphs.rows.astype(np.int64), graphs.indices.astype(np.int64)
        out.connect(graphs, "vertex", rows, columns, np.arange(len(rows)), True, "original")
    return out


def _shortest(graphs: Graphs, hops: int) -> list[tuple[IntArray, IntArray]]:
    from ..kernels.periphery import shells

    row, column, far = shells(graphs.ptr, graphs.indptr, graphs.indices, hops)
    return [(row[far == k], column[far == k]) for k in range(1, hops + 1)]


def _diffusion(graphs: Graphs, hops: int) -> list[tuple[IntArray, IntArray]]:
    from scipy.sparse import csr_array

    n = graphs.num_nodes
    ones = np.ones(len(graphs.indices), np.int32)  # the product counts paths
    one = csr_array((ones, graphs.indices, graphs.indptr), (n, n))
    power, shells = one, []
    for k in range(hops):
        if k:
            power = (power @ one).astype(bool).astype(np.int32)
            power.sort_indices()
        row = np.arange(n).repeat(np.diff(power.indptr))
        keep = row != power.indices
        shells.append((row[keep], power.indices[keep].astype(np.int64)))
    return shells
