"""``gpnn bench layer``: one GPNN layer against PyG's GINConv, forward and backward."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import torch
from torch_geometric.nn import GINConv

from ..data.datasets import load_graphs
from ..errors import InputError
from ..graph.graphs import Graphs
from ..graph.partition import partition
from ..nn.layer import InteractionLayer
from ..nn.parts import PairEmbedding
from ..nn.prepare import Prepared, prepare
from ..sizes import available_bytes
from .live import peak_bytes

__all__ = ["device_name", "race", "run_layer_bench", "to_markdown"]

COMBINE = ("linear", "pairwise")
WIDTH = 64
LAYERS = 3
SEED = 0


@dataclass(frozen=True)
class Case:
    """A named set of graphs and the batch size."""

    name: str
    about: str
    graphs: Graphs
    batch: int
    kinds: tuple[str, ...]
    direct: tuple[str, ...]


def cases(data: str | None, quick: bool) -> list[Case]:
    """Return the workloads: molecules (molhiv, or MUTAG if it is missing), ego graphs, one large
    graph."""
    every, sparse = ("cross", "edges", "pairs"), ("cross", "edges")
    try:
        molecules, source = load_graphs("ogbg-molhiv", data), "ogbg-molhiv"
    except InputError:
        molecules, source = load_graphs("MUTAG", data), "MUTAG, drawn with repetition"
    molecule_cases = [
        Case(f"molecules-{size}", f"{size} molecules of {source}", molecules, size, every, every)
        for size in (128, 512)
    ]
    if quick:
        return molecule_cases[:1]
    return [
        *molecule_cases,
        Case("ego-32", "32 dense ego graphs like IMDB-BINARY", _ego_graphs(64), 32, every, sparse),
        Case("large", "one random graph, 1e5 vertices, 1e6 edges", _large(), 1, sparse, ()),
    ]


def _ego_graphs(count: int) -> Graphs:
    """Generate ego networks like those of actors: a centre and a few overlapping cliques, about 20
    vertices and 96 edges on average."""
    rng = np.random.default_rng(SEED)
    parts = []
    for _ in range(count):
        n = int(rng.integers(12, 28))
        sizes = rng.integers(3, max(4, n // 2), 4)
        cliques = [[0, *rng.choice(np.arange(1, n), size, replace=False)] for size in sizes]
        pairs = {(0, v) for v in range(1, n)}
        pairs |= {(int(u), int(v)) for clique in cliques for u in clique for v in clique if u < v}
        edges = np.array(sorted(pairs))
        parts.append(Graphs.from_edges(edges[:, 0], edges[:, 1], n))
    return Graphs.concatenate(parts)


def _large() -> Graphs:
    src, dst = np.random.default_rng(SEED).integers(0, 100_000, (2, 1_000_000))
    return Graphs.from_edges(src, dst, 100_000)


def _need(graphs: Graphs, kind: str) -> int:
    """Return the maximum memory in bytes that a step needs for tuples (α_vw, α_uw), if no two
    pairs share a class: a few rows of ``WIDTH`` floats for each."""
    learned = np.ones(len(graphs.indices), bool)
    if kind == "cross":
        learned = partition(graphs, "core-degree").cross
    tuples = int((graphs.degree + 1)[graphs.rows[learned]].sum())
    return 6 * 4 * WIDTH * tuples


def run_layer_bench(
    device: str = "cpu",
    quick: bool = False,
    repeats: int = 11,
    threads: int = 1,
    data: str | None = None,
    workloads: list[str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Return rows with ``ratio``, our time divided by GINConv's: medians of interleaved runs in one
    process. Each workload has ``combine`` linear and pairwise; ``times_linear`` is their ratio.

    Our time is one layer with the class counts of the third round, forward and backward, plus a
    third of the time to assemble a batch for three layers (class selection included). ``GINConv``
    has the same two-layer MLP with batch normalisation, and its batch is not timed.
    """
    chosen = [case for case in cases(data, quick) if not workloads or case.name in workloads]
    if not chosen:
        known = ", ".join(case.name for case in cases(data, quick))
        raise InputError(f"There is no workload {workloads}. Choose from {known}.")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    rows: list[dict[str, Any]] = []
    try:
        for case in chosen:
            for kind in case.kinds:
                for path in ("lookup", "direct"):
                    if path == "direct" and kind not in case.direct:
                        continue
                    progress(f"{case.name}, {kind}, {path}")
                    rows += _measure(case, kind, path, device, repeats)
    finally:
        torch.set_num_threads(before)
    return {
        "rows": rows,
        "workloads": {case.name: case.about for case in chosen},
        "threads": threads,
        "device": device_name(device),
    }


def device_name(device: str) -> str:
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    from .environment import _processor

    return _processor()


