"""Graphs with a planted partition: the class depends on its cross edges.

==================== ===============================================================================
``planted:core``     A ring with trees of long paths. Class 0 has one edge between ring and trees,
                     class 1 has three. Sizes of ring and trees, degrees, and all neighbourhoods of
                     radius 3 have the same distribution in both classes: the core number of a
                     vertex depends on distant vertices.
``planted:degree``   Half of the vertices have degree 4 and half degree 3; every vertex has two
                     cross edges. There are four triangles: on cross edges in class 1, among
                     vertices of degree 4 in class 0. 1-WL cannot distinguish any two of these
                     graphs of the same size.
``planted:triangle`` Regular graphs of degree r = 3 or 4 with six complete graphs of r vertices.
                     The other vertices are in no triangle. The number of edges between the complete
                     graphs and the other vertices is at most 2 r + 2 in class 0 and at least 4 r in
                     class 1. 1-WL cannot distinguish any two of these graphs of the same size and
                     degree.
``planted:none``     The graphs of ``planted:core`` with random classes: nothing to learn.
==================== ===============================================================================

By default there are 200 graphs, half of them in each class (:mod:`gpnn.data.generated`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph.graphs import Graphs
from ..text import did_you_mean
from .raw import Raw, vertex_table

__all__ = ["PLANTED", "planted"]

IntArray = NDArray[np.int64]
Edges = list[tuple[int, int]]

SHORT, LONG = 4, 6
"""Lengths of the paths of ``planted:core``."""


def planted(family: str, graphs: int, seed: int = 0) -> Raw:
    """Generate graphs of a family with their classes, in random order.

    Args:
        family: ``core``, ``degree``, ``triangle`` or ``none``.
    """
    if family not in PLANTED:
        raise InputError(
            f"There is no planted family {family!r}.{did_you_mean(family, PLANTED)} Choose one of: "
            f"{', '.join(PLANTED)}."
        )
    rng = np.random.default_rng((seed, list(PLANTED).index(family)))
    classes = rng.permutation(np.arange(graphs) % 2)
    made = [_relabelled(PLANTED[family](rng, int(c)), rng) for c in classes]
    if family == "none":
        classes = rng.permutation(classes)
    batch = Graphs.concatenate(made)
    kind, nodes = vertex_table(batch)
    ids = tuple(f"{family} {number}" for number in range(graphs))
    targets = {"class": classes.astype(np.float64)}
    return Raw(batch, kind, nodes, targets, ids, np.arange(graphs))


def _relabelled(edges: Edges, rng: np.random.Generator) -> Graphs:
    ends = np.array(edges, np.int64)
    count = int(ends.max()) + 1
    ends = rng.permutation(count)[ends]
    both = np.concatenate([ends, ends[:, ::-1]])
    return Graphs.from_edges(both[:, 0], both[:, 1], count)


class _Paths:
    """A graph that grows by paths."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.edges, self.count = rng, Edges(), 1

    def length(self) -> int:
        return int(self.rng.integers(SHORT, LONG + 1))

    def path(self, start: int, length: int, end: int | None = None) -> int:
        """Add a path from a vertex to ``end``, or to a new vertex. Returns its end."""
        for step in range(length):
            last = step == length - 1 and end is not None
            new = end if last and end is not None else self.count
            self.count += not last
            self.edges.append((start, new))
            start = new
        return start


def _core(rng: np.random.Generator, one: int) -> Edges:
    """A ring and four branchings; four paths end in leaves. In class 1 the ring consists of three
    paths and a tree has a path as long as three; in class 0 the ring is this long path."""
    grow = _Paths(rng)
    far = sum(grow.length() for _ in range(3))
    if one:  # branchings at 0, a and b on the ring; a long path to the fourth
        a = grow.path(0, grow.length())
        b = grow.path(a, grow.length())
        grow.path(b, grow.length(), 0)
        fourth = grow.path(0, far)
        leaves = [a, b, fourth, fourth]
    else:  # one on the ring, three in the tree
        grow.path(0, far, 0)
        first = grow.path(0, grow.length())
        second = grow.path(first, grow.length())
        chain = bool(rng.integers(2))
        third = grow.path(second if chain else first, grow.length())
        leaves = [first, second, third, third] if chain else [second, second, third, third]
    for start in leaves:
        grow.path(start, grow.length())
    return grow.edges


def _degree(rng: np.random.Generator, one: int) -> Edges:
    """Vertices a_i and b_i, i = 0 … n - 1: b_i is adjacent to a_i, to a_(i+1) and to another b; the
    a form cycles. An edge a_i a_(i+1) forms a triangle with b_i."""
    n = int(rng.choice((12, 16, 18)))
    while True:
        order = rng.permutation(n)
        cycles = [order] if one else [c for c in np.split(order, (3, 6, 9, 12)) if len(c)]
        own = [(int(x), int(y)) for c in cycles for x, y in zip(c, np.roll(c, 1), strict=True)]
        if _beside(own, n) == (4 if one else 0):
            break
    while True:
        other = [(int(x), int(y)) for x, y in rng.permutation(n).reshape(-1, 2)]
        if not _beside(other, n):  # b_i b_(i+1) would form a triangle with a_(i+1)
            break
    across = [(n + i, j % n) for i in range(n) for j in (i, i + 1)]
    return own + [(n + x, n + y) for x, y in other] + across


def _beside(edges: Edges, n: int) -> int:
    """Number of edges between neighbours on a ring of n."""
    return sum((x - y) % n in (1, n - 1) for x, y in edges)


def _triangle(rng: np.random.Generator, one: int) -> Edges:
    """A bipartite graph of degree r = 3 or 4. Six of its vertices are replaced by complete graphs
    of r vertices, each of which takes one of the edges."""
    r, half = int(rng.integers(3, 5)), int(rng.integers(6, 8))
    n = 2 * half
    while True:
        other, turns = rng.permutation(half), rng.permutation(half)[:r].tolist()
        edges = [(x, half + int(other[(x + t) % half])) for t in turns for x in range(half)]
        chosen = set(rng.permutation(n)[:6].tolist())
        cut = sum((x in chosen) != (y in chosen) for x, y in edges)
        if cut >= 4 * r if one else cut <= 2 * r + 2:
            break
    made = Edges()
    free: dict[int, list[int]] = {}
    for k, v in enumerate(sorted(chosen)):
        free[v] = [v, *range(n + (r - 1) * k, n + (r - 1) * (k + 1))]
        made += [(x, y) for x in free[v] for y in free[v] if x < y]
    for x, y in edges:
        made.append((free[x].pop() if x in free else x, free[y].pop() if y in free else y))
    return made


PLANTED: dict[str, Callable[[np.random.Generator, int], Edges]] = {
    "core": _core,
    "degree": _degree,
    "triangle": _triangle,
    "none": _core,
}
"""The families, with functions that generate the edges of a graph of a class."""
