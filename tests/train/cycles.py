"""A small labelled set: rings against rings with a chord, with vertex and edge labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpnn.data.raw import Raw, vertex_table
from gpnn.data.samples import Samples, encode_samples
from gpnn.graph.graphs import Graphs


def raw(count: int = 24, seed: int = 0, **changes: Any) -> Raw:
    rng = np.random.default_rng(seed)
    graphs = []
    for number in range(count):
        n = int(rng.integers(5, 10))
        src = np.arange(n)
        dst = (src + 1) % n
        if number % 2:
            src, dst = np.append(src, 0), np.append(dst, 2)
        graphs.append(
            Graphs.from_edges(
                src,
                dst,
                n,
                node_labels=rng.integers(3, 6, n),
                edge_labels=rng.integers(0, 2, len(src)),
            )
        )
    joined = Graphs.concatenate(graphs)
    kind, nodes = vertex_table(joined)
    targets = {"chord": np.arange(count, dtype=np.float64) % 2}
    ids = tuple(f"g{number}" for number in range(count))
    return replace(Raw(joined, kind, nodes, targets, ids, np.arange(count)), **changes)


def samples(count: int = 24, seed: int = 0, **changes: Any) -> Samples:
    return encode_samples(raw(count, seed, **changes))