def _measure(case: Case, kind: str, path: str, device: str, repeats: int) -> list[dict[str, Any]]:
    row = {
        "workload": case.name,
        "interactions": kind,
        "path": path,
        "rounds": LAYERS,
        "device": device,
    }
    if len(case.graphs) == 1:
        need, free = _need(case.graphs, kind), _free_bytes(device)
        if need > free:
            note = f"would need up to {need / 2**30:.0f} GiB, {free / 2**30:.0f} GiB are free"
            return [{**row, "combine": "", "ratio": None, "memory_ratio": None, "note": note}]
    torch.manual_seed(SEED)
    rng = np.random.default_rng(SEED)
    repeated = case.batch > len(case.graphs)
    ids = rng.choice(len(case.graphs), case.batch, replace=repeated)
    ready = _prepare(case, kind, path, ids)
    chosen = ids if path == "lookup" else np.arange(len(ready))
    batch = ready.batch(chosen).to(device)
    n, keys = batch.num_nodes, torch.arange(ready.parts)
    third, second = batch.rounds[LAYERS - 1], batch.rounds[LAYERS - 2]
    ways = [InteractionLayer(WIDTH, keys, combine=one).to(device) for one in COMBINE]
    start = PairEmbedding(keys, WIDTH).to(device)(batch.start).detach().requires_grad_()
    rows = second.weight.shape[0] + batch.start.shape[0]
    alpha = torch.randn(rows, WIDTH, device=device, requires_grad=True)
    gamma = torch.randn(n, WIDTH, device=device, requires_grad=True)
    slope = torch.randn(n, WIDTH, device=device)
    gin = GINConv(_mlp(), train_eps=True).to(device)

    assert batch.edges is not None
    edge_index = batch.edges.index

    def ours(layer: InteractionLayer) -> Callable[[], None]:
        return lambda: layer(gamma, alpha, start, batch, LAYERS - 1)[0].backward(slope)

    def theirs() -> None:
        gin(gamma, edge_index).backward(slope)

    def assemble() -> None:
        ready.batch(chosen, edges=False).to(device)

    runs = [ours(layer) for layer in ways]
    *own, gin_time, assembly = race([*runs, theirs, assemble], repeats, device)
    taken = [seconds + assembly / LAYERS for seconds in own]
    peak = peak_bytes(theirs)
    return [
        {
            **row,
            "combine": combine,
            "ratio": seconds / gin_time,
            "times_linear": seconds / taken[0],
            "memory_ratio": peak_bytes(run) / peak,
            "seconds": seconds,
            "gin_seconds": gin_time,
            "assemble_seconds": assembly,
            "classes": third.weight.shape[0],
            "vertices": n,
            "edges": len(batch.edges.label) // 2,
        }
        for combine, seconds, run in zip(COMBINE, taken, runs, strict=True)
    ]


def _free_bytes(device: str) -> int:
    if device.startswith("cuda"):
        return int(torch.cuda.mem_get_info()[0])
    return available_bytes()


def _prepare(case: Case, kind: str, path: str, ids: np.ndarray) -> Prepared:
    """Prepare all graphs for the look-up, as in training; only the batch for the direct path."""
    if path == "lookup":
        return prepare(case.graphs, interactions=kind, layers=LAYERS)
    picked = Graphs.concatenate([case.graphs[int(g)] for g in ids])
    return prepare(picked, interactions=kind, layers=LAYERS, direct=True)


def _mlp() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(WIDTH, WIDTH),
        torch.nn.BatchNorm1d(WIDTH),
        torch.nn.ReLU(),
        torch.nn.Linear(WIDTH, WIDTH),
    )


def race(runs: list[Callable[[], None]], repeats: int, device: str) -> list[float]:
    """Return the median seconds of each run, interleaved, after two rounds of warm-up."""
    seen: list[list[float]] = [[] for _ in runs]
    for turn in range(repeats + 2):
        for times, run in zip(seen, runs, strict=True):
            _wait(device)
            begin = time.perf_counter()
            run()
            _wait(device)
            if turn >= 2:
                times.append(time.perf_counter() - begin)
    return [median(times) for times in seen]


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def to_markdown(result: dict[str, Any], command: str) -> str:
    """Return the rows as a page."""
    lines = [
        "# One GPNN layer against PyG's GINConv",
        "",
        f"Made by `{command}` on {result['device']}, {result['threads']} thread(s). Forward and",
        "backward of one layer, hidden 64, at the class counts of the third round, a third of the",
        "batch assembly included; GINConv with the same two-layer MLP is 1. The memory ratio",
        "compares the peak of live tensors. *Linear* is Equation 3 as the paper's appendix builds",
        "it, at the price of a look-up; *pairwise* forms a message for every pair.",
        "",
        *(f"- `{name}`: {about}" for name, about in result["workloads"].items()),
        "",
        "| workload | interactions | path | combine | classes | ratio | linear = 1 | memory | ms "
        "| GINConv | assembly |",
        "|---|---|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        line = f"| {row['workload']} | {row['interactions']} | {row['path']} | {row['combine']} "
        if row["ratio"] is None:
            lines.append(f"{line}| | {row['note']} | | | | | |")
            continue
        lines.append(
            f"{line}| {row['classes']:,} "
            f"| **{row['ratio']:.2f}** | {row['times_linear']:.2f} | {row['memory_ratio']:.2f} "
            f"| {1e3 * row['seconds']:.1f} "
            f"| {1e3 * row['gin_seconds']:.1f} | {1e3 * row['assemble_seconds']:.1f} |"
        )
    return "\n".join(lines) + "\n"
