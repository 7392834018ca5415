"""Canonical forms, automorphism orbits and isomorphism of small graphs, exact or "unknown".

A canonical form is a relabelling under which two graphs become equal if and only if they are
isomorphic. Only vertex colours and edge labels passed as arguments are used; the labels of a
:class:`Graphs` are ignored otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .graphs import Graphs

__all__ = [
    "BACKENDS",
    "BUDGET",
    "Canonical",
    "canonical_graph6",
    "canonical_labelling",
    "isomorphic",
]

IntArray = NDArray[np.int64]

BUDGET = 200_000_000
"""Default work per graph, in visited edges and vertices (some seconds)."""

BACKENDS = {"search": 1, "bliss": 2}
"""Backends for canonical forms, and the salts of their digests."""


@dataclass(frozen=True, slots=True, eq=False)
class Canonical:
    """Canonical labellings of a set of graphs.

    Attributes:
        position: position of every vertex in the canonical order of its graph; shape [vertices].
        orbit: automorphism orbit of every vertex, numbered by smallest position, so that
            isomorphic graphs have the same numbering; shape [vertices].
        digest: 128-bit hash of every canonical form, uint64 of shape [graphs, 2]. The same in every
            run and on every machine; not comparable between backends.
        exact: False if the budget was exceeded; shape [graphs]. Position, orbit and digest of such
            a graph come from an unfinished search and cannot be compared with other graphs.
    """

    position: IntArray
    orbit: IntArray
    digest: NDArray[np.uint64]
    exact: NDArray[np.bool_]


def canonical_labelling(
    graphs: Graphs,
    colours: Any = None,
    edge_labels: Any = None,
    *,
    budget: int = BUDGET,
    backend: str = "search",
) -> Canonical:
    """Canonical order, orbits and digest of every graph.

    Args:
        graphs: one or many graphs.
        colours: optional integer per vertex that isomorphisms must preserve.
        edge_labels: optional integer per entry of ``graphs.indices``, equal in both directions.
        budget: maximum work per graph, after which the search stops.
        backend: ``"search"``, built in; or ``"bliss"``, through igraph if installed, which supports
            neither edge labels nor a budget. The two choose different canonical orders, so the
            backend is hashed into the digest: never compare digests of different backends.
    """
    from .kernels import canon_set

    if backend not in BACKENDS:
        raise InputError(f"Unknown backend {backend!r}. Choose one of: {', '.join(BACKENDS)}.")
    if budget < 1:
        raise InputError(f"The budget is work per graph and must be positive; got {budget}.")
    n = graphs.num_nodes
    painted = np.zeros(n, np.int64) if colours is None else _checked(colours, n, "colours")
    labels = _edge_labels(graphs, edge_labels)
    position, root = np.empty(n, np.int64), np.empty(n, np.int64)
    exact = np.ones(len(graphs), np.bool_)
    csr = graphs.ptr, graphs.indptr, graphs.indices
    if backend == "search":
        canon_set.canonical_set(*csr, painted, labels, budget, position, root, exact)
    else:
        if edge_labels is not None:
            raise InputError('BLISS does not support edge labels. Use backend="search" for them.')
        from .bliss import label

        label(graphs, painted, position, root)
    orbit, digest = np.empty(n, np.int64), np.empty((len(graphs), 2), np.uint64)
    salt = np.uint64(BACKENDS[backend])
    canon_set.describe_set(*csr, painted, labels, salt, position, root, orbit, digest)
    return Canonical(position, orbit, digest, exact)


def isomorphic(
    g: Graphs,
    h: Graphs,
    colours_g: Any = None,
    colours_h: Any = None,
    edge_labels_g: Any = None,
    edge_labels_h: Any = None,
    *,
    budget: int = BUDGET,
    backend: str = "search",
) -> bool | None:
    """Whether two graphs are isomorphic; None if the budget was exceeded.

    Colours and edge labels are as in :func:`canonical_labelling`; give them for both graphs or for
    neither.
    """
    for what, one, other in (
        ("colours", colours_g, colours_h),
        ("edge labels", edge_labels_g, edge_labels_h),
    ):
        if (one is None) != (other is None):
            raise InputError(
                f"Only one of the two graphs has {what}. Give them for both or neither."
            )
    sides = [
        (
            _single(graph),
            np.zeros(graph.num_nodes, np.int64)
            if colours is None
            else _checked(colours, graph.num_nodes, "colours"),
            _edge_labels(graph, labels),
        )
        for graph, colours, labels in ((g, colours_g, edge_labels_g), (h, colours_h, edge_labels_h))
    ]
    if not _equal([_counts(*side) for side in sides]):
        return False
    labellings = [
        canonical_labelling(
            graph, colours, labels if len(labels) else None, budget=budget, backend=backend
        )
        for graph, colours, labels in sides
    ]
    if not all(c.exact[0] for c in labellings):
        return None
    return _equal([_form(*side, c.position) for side, c in zip(sides, labellings, strict=True)])


def canonical_graph6(graph: Graphs, *, budget: int = BUDGET) -> str:
    """The graph6 string of one graph in canonical order; colours and labels are ignored."""
    labelling = canonical_labelling(_single(graph), budget=budget)
    n = graph.num_nodes
    if not labelling.exact[0]:
        raise InputError(
            f"The canonical form of a graph with {n} vertices was not found within the budget of "
            f"{budget}. Give a larger budget."
        )
    if n > 258_047:
        raise InputError(f"graph6 strings are for at most 258047 vertices here; got {n}.")
    head = [n] if n <= 62 else [63, n >> 12, (n >> 6) & 63, n & 63]
    bits = np.zeros(-(-(n * (n - 1) // 2) // 6) * 6, np.uint8)
    row, column = labelling.position[graph.rows], labelling.position[graph.indices]
    below = column < row
    bits[row[below] * (row[below] - 1) // 2 + column[below]] = 1
    body = bits.reshape(-1, 6) @ (1 << np.arange(5, -1, -1))
    return bytes([63 + int(x) for x in head] + [63 + int(x) for x in body]).decode("ascii")


def _counts(graph: Graphs, colours: IntArray, labels: IntArray) -> list[IntArray]:
    """Cheap invariants: the multisets of (colour, degree) and of edge labels, number of edges."""
    pairs = np.stack([colours, graph.degree])
    return [pairs[:, np.lexsort(pairs)], np.array([len(graph.indices)]), np.sort(labels)]


def _form(graph: Graphs, colours: IntArray, labels: IntArray, position: IntArray) -> list[IntArray]:
    """The relabelled graph: sorted vertex colours, edges, and edge labels."""
    row, column = position[graph.rows], position[graph.indices]
    by_row = np.lexsort((column, row))
    return [
        colours[np.argsort(position)],
        np.stack([row[by_row], column[by_row]]),
        labels[by_row] if len(labels) else labels,
    ]


def _equal(forms: list[list[IntArray]]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(*forms, strict=True))


def _single(graph: Graphs) -> Graphs:
    if len(graph) != 1:
        raise InputError(
            f"One graph is needed here; got a set of {len(graph)}. Pick one: graphs[i]."
        )
    return graph


def _checked(values: Any, length: int, what: str) -> IntArray:
    array = np.asarray(values)
    if array.shape != (length,) or (array.dtype.kind not in "iub" and length):
        raise InputError(
            f"The {what} must be {length} whole numbers; got dtype {array.dtype} and shape "
            f"{array.shape}."
        )
    return array.astype(np.int64)


def _edge_labels(graphs: Graphs, values: Any) -> IntArray:
    """One label per entry of ``indices``, checked to be symmetric; empty if there are none."""
    from .kernels.csr import edge_positions

    if values is None:
        return np.zeros(0, np.int64)
    labels = _checked(values, len(graphs.indices), "edge labels")
    rows = graphs.rows
    back = edge_positions(graphs.indptr, graphs.indices, graphs.indices, rows)
    wrong = np.flatnonzero(labels[back] != labels)
    if len(wrong):
        e = int(wrong[0])
        raise InputError(
            f"The edge between {rows[e]} and {graphs.indices[e]} has labels {labels[e]} and "
            f"{labels[back[e]]} in its two directions. Give both directions one label."
        )
    return labels
