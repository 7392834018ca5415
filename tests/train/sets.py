"""Small labelled sets of random graphs, and replicas with unequal folds, for the engine's tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from gpnn.data.raw import FEATURES, LABELS, Raw
from gpnn.data.samples import Samples, encode_samples
from gpnn.data.tasks import Task
from gpnn.graph.graphs import Graphs
from gpnn.graph.kernels.csr import edge_positions
from gpnn.train.replica import Replica

__all__ = ["edge_featured", "node_samples", "random_graph", "replica", "samples", "some_replicas"]


def random_graph(rng: np.random.Generator, n: int, share: float) -> Graphs:
    """Vertex labels 0 to 2, edge labels 0 to 2, each pair an edge with the chance given."""
    src, dst = np.triu_indices(n, 1)
    keep = rng.random(len(src)) < share
    return Graphs.from_edges(
        src[keep],
        dst[keep],
        n,
        node_labels=rng.integers(0, 3, n),
        edge_labels=rng.integers(0, 3, int(keep.sum())),
    )


def samples(task: str = "classification", *, seed: int = 0, floats: bool = False) -> Samples:
    """Twenty graphs of 5 to 9 vertices, then one without edges and one with a single vertex."""
    rng = np.random.default_rng(seed)
    parts = [random_graph(rng, int(n), 0.4) for n in rng.integers(5, 10, 20)]
    parts += [random_graph(rng, 3, 0.0), random_graph(rng, 1, 0.0)]
    graphs, count = Graphs.concatenate(parts), len(parts)
    nodes: Any = rng.normal(size=(graphs.num_nodes, 3)) if floats else graphs.node_labels[:, None]
    targets: dict[str, Any]
    if task == Task.CLASSIFICATION:
        targets = {"class": np.arange(count) % 3 * 1.0}
    elif task == Task.MULTITASK:
        coins = rng.integers(0, 2, (3, count)) * 1.0
        coins[rng.random(coins.shape) < 0.25] = np.nan
        targets = {f"task {k}": column for k, column in enumerate(coins)}
    else:
        numbers = rng.normal(size=(2, count)) * [[1.0], [20.0]] + [[3.0], [-50.0]]
        numbers[1, ::4] = np.nan
        targets = {f"target {k}": column for k, column in enumerate(numbers)}
    raw = Raw(
        graphs,
        FEATURES if floats else LABELS,
        nodes,
        targets,
        tuple(map(str, range(count))),
        np.arange(count),
    )
    return encode_samples(raw, Task(task))


def edge_featured() -> Samples:
    """The same graphs with two floats on every edge instead of a label."""
    plain = samples()
    features = torch.rand(len(plain.graphs.indices), 2, generator=torch.Generator().manual_seed(0))
    rows, columns = plain.graphs.rows, plain.graphs.indices.astype(np.int64)
    back = edge_positions(plain.graphs.indptr, plain.graphs.indices, columns, rows)
    features = features + features[torch.from_numpy(back)]
    encoder = replace(plain.encoder, edges=(), edge_features=2)
    return replace(plain, encoder=encoder, edge_labels=None, edge_features=features)


def node_samples(seed: int = 0, n: int = 30) -> Samples:
    """One graph with float features, three classes, a vertex without edges."""
    rng = np.random.default_rng(seed)
    src, dst = np.triu_indices(n - 1, 1)
    keep = rng.random(len(src)) < 0.12
    raw = Raw(
        Graphs.from_edges(src[keep], dst[keep], n),
        FEATURES,
        rng.normal(size=(n, 4)),
        {"class": rng.integers(0, 3, n) * 1.0},
        tuple(map(str, range(n))),
        np.arange(n),
        node_level=True,
    )
    return encode_samples(raw, Task.NODE_CLASSIFICATION)


def replica(count: int, seed: int, valid: int = 4, test: int = 5, **options: Any) -> Replica:
    """A random fold of things 0 to count - 1; what is neither valid nor test trains."""
    order = np.random.default_rng(100 + seed).permutation(count)
    cuts = (order[valid + test :], order[:valid], order[valid : valid + test])
    return Replica(*cuts, seed=seed, **options)


def some_replicas(count: int, dropouts: Sequence[float] = (0, 0, 0)) -> list[Replica]:
    """Three folds of different sizes, the last without a validation part, with settings of their
    own."""
    return [
        replica(count, 3, lr=0.01, dropout=dropouts[0]),
        replica(count, 2**31 - 1, 3, 8, lr=0.02, weight_decay=1e-2, dropout=dropouts[1]),
        replica(count, 0, 0, 3, lr=0.005, dropout=dropouts[2]),
    ]
