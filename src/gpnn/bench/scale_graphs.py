"""The rows of ``gpnn bench scale`` on one graph: generated graphs, set-ups and timed calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["SAGE", "SAMPLED", "SPARSE", "WORKLOADS", "Workload"]

SPARSE, SAMPLED, SAGE = "degrees 1 to 8", "10 sampled steps", "PyG's SAGEConv"
"""Names in rows that are compared with each other."""

Call = Callable[[], int]
"""The timed function; returns the number of processed items, from which the rate is computed."""


@dataclass(frozen=True)
class Workload:
    """A row to be measured.

    Attributes:
        task, workload, size, unit, way: the task, its data, the size of the data in ``unit``, and
            the method.
        make: returns the timed function for a size; it may prepare and warm up.
        quick: whether the row is small enough for ``--quick``.
        limit: maximum seconds and megabytes, or ``None``.
    """

    task: str
    workload: str
    size: int
    way: str
    make: Callable[[int], Call]
    unit: str = "edges"
    quick: bool = False
    limit: tuple[float | None, float | None] = (None, None)

    @property
    def name(self) -> str:
        return f"{self.task}, {self.workload}, {self.size:,} {self.unit}, {self.way}"


def _graph(edge_index: np.ndarray, nodes: int) -> Any:
    from ..graph.graphs import Graphs

    return Graphs.from_edges(edge_index[0], edge_index[1], nodes)


def _power_law(size: int) -> Any:
    """Generate a power-law graph: 170,000 vertices for 1.2 M edges as in ogbn-arxiv, 1 M vertices
    for 8 M edges, else 7 edges per vertex."""
    from .workloads import power_law

    nodes = {1_200_000: 170_000, 8_000_000: 1_000_000}.get(size, size // 7)
    return _graph(power_law(nodes, size)[0], nodes)


def _hub(size: int) -> Any:
    """Generate a graph in which a quarter of the edges end in one vertex."""
    rng = np.random.default_rng(0)
    nodes, arms = size // 2, size // 4
    ends = rng.integers(1, nodes, (2, size - arms + size // 1_000))
    star = rng.choice(np.arange(1, nodes), arms, replace=False)
    return _graph(np.concatenate([[np.zeros(arms, int), star], ends], 1), nodes)


def _sparse(size: int) -> Any:
    """Generate a graph with degrees 1 to 8 by a random matching of stubs."""
    rng = np.random.default_rng(0)
    nodes = 2 * size * 2 // 9
    stubs = rng.permutation(np.repeat(np.arange(nodes), rng.integers(1, 9, nodes)))
    return _graph(stubs[: len(stubs) // 2 * 2].reshape(2, -1), nodes)


def _prepare(build: Callable[[int], Any], **structure: Any) -> Callable[[int], Call]:
    """Compute the partition and the classes of a graph, as for training."""

    def make(size: int) -> Call:
        from ..graph.structure import Structure
        from ..nn.prepare import prepare_graphs

        chosen = Structure(**structure)
        prepare_graphs(build(1_000), chosen)
        graph = build(size)

        def call() -> int:
            prepare_graphs(graph, chosen)
            return len(graph.indices) // 2

        return call

    return make


def _step(
    build: Callable[[int], Any], at_once: bool = False, **structure: Any
) -> Callable[[int], Call]:
    """Run one forward and backward pass over the whole graph with width 16, after two passes of
    warm-up; ``at_once`` keeps all tuples in memory."""

    def make(size: int) -> Call:
        import torch

        from ..nn import memory

        if at_once:
            memory.MOST = 2**62
        from ..graph.structure import Structure
        from ..nn.model import GPNN
        from ..nn.prepare import prepare_graphs
        from ..train.memory import keep_freed_memory

        def pass_over(graph: Any, trains: bool = True) -> Call:
            ready = prepare_graphs(
                graph, Structure(**structure), x=torch.ones(graph.num_nodes, 4), node_level=True
            )
            model = GPNN(base="gin", outputs=2, hidden=16, **ready.options)
            batch = ready.batch(edges=False)
            if trains and memory.fits_often(batch, 16, next(model.parameters())):
                keep_freed_memory(True)  # as in training

            def call() -> int:
                model(batch).square().mean().backward()
                return len(graph.indices) // 2

            return call

        pass_over(build(1_000), trains=False)()
        call = pass_over(build(size))
        for _ in range(2):  # the first pass allocates memory from the system
            call()
        return call

    return make


BLOCKS = 10
"""Blocks per row of sampled training; each has 1,024 roots with 15 and 10 neighbours."""


def _blocks(size: int) -> tuple[Any, Any]:
    """Return a prepared power-law graph with 64 features, and a sampler of blocks."""
    import torch

    from ..graph.structure import Structure
    from ..nn.prepare import prepare_graphs
    from ..nn.sampled import Sampler

    graph, structure = _power_law(size), Structure("core", "cross", layers=1)
    x = torch.randn(graph.num_nodes, 64, generator=torch.Generator().manual_seed(0))
    ready = prepare_graphs(graph, structure, x=x, node_level=True)
    return ready, Sampler(ready, (15, 10))


def _sampled(size: int) -> Call:
    """Draw blocks and run a forward and backward pass over each, with width 64."""
    import torch

    from ..nn.model import GPNN

    ready, sampler = _blocks(size)
    torch.manual_seed(0)
    model = GPNN(base=None, outputs=8, hidden=64, component_feature=False, **ready.options)
    order = np.random.default_rng(0).permutation(ready.graphs.num_nodes)

    def call(blocks: int = BLOCKS) -> int:
        for number in range(blocks):
            roots = order[1_024 * number : 1_024 * (number + 1)]
            model(sampler.batch(roots, number)).square().mean().backward()
        return blocks

    call(1)
    return call


def _sage(size: int) -> Call:
    """Run the same blocks, drawn by the same sampler, through two SAGEConv layers of PyG with width
    64."""
    import torch
    from torch_geometric.nn import SAGEConv

    from ..nn.kernels.sample import draw_block

    ready, sampler = _blocks(size)
    torch.manual_seed(0)
    first, second = SAGEConv(64, 64, aggr="sum"), SAGEConv(64, 8, aggr="sum")
    order = np.random.default_rng(0).permutation(ready.graphs.num_nodes)
    csr = (ready.graphs.indptr, ready.graphs.indices)

    def call(blocks: int = BLOCKS) -> int:
        for number in range(blocks):
            roots = order[1_024 * number : 1_024 * (number + 1)]
            vertices, _, bounds, drawn, _ = draw_block(
                *csr, roots, sampler.fanout, number, sampler.place
            )
            into = np.repeat(np.arange(len(vertices)), np.diff(bounds))
            edges = torch.from_numpy(np.stack([drawn, into]))
            x = first(ready.x[torch.from_numpy(vertices)], edges).relu()
            second(x, edges)[: len(roots)].square().mean().backward()
        return blocks

    call(1)
    return call


def _epoch(size: int) -> Call:
    """Do the work of ``gpnn train graph.npz --nodes --fanout 15 10 --epochs 1``: prepare, train on
    blocks of 1,024 vertices with width 64, predict held-out vertices."""
    import tempfile

    from .. import fit, load_dataset
    from ..train.train_config import TrainConfig

    graph, rng = _power_law(size), np.random.default_rng(0)
    y, x = graph.degree % 2, rng.standard_normal((graph.num_nodes, 64), np.float32)
    with tempfile.TemporaryDirectory(prefix="gpnn-scale-") as folder:
        file = Path(folder) / "graph.npz"
        rows = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
        np.savez(file, edge_index=np.stack([rows, graph.indices]), x=x, y=y)
        samples = load_dataset(str(file), nodes=True)
    model = {"scheme": "core", "interactions": "cross", "layers": 1, "base": None, "hidden": 64}

    def call() -> int:
        fit(samples, model, TrainConfig(epochs=1, batch_size=1_024, fanout=(15, 10)))
        return graph.num_nodes

    return call


def _one_graph() -> list[Workload]:
    sparse, hub = "core-degree, edges, 3 layers", "core, edges, 3 layers"
    rows = [
        ("core", "cross", 1, 1_200_000, (6, None)),
        ("core", "edges", 1, 1_200_000, (20, None)),
        ("degree", "cross", 1, 1_200_000, (30, None)),
        ("core", "cross", 2, 1_200_000, (None, None)),
        ("core", "cross", 1, 8_000_000, (60, 8_000)),
    ]
    out = [
        Workload(
            "prepare", "power law", size, f"{scheme}, {which}, {layers} layer{'s' * (layers > 1)}",
            _prepare(_power_law, scheme=scheme, interactions=which, layers=layers), limit=limit,
        )
        for scheme, which, layers, size, limit in rows
    ]  # fmt: skip
    for task, of in (("prepare", _prepare), ("step", _step)):
        measured = of(_hub, scheme="core", interactions="edges")
        out.append(Workload(task, "hub", 200_000, hub, measured, limit=(None, 4_000)))
    for size in (100_000, 1_000_000, 10_000_000):
        few = size <= 1_000_000
        out.append(Workload("prepare", SPARSE, size, sparse, _prepare(_sparse), quick=few))
    for size in (100_000, 1_000_000, 3_000_000):  # 10 M would need about 20 GB of indices and rows
        few = size <= 1_000_000
        out.append(Workload("step", SPARSE, size, sparse, _step(_sparse), quick=few))
    for size in (100_000, 1_000_000, 10_000_000):
        made, way = _step(_sparse, layers=1), "core-degree, edges, 1 layer"
        out.append(Workload("step", SPARSE, size, way, made, quick=size <= 1_000_000))
    for way, at_once in (("in chunks", False), ("all tuples at once", True)):
        made = _step(_power_law, at_once, scheme="core", interactions="cross", layers=2)
        out.append(Workload("step", "power law", 700_000, f"core, cross, 2 layers, {way}", made))
    for size, limit in ((1_200_000, (None, None)), (8_000_000, (None, 8_000))):
        for way, made in (("gpnn, core, cross, 1 layer", _sampled), (SAGE, _sage)):
            out.append(Workload(SAMPLED, "power law", size, way, made, limit=limit))
        way = "core, cross, 1 layer, prepare to answers"
        out.append(Workload("one sampled epoch", "power law", size, way, _epoch, limit=limit))
    return out


WORKLOADS: list[Workload] = [*_one_graph()]
"""All rows, in the order of the report."""
