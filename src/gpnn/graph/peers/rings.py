"""CIN: vertices, edges and induced rings as cells of dimension 0, 1 and 2."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import LimitError
from ..graphs import Graphs
from .structure import Cells, PeerStructure, Relation

__all__ = ["cell_complex"]

IntArray = NDArray[np.int64]

MOST_RINGS = 20_000_000
WORK = 2_000_000_000
"""Maximum number of steps of the ring search, about ten seconds."""


def cell_complex(graphs: Graphs, longest: int) -> PeerStructure:
    """Cells ``edge`` and ``ring`` in addition to the vertices, and their adjacencies.

    ``edge boundary`` and ``ring boundary`` are the boundary cells, one dimension lower. The two
    vertices of an edge are upper-adjacent, and so are any two edges of a ring: every such ordered
    pair is a message (``vertex up``, ``edge up``) ``from`` one cell, ``via`` the cell above, ``to``
    the other. ``edges of`` and ``rings of`` are the edges and rings of a graph.

    Args:
        longest: maximum number of vertices of a ring.
    """
    from ..kernels.rings import induced_rings

    out = PeerStructure()
    rows, columns = graphs.rows.astype(np.int64), graphs.indices.astype(np.int64)
    upward = np.flatnonzero(rows < columns)
    ends = np.stack([rows[upward], columns[upward]], 1)
    of_graph = graphs.graph_of.astype(np.int64)
    out.cells["edge"] = Cells(of_graph[ends[:, 0]], upward)
    number = np.arange(len(ends))
    out.relations["edge boundary"] = Relation("edge", "vertex", number.repeat(2), ends.ravel())
    sender, receiver = np.concatenate([ends, ends[:, ::-1]]).T
    _add_upper(out, "vertex", "edge", sender, receiver, np.tile(number, 2), of_graph)
    stops, members, done = induced_rings(
        graphs.ptr, graphs.indptr, graphs.indices, longest, MOST_RINGS, WORK
    )
    if done < len(graphs):
        raise LimitError(
            f"CIN: graph {done} has too many induced rings of up to {longest} vertices, or paths "
            f"to look at: the search stopped after {len(stops):,} rings. "
            + (
                f"Use shorter rings, such as --model cin:rings={min(longest - 1, 6)}, or leave"
                if longest > 3
                else "Leave"
            )
            + " out the densest graphs."
        )
    starts = np.concatenate(([0], stops))[:-1].astype(np.int64)
    sizes = stops - starts
    ring = np.arange(len(stops)).repeat(sizes)
    following = np.arange(len(members)) + 1
    following[stops - 1] = starts
    low, high = np.sort(np.stack([members, members[following]]), 0)
    n = graphs.num_nodes
    edge = np.searchsorted(ends[:, 0] * n + ends[:, 1], low * n + high)
    out.cells["ring"] = Cells(of_graph[members[starts]] if len(starts) else starts)
    out.relations["ring boundary"] = Relation("ring", "edge", ring, edge)
    for kind in ("edge", "ring"):
        graph = out.cells[kind].graph
        out.relations[f"{kind}s of"] = Relation("graph", kind, graph, np.arange(len(graph)))
    mine, other = _ordered_pairs(starts, sizes)
    _add_upper(out, "edge", "ring", edge[other], edge[mine], ring[mine], out.cells["edge"].graph)
    return out


def _add_upper(
    out: PeerStructure, kind: str, above: str, sender: IntArray, receiver: IntArray, via: IntArray,
    owner: IntArray,
) -> None:  # fmt: skip
    order = np.argsort(owner[receiver], kind="stable")
    sender, receiver, via = sender[order], receiver[order], via[order]
    name, number = f"{kind} up", np.arange(len(order))
    out.cells[name] = Cells(owner[receiver])
    out.relations[f"{name} from"] = Relation(name, kind, number, sender)
    out.relations[f"{name} via"] = Relation(name, above, number, via)
    out.relations[f"{name} to"] = Relation(kind, name, receiver, number)


def _ordered_pairs(starts: IntArray, sizes: IntArray) -> tuple[IntArray, IntArray]:
    """All ordered pairs of different positions within every run of positions."""
    mine = np.repeat(np.arange(sizes.sum()), sizes.repeat(sizes))
    first = starts.repeat(sizes).repeat(sizes.repeat(sizes))
    many = sizes.repeat(sizes)
    place = np.arange(len(mine)) - (np.cumsum(many) - many).repeat(many)
    other = first + place
    return mine[mine != other], other[mine != other]
