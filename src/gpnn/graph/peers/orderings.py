"""Deep LRP: truncated breadth-first orderings of the neighbourhood of every vertex."""

from __future__ import annotations

import numpy as np

from ...errors import LimitError
from ..graphs import Graphs
from .structure import Cells, PeerStructure, Relation

__all__ = ["LONGEST", "local_orderings", "ordering_length"]

LONGEST = 11
"""Maximum number of vertices of an ordering, so that its edges fit in the bits of one integer."""
MOST_ORDERINGS = 12_000_000


def ordering_length(depth: int, width: int) -> int:
    """Number of vertices of a full ordering, :math:`1 + w + w^2 + \\dots + w^l`."""
    return sum(width**level for level in range(depth + 1))


def local_orderings(graphs: Graphs, depth: int, width: int, edged: bool) -> PeerStructure:
    """Cells ``ordering``, all orderings of every vertex; the code ``bits`` encodes which positions
    are adjacent. Relations ``place i`` (the vertex at position i) and ``rooted`` (the mean over the
    orderings of a vertex). If edges have labels, also cells ``bond`` with the code ``pair`` of
    positions, and the relation ``bonds`` of an ordering."""
    from ..kernels.orderings import bfs_orderings, slot_edges

    length = ordering_length(depth, width)
    if length > LONGEST:
        raise LimitError(
            f"Orderings of depth {depth} and width {width} have {length} vertices; Deep LRP takes "
            f"at most {LONGEST} here. Use a smaller depth or width, such as lrp:depth=7,width=1."
        )
    root, slots, whole = bfs_orderings(graphs.indptr, graphs.indices, depth, width, MOST_ORDERINGS)
    if not whole:
        raise LimitError(
            f"The graphs have more than {MOST_ORDERINGS:,} orderings of depth {depth} and width "
            f"{width}: {graphs.graph_of[root[-1]]:,} of {len(graphs):,} graphs fit. Use a smaller "
            f"depth or width, such as --model lrp:depth={max(1, depth // 2)},width=1."
        )
    bits, bearer, pair, entry = slot_edges(slots, graphs.indptr, graphs.indices)
    owner = graphs.graph_of[root].astype(np.int64)
    out = PeerStructure()
    out.cells["ordering"] = Cells(owner, None, {"bits": bits})
    for place in range(length):
        rows = np.flatnonzero(slots[:, place] >= 0)
        out.relations[f"place {place}"] = Relation("ordering", "vertex", rows, slots[rows, place])
    each = 1 / np.bincount(root, minlength=graphs.num_nodes)[root]
    out.relations["rooted"] = Relation("vertex", "ordering", root, np.arange(len(root)), each)
    if edged:
        out.cells["bond"] = Cells(owner[bearer], entry, {"pair": pair})
        number = np.arange(len(bearer))
        out.relations["bonds"] = Relation("ordering", "bond", bearer, number)
    return out
