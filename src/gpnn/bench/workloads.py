"""Seeded graphs of the benchmark, as an ``edge_index`` of PyTorch Geometric.

A workload has both directions of every edge, sorted by (row, column) as by ``coalesce``, without
loops and duplicates. Vertex numbers are independent of the degree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Workload", "molecules", "power_law", "rmat", "shuffled", "workload"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Workload:
    """One graph, or a batch of graphs as in PyG's ``Batch``.

    Attributes:
        edge_index: both directions of every edge, with global vertex ids; [2, 2 · edges], int64.
        ptr: vertices of graph g are ``ptr[g]:ptr[g+1]``.
        slices: columns of ``edge_index`` of graph g are ``slices[g]:slices[g+1]``.
    """

    name: str
    edge_index: Tensor
    ptr: Ints
    slices: Ints

    @property
    def num_nodes(self) -> int:
        return int(self.ptr[-1])

    @property
    def num_graphs(self) -> int:
        return len(self.ptr) - 1

    @property
    def num_edges(self) -> int:
        """Number of undirected edges."""
        return self.edge_index.shape[1] // 2


def workload(name: str, edge_index: Ints, ptr: Ints) -> Workload:
    """Build a workload from arrays; the edges of several graphs must be ordered by graph."""
    import torch

    if len(ptr) == 2:
        slices = np.array([0, edge_index.shape[1]])
    else:
        slices = np.searchsorted(edge_index[0], ptr)
    return Workload(name, torch.from_numpy(np.ascontiguousarray(edge_index)), ptr, slices)


def power_law(nodes: int, edges: int, exponent: float = 2.5, seed: int = 0) -> tuple[Ints, Ints]:
    r"""Generate a Chung–Lu graph with :math:`P(\deg = d) \sim d^{-\gamma}`.

    Both ends of an edge are drawn with probability proportional to
    :math:`w_i = (i + i_0)^{-1/(\gamma - 1)}`, where :math:`i_0` keeps the expected degree of the
    first vertex at the natural cut-off :math:`n^{1/(\gamma - 1)}`; loops and duplicates are redrawn
    until there are ``edges`` distinct edges. Returns ``(edge_index, ptr)``.
    """
    power = 1 / (exponent - 1)
    cutoff = nodes**power
    first = 1.0
    for _ in range(50):
        mass = ((nodes + first) ** (1 - power) - first ** (1 - power)) / (1 - power)
        first = max(1.0, (2 * edges / (cutoff * mass)) ** (1 / power))
    low, high = first ** (1 - power), (nodes + first) ** (1 - power)

    def draw(rng: np.random.Generator, size: int) -> tuple[Ints, Ints]:
        u = rng.random((2, size))
        ends = ((low + u * (high - low)) ** (1 / (1 - power)) - first).astype(np.int64)
        np.clip(ends, 0, nodes - 1, out=ends)
        return ends[0], ends[1]

    return _distinct(draw, nodes, edges, seed)


def rmat(scale: int, edges: int, seed: int = 0) -> tuple[Ints, Ints]:
    """Generate an R-MAT graph with the Graph500 quadrant weights (0.57, 0.19, 0.19, 0.05) on
    2^scale vertices.

    Every level of the adjacency matrix picks a quadrant; loops and duplicates are redrawn.
    """

    def draw(rng: np.random.Generator, size: int) -> tuple[Ints, Ints]:
        src, dst = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for _ in range(scale):
            quadrant = np.searchsorted([0.57, 0.76, 0.95], rng.random(size), side="right")
            src = 2 * src + (quadrant >> 1)
            dst = 2 * dst + (quadrant & 1)
        return src, dst

    return _distinct(draw, 2**scale, edges, seed)


def molecules(graphs: int, seed: int = 0) -> tuple[Ints, Ints]:
    """Generate synthetic molecules: blocks of seven vertices, four in five of them a six-ring with
    a substituent, the others a small tree; each block is attached to a vertex of the previous one.

    There are about 25 vertices and 27 edges per graph, as in ogbg-molhiv.
    """
    rng = np.random.default_rng(seed)
    sizes = np.clip(rng.normal(25.5, 9, graphs).round(), 4, 90).astype(np.int64)
    ptr = np.concatenate(([0], np.cumsum(sizes)))
    graph = np.repeat(np.arange(graphs), sizes)
    vertex = np.arange(ptr[-1])
    local = vertex - ptr[graph]
    place = local % 7
    block = np.cumsum(place == 0) - 1
    ring = (rng.random(block[-1] + 1) < 0.8)[block]
    before = vertex - 1
    drawn = rng.random(len(vertex))
    tree = vertex - 1 - (drawn * np.minimum(place, 3)).astype(np.int64)
    parent = np.where(ring & (place < 6), before, tree)
    parent = np.where(ring & (place == 6), vertex - 1 - (drawn * 5).astype(np.int64), parent)
    parent = np.where(place == 0, vertex - 1 - (drawn * 7).astype(np.int64), parent)
    child = vertex[local > 0]
    closing = vertex[ring & (place == 5)]
    src = np.concatenate((child, closing))
    dst = np.concatenate((parent[local > 0], closing - 5))
    return _both_ways(src * len(vertex) + dst, len(vertex)), ptr


def shuffled(edge_index: Ints, seed: int = 0) -> Ints:
    """Return the same edges in random order."""
    order = np.random.default_rng(seed).permutation(edge_index.shape[1])
    return np.ascontiguousarray(edge_index[:, order])


def _distinct(
    draw: Callable[[np.random.Generator, int], tuple[Ints, Ints]], nodes: int, edges: int, seed: int
) -> tuple[Ints, Ints]:
    if not 0 <= edges <= nodes * (nodes - 1) // 4:
        raise InputError(
            f"{edges} edges on {nodes} vertices: give at most a quarter of n(n − 1), "
            "or drawing distinct edges takes too long."
        )
    rng = np.random.default_rng(seed)
    keys = np.empty(0, np.int64)
    while len(keys) < edges:
        a, b = draw(rng, math.ceil(1.1 * (edges - len(keys))) + 16)
        fresh = np.minimum(a, b) * nodes + np.maximum(a, b)
        keys = np.unique(np.concatenate((keys, fresh[a != b])))
    if len(keys) > edges:
        keys = rng.choice(keys, edges, replace=False, shuffle=False)
    name = rng.permutation(nodes)
    return _both_ways(name[keys // nodes] * nodes + name[keys % nodes], nodes), np.array([0, nodes])


def _both_ways(keys: Ints, nodes: int) -> Ints:
    keys = np.concatenate((keys, keys % nodes * nodes + keys // nodes))
    keys.sort()
    return np.stack((keys // nodes, keys % nodes))
