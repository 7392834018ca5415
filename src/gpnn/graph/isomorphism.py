"""The paper's notions of equivalence under a scheme, as one 128-bit digest per graph.

Two graphs of a set are equivalent if and only if their digests are equal. ``≃`` means isomorphic:

* λ-equivalent: equal counts of every vertex colour λ_V and of every edge colour λ_E over
  unordered pairs. Non-edges need no separate count: the vertex colours determine the number of
  pairs of two colours, and the edge colours how many of them are edges.
* partition-isomorphic: S_c(G) ≃ S_c(H) for every colour c, where S_c is the subgraph induced by
  the vertices of colour c. Without cross edges, a graph is the disjoint union of the S_c, so this
  is one isomorphism test of that union with coloured vertices.
* interaction-isomorphic: partition-isomorphic, and B(G) ≃ B(H) as plain graphs, where B is the
  boundary subgraph.

Vertex and edge labels are included if the graphs have them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .canonical import canonical_labelling
from .graphs import Graphs
from .partition import Partition, unique_rows

__all__ = [
    "Sameness",
    "interaction_isomorphism",
    "isomorphism",
    "lambda_equivalence",
    "partition_isomorphism",
]

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Sameness:
    """Digests for comparing graphs, ``digest`` [graphs, 2]. Where ``exact`` [graphs] is false, the
    search for a canonical form exceeded its budget and the answer is unknown."""

    digest: NDArray[np.uint64]
    exact: NDArray[np.bool_]

    def distinguishes(self, g: int, h: int) -> bool | None:
        """Whether two graphs differ; ``None`` if unknown."""
        if not (self.exact[g] and self.exact[h]):
            return None
        return bool((self.digest[g] != self.digest[h]).any())


def lambda_equivalence(cut: Partition) -> Sameness:
    """Digests of the histograms of vertex and edge colours."""
    from .kernels.colour_hash import bags, hash_rows

    graphs = cut.graphs
    vertices = cut.colours
    if graphs.node_labels is not None:
        vertices = np.concatenate([vertices, graphs.node_labels[:, None]], axis=1)
    rank = unique_rows(vertices)[1]
    u, v = graphs.edges()
    low, high = np.where(rank[u] < rank[v], (u, v), (v, u))
    edges = np.concatenate([vertices[low], vertices[high]], axis=1)
    if graphs.edge_labels is not None:
        once = graphs.edge_labels[graphs.rows < graphs.indices]
        edges = np.concatenate([edges, once[:, None]], axis=1)
    digest = np.zeros((len(graphs), 2), np.uint64)
    for rows, ends in ((vertices, graphs.ptr), (edges, np.searchsorted(u, graphs.ptr))):
        members = hash_rows(np.ascontiguousarray(rows), np.zeros((len(rows), 2), np.uint64))
        digest = hash_rows(bags(members, ends).view(np.int64), digest)
    return Sameness(digest, np.ones(len(graphs), np.bool_))


def partition_isomorphism(cut: Partition) -> Sameness:
    """Digests of the subgraphs induced by the parts."""
    within = _within(cut)
    return _canonical(within, cut.part.astype(np.int64))


def interaction_isomorphism(cut: Partition) -> Sameness:
    """Digests of the subgraphs induced by the parts and of the boundary subgraph."""
    from .kernels.colour_hash import hash_rows

    parts = partition_isomorphism(cut)
    boundary = isomorphism(cut.boundary()[0])
    digest = hash_rows(boundary.digest.view(np.int64), parts.digest)
    return Sameness(digest, parts.exact & boundary.exact)


def isomorphism(graphs: Graphs) -> Sameness:
    """Digests of the graphs themselves."""
    return _canonical(graphs, np.zeros(graphs.num_nodes, np.int64))


def _within(cut: Partition) -> Graphs:
    """The graphs with only their within edges."""
    graphs = cut.graphs
    keep = ~cut.cross
    kept = np.concatenate(([0], np.cumsum(keep)))
    return replace(
        graphs,
        indptr=kept[graphs.indptr],
        indices=graphs.indices[keep],
        edge_labels=None if graphs.edge_labels is None else graphs.edge_labels[keep],
    )


def _canonical(graphs: Graphs, colours: IntArray) -> Sameness:
    if graphs.node_labels is not None:
        colours = unique_rows(np.stack([colours, graphs.node_labels], axis=1))[1]
    labelling = canonical_labelling(graphs, colours=colours, edge_labels=graphs.edge_labels)
    return Sameness(labelling.digest, labelling.exact)
