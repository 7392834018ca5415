"""DGN: the gradients of the first non-trivial Laplacian eigenvectors along the edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import LimitError
from ..graphs import Graphs
from .structure import PeerStructure, Relation

__all__ = ["directions", "eigenvectors"]

LARGEST = 2_000
SAME_EIGENVALUE = 1e-6
SMALL = 1e-8


def directions(graphs: Graphs, count: int, edged: bool) -> PeerStructure:
    r"""Relations ``average k``, ``derivative k`` and ``own k`` for the first ``count`` eigenvectors
    φ. They aggregate over vertices, or over messages along ``original`` edges if edges have labels:

    .. math::
        F_{vu} = \phi_u - \phi_v, \quad \hat F_{vu} = \frac{F_{vu}}{\sum_w |F_{vw}| + \epsilon},
        \quad B_{av} = |\hat F|, \quad B_{dx} = \hat F - \mathrm{diag}\Big(\sum_u \hat F_{vu}\Big)

    ``own`` is the diagonal of :math:`B_{dx}`.
    """
    vectors, repeated, disconnected = eigenvectors(graphs, count)
    rows, columns = graphs.rows.astype(np.int64), graphs.indices.astype(np.int64)
    notes = []
    if disconnected:
        notes.append(
            f"DGN: {disconnected:,} of {len(graphs):,} graphs are disconnected. Eigenvectors are "
            "those of every connected component by itself."
        )
    if repeated:
        which = "as the first" if count == 1 else f"among the first {count}"
        notes.append(
            f"DGN: {repeated:,} of {len(graphs):,} graphs have a repeated eigenvalue {which}: for "
            "these, directions depend on the order of the vertices."
        )
    out = PeerStructure(notes=tuple(notes))
    number, every = np.arange(len(rows)), np.arange(graphs.num_nodes)
    into, column = ("original", number) if edged else ("vertex", columns)
    if edged:
        out.connect(graphs, "vertex", rows, columns, number, True, "original")
    for k in range(1, count + 1):
        field = vectors[columns, k - 1] - vectors[rows, k - 1]
        field[np.abs(field) < SMALL] = 0
        total = np.bincount(rows, np.abs(field), graphs.num_nodes)
        field = field / (total[rows] + SMALL)
        own = -np.bincount(rows, field, graphs.num_nodes).astype(np.float64)
        size: NDArray[np.float64] = np.abs(field)
        for name, weight in (("average", size), ("derivative", field)):
            out.relations[f"{name} {k}"] = Relation("vertex", into, rows, column, weight)
        out.relations[f"own {k}"] = Relation("vertex", "vertex", every, every, own, symmetric=True)
    return out


def eigenvectors(graphs: Graphs, count: int) -> tuple[NDArray[np.float64], int, int]:
    """``(vectors, repeated, disconnected)``: eigenvectors 2, 3 … of the Laplacian D - A of every
    connected component, [vertices, count], zero if a component has fewer; the number of graphs
    with a repeated eigenvalue among them; and the number of disconnected graphs."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components
    from threadpoolctl import threadpool_limits

    n = graphs.num_nodes
    adjacency = csr_array((np.ones(len(graphs.indices)), graphs.indices, graphs.indptr), (n, n))
    parts, label = connected_components(adjacency, directed=False)
    order = np.argsort(label, kind="stable")
    sizes = np.bincount(label, minlength=parts)
    if sizes.max(initial=0) > LARGEST:
        raise LimitError(
            f"DGN needs the eigenvectors of a component of {sizes.max():,} vertices; it takes at "
            f"most {LARGEST:,}. Use smaller graphs or another model."
        )
    place = np.empty(n, np.int64)
    begin = np.cumsum(sizes) - sizes
    place[order] = np.arange(n) - begin.repeat(sizes)
    out, repeated = np.zeros((n, count)), np.zeros(len(graphs), bool)
    rows, columns = graphs.rows, graphs.indices
    rank = np.empty(parts, np.int64)
    for size in np.unique(sizes[sizes > 1]).tolist():
        alike = np.flatnonzero(sizes == size)
        for chosen in np.array_split(alike, -(-len(alike) * size**2 // 10_000_000)):
            rank[:] = -1
            rank[chosen] = np.arange(len(chosen))
            inside = rank[label[rows]] >= 0
            matrix = np.zeros((len(chosen), size, size))
            of = rank[label[rows[inside]]], place[rows[inside]]
            matrix[(*of, place[columns[inside]])] = -1
            np.add.at(matrix, (*of, of[1]), 1)
            with threadpool_limits(1, "blas"):  # threads slow small matrices down
                values, vectors = np.linalg.eigh(matrix)
            own = begin[chosen][:, None] + np.arange(size)
            taken = min(count, size - 1)
            out[order[own], :taken] = vectors[:, :, 1 : 1 + taken]
            gaps = np.diff(values[:, 1 : 2 + taken]) < SAME_EIGENVALUE
            repeated[graphs.graph_of[order[own[gaps.any(1), 0]]]] = True
    graph_of_part = graphs.graph_of[order[begin]] if parts else begin
    counts = np.bincount(graph_of_part, minlength=len(graphs))
    return out, int(repeated.sum()), int((counts > 1).sum())
