"""Why a vertex is in its part: one sentence with the numbers that the scheme uses."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..graph.graphs import Graphs
from ..graph.partition import Partition, partition
from ..graph.registry import mixed_schemes

__all__ = ["reasons"]

IntArray = NDArray[np.int64]
_Say = Callable[[Partition], list[str]]


def reasons(cut: Partition) -> list[str]:
    """Return one sentence per vertex; for ``a+b``, the sentences of a and b."""
    names = mixed_schemes(cut.scheme.name) or cut.scheme.name.split("+")
    if len(names) > 1:
        texts = [reasons(partition(cut.graphs, name)) for name in names]
        return ["; ".join(lines) for lines in zip(*texts, strict=True)]
    for pattern, say in _SAYINGS:
        if re.fullmatch(pattern, names[0]):
            return say(cut)
    return [f"{cut.scheme.name} {cut.labels[p]}" for p in cut.part.tolist()]


def _trivial(cut: Partition) -> list[str]:
    return ["every vertex lies in the one part"] * cut.graphs.num_nodes


def _degree(cut: Partition) -> list[str]:
    return [f"degree {row[0]}" for row in cut.colours.tolist()]


def _core(cut: Partition) -> list[str]:
    return [f"core number {k}: in the {k}-core, not in the {k + 1}-core" for k in _first(cut)]


def _core_degree(cut: Partition) -> list[str]:
    inside = _inside(cut.graphs, cut.colours[:, 0]).tolist()
    return [
        f"core number {k}, degree inside the {k}-core {degree}"
        for k, degree in zip(_first(cut), inside, strict=True)
    ]


def _onion(cut: Partition) -> list[str]:
    return [
        f"core number {k}, peeled away in round {layer} (onion layer)"
        for k, layer in cut.colours.tolist()
    ]


def _triangle(cut: Partition) -> list[str]:
    return [f"in {t} triangle{'s' * (t != 1)}" for t in _first(cut)]


def _wl(cut: Partition) -> list[str]:
    rounds = cut.scheme.name.removeprefix("wl-")
    degrees = cut.graphs.degree
    rows = np.split(degrees[cut.graphs.indices], cut.graphs.indptr[1:-1])
    return [
        f"1-WL colour {cut.labels[p]} after {rounds} rounds; degree {len(row)}, neighbours of "
        f"degree {', '.join(map(str, sorted(row.tolist()))) or 'none'}"
        for p, row in zip(cut.part.tolist(), rows, strict=True)
    ]


def _ego(cut: Partition) -> list[str]:
    radius = int(cut.scheme.name.split("-")[1])
    texts = []
    for p, (vertices, edges) in zip(cut.part.tolist(), _egos(cut.graphs, radius), strict=True):
        hops = f"{radius} hop{'s' * (radius != 1)}"
        texts.append(f"{vertices} vertices and {edges} edges within {hops}, shape {cut.labels[p]}")
    return texts


def _orbit(cut: Partition) -> list[str]:
    own = cut.graphs.graph_of * cut.num_parts + cut.part
    sizes = np.bincount(own)[own].tolist()
    alone = "no symmetry of the graph moves it"
    return [alone if k == 1 else f"one of {k} vertices that symmetries exchange" for k in sizes]


_SAYINGS: tuple[tuple[str, _Say], ...] = (
    ("trivial", _trivial),
    ("degree", _degree),
    ("core", _core),
    ("core-degree(-literal)?", _core_degree),
    ("core-onion", _onion),
    ("triangle", _triangle),
    (r"wl-\d+", _wl),
    (r"ego-\d(-fast)?", _ego),
    ("orbit", _orbit),
)


def _first(cut: Partition) -> list[int]:
    column: list[int] = cut.colours[:, 0].tolist()
    return column


def _inside(graphs: Graphs, core: IntArray) -> NDArray[np.int32]:
    from ..graph.kernels.shells import degree_inside_core

    degree: NDArray[np.int32] = degree_inside_core(graphs.indptr, graphs.indices, core)
    return degree


def _egos(graphs: Graphs, radius: int) -> list[tuple[int, int]]:
    """Count the vertices and edges within ``radius`` hops of every vertex."""
    from scipy.sparse import eye_array

    adjacency = graphs.to_scipy()
    step = adjacency + eye_array(graphs.num_nodes, format="csr")
    ball = step
    for _ in range(radius - 1):
        ball = ball @ step
    ball.data[:] = 1
    edges = (ball @ adjacency).multiply(ball).sum(axis=1) / 2
    return list(zip(np.diff(ball.indptr).tolist(), edges.astype(int).tolist(), strict=True))
