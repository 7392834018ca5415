"""Named pairs of graphs for comparing methods, built from their definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..errors import InputError
from ..graph.graphs import Graphs

__all__ = ["NAMED_PAIRS", "NamedPair", "named_pair"]

Edges = Iterable[tuple[int, int]]


@dataclass(frozen=True)
class NamedPair:
    """Two graphs with a short description."""

    name: str
    left: str
    right: str
    story: str
    build: Callable[[], tuple[Graphs, Graphs]]


def _graph(edges: Edges, n: int) -> Graphs:
    array = np.array(list(edges), np.int64).reshape(-1, 2)
    return Graphs.from_edges(array[:, 0], array[:, 1], n)


def _cycle(n: int, first: int = 0) -> list[tuple[int, int]]:
    return [(first + i, first + (i + 1) % n) for i in range(n)]


def _six_ring_and_two_triangles() -> tuple[Graphs, Graphs]:
    return _graph(_cycle(6), 6), _graph(_cycle(3) + _cycle(3, 3), 6)


def _decalin_and_bicyclopentyl() -> tuple[Graphs, Graphs]:
    fused = [*_cycle(10), (0, 5)]
    joined = [*_cycle(5), *_cycle(5, 5), (0, 5)]
    return _graph(fused, 10), _graph(joined, 10)


def _shrikhande_and_rook() -> tuple[Graphs, Graphs]:
    """Both on Z4 × Z4. Shrikhande: differences ±(0,1), ±(1,0), ±(1,1); rook: one equal
    coordinate."""
    steps = [(0, 1), (1, 0), (1, 1)]
    cells = [(a, b) for a in range(4) for b in range(4)]
    number = {cell: i for i, cell in enumerate(cells)}
    shrikhande = [
        (number[a, b], number[(a + s) % 4, (b + t) % 4]) for a, b in cells for s, t in steps
    ]
    rook = [
        (number[x], number[y]) for x, y in combinations(cells, 2) if x[0] == y[0] or x[1] == y[1]
    ]
    return _graph(shrikhande, 16), _graph(rook, 16)


def _skip_links(n: int, skip: int) -> Graphs:
    """A cycle of n vertices with an extra edge from every vertex i to vertex i + ``skip``."""
    return _graph(_cycle(n) + [(i, (i + skip) % n) for i in range(n)], n)


def _cfi(base: list[tuple[int, int]], twisted: bool) -> Graphs:
    """Cai, Fürer and Immerman's graph over ``base``.

    A base vertex v becomes one vertex for every even subset S of its edges; a base edge e becomes
    two vertices e₀, e₁; (v, S) is adjacent to e₁ for e ∈ S and to e₀ for the other edges e at v.
    The twisted graph uses the odd subsets at one vertex.
    """
    number = {(e, side): 2 * e + side for e in range(len(base)) for side in (0, 1)}
    edges = []
    n = len(number)
    for v in sorted({v for edge in base for v in edge}):
        at = [e for e, edge in enumerate(base) if v in edge]
        odd = twisted and v == 0
        for size in range(int(odd), len(at) + 1, 2):
            for chosen in combinations(at, size):
                edges += [(n, number[e, int(e in chosen)]) for e in at]
                n += 1
    return _graph(edges, n)


def _cfi_pair() -> tuple[Graphs, Graphs]:
    complete = list(combinations(range(4), 2))
    return _cfi(complete, False), _cfi(complete, True)


def _graph6_pair(left: str, right: str) -> Callable[[], tuple[Graphs, Graphs]]:
    def build() -> tuple[Graphs, Graphs]:
        from ..graph.readers.graph6 import parse_graph6

        return parse_graph6(left), parse_graph6(right)

    return build


NAMED_PAIRS = {
    pair.name: pair
    for pair in (
        NamedPair(
            "rings",
            "C6",
            "2 × C3",
            "The classic: every vertex has degree 2, so 1-WL sees one colour in both.",
            _six_ring_and_two_triangles,
        ),
        NamedPair(
            "decalin",
            "decalin",
            "bicyclopentyl",
            "Two molecules of ten carbons that 1-WL does not distinguish: fused six-rings, joined "
            "five-rings.",
            _decalin_and_bicyclopentyl,
        ),
        NamedPair(
            "shrikhande",
            "Shrikhande",
            "4 × 4 rook",
            "Strongly regular with equal parameters (16, 6, 2, 2), so that not even 3-WL "
            "distinguishes them.",
            _shrikhande_and_rook,
        ),
        NamedPair(
            "csl",
            "CSL(41, 2)",
            "CSL(41, 3)",
            "Cycles with skip links of length 2 and 3: 4-regular, equal for 1-WL.",
            lambda: (_skip_links(41, 2), _skip_links(41, 3)),
        ),
        NamedPair(
            "cfi",
            "CFI(K4)",
            "twisted CFI(K4)",
            "Cai, Fürer and Immerman's construction over K4: beyond 3-WL, apart for 4-WL.",
            _cfi_pair,
        ),
        NamedPair(
            "figure-a",
            "G1",
            "H1",
            "The smallest graphs that are interaction-isomorphic by degree and not isomorphic.",
            _graph6_pair("Fh_gG", "FMo`?"),
        ),
        NamedPair(
            "figure-b",
            "G2",
            "H2",
            "The smallest graphs that are partition-isomorphic by degree and not "
            "interaction-isomorphic.",
            _graph6_pair("EsCW", "E]_O"),
        ),
    )
}


def named_pair(name: str) -> tuple[NamedPair, Graphs, Graphs]:
    """The pair of that name and its two graphs."""
    pair = NAMED_PAIRS.get(name)
    if pair is None:
        raise InputError(f"There is no pair '{name}'. Choose one of: {', '.join(NAMED_PAIRS)}.")
    left, right = pair.build()
    return pair, left, right
