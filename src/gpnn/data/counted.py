"""Random graphs whose target is the number of copies of a pattern: what does a network count?

============================ =======================================================================
``counts:triangle``          triangles
``counts:4-cycle`` to        cycles of four, five and six vertices
``counts:6-cycle``
``counts:tailed-triangle``   a triangle and an edge from it to a fourth vertex
``counts:chordal-cycle``     a cycle of four vertices with a chord: two triangles that share an edge
============================ =======================================================================

Copies are subgraphs, induced or not, and every copy counts once. The graphs are those of Chen et
al. (*Can Graph Neural Networks Count Substructures?*, NeurIPS 2020): random regular graphs with 10
or 15 vertices of degree 6, or 20 or 30 vertices of degree 5, without as many random edges as there
are vertices. The target is the number of copies divided by :data:`SCALE`, its standard deviation,
so that an error of 1 is large. Vertices have no labels, so networks read their degrees.

1-WL cannot count any of these patterns, 3-WL counts all of them (Arvind et al., *On
Weisfeiler-Leman invariance*, 2020).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph.graphs import Graphs
from ..text import did_you_mean
from .raw import Raw, vertex_table

__all__ = ["PATTERNS", "SCALE", "count_copies", "counted"]

IntArray = NDArray[np.int64]

SHAPES = ((10, 6), (15, 6), (20, 5), (30, 5))
"""Vertices and degree before edges are removed."""
SCALE = {
    "triangle": 3.03,
    "4-cycle": 6.90,
    "5-cycle": 15.2,
    "6-cycle": 31.3,
    "tailed-triangle": 25.6,
    "chordal-cycle": 4.68,
}
"""Standard deviation of the number of copies over 20,000 graphs."""


def counted(pattern: str, graphs: int, seed: int = 0) -> Raw:
    """Generate random graphs with the scaled number of copies of a pattern.

    Args:
        pattern: a key of :data:`PATTERNS`.
    """
    if pattern not in PATTERNS:
        raise InputError(
            f"There is no pattern {pattern!r}.{did_you_mean(pattern, PATTERNS)} Choose one of: "
            f"{', '.join(PATTERNS)}."
        )
    rng = np.random.default_rng(seed)
    made = Graphs.concatenate([_random(rng) for _ in range(graphs)])
    kind, nodes = vertex_table(made)
    targets = {pattern: count_copies(made, pattern) / SCALE[pattern]}
    ids = tuple(f"graph {number}" for number in range(graphs))
    return Raw(made, kind, nodes, targets, ids, np.arange(graphs))


def _random(rng: np.random.Generator) -> Graphs:
    """A random regular graph without as many random edges as it has vertices."""
    import networkx as nx

    count, degree = SHAPES[rng.integers(len(SHAPES))]
    ends = np.array(nx.random_regular_graph(degree, count, seed=int(rng.integers(2**31))).edges)
    ends = rng.permutation(ends)[count:]
    both = np.concatenate([ends, ends[:, ::-1]])
    return Graphs.from_edges(both[:, 0], both[:, 1], count)


def count_copies(graphs: Graphs, pattern: str) -> NDArray[np.float64]:
    """The number of copies of a pattern in every graph."""
    return PATTERNS[pattern](graphs).astype(np.float64)


def _cycles(length: int) -> Callable[[Graphs], IntArray]:
    def count(graphs: Graphs) -> IntArray:
        from ..graph.kernels.cycles import count_cycles

        counts: IntArray = count_cycles(graphs.ptr, graphs.indptr, graphs.indices, length)
        return counts

    return count


def _tailed_triangles(graphs: Graphs) -> IntArray:
    """A triangle at v has a tail at each of the other d(v) - 2 neighbours of v."""
    from ..graph.kernels.triangles import triangles

    own = triangles(graphs.indptr, graphs.indices) * (graphs.degree - 2)
    return np.bincount(graphs.graph_of, own, len(graphs)).astype(np.int64)


def _chordal_cycles(graphs: Graphs) -> IntArray:
    """An edge {u, v} in t triangles is the chord of t (t - 1) / 2 cycles; both directions of an
    edge are summed."""
    neighbours = graphs.to_scipy()
    common = (neighbours @ neighbours).multiply(neighbours).tocoo()
    cycles = common.data * (common.data - 1) / 4
    return np.bincount(graphs.graph_of[common.row], cycles, len(graphs)).astype(np.int64)


PATTERNS: dict[str, Callable[[Graphs], IntArray]] = {
    "triangle": _cycles(3),
    "4-cycle": _cycles(4),
    "5-cycle": _cycles(5),
    "6-cycle": _cycles(6),
    "tailed-triangle": _tailed_triangles,
    "chordal-cycle": _chordal_cycles,
}
"""Pattern → function that counts its copies in every graph."""
