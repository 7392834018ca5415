"""``gpnn bench scale``: time and memory as data grow, every row in a separate process.

A *workload* consists of a set-up and a call that is timed. :data:`WORKLOADS` lists the workloads on
one graph; commands on tables of molecules are in :mod:`.scale_tables`.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from .memory import _status
from .scale_tables import TABLES, table_rows

__all__ = ["WORKLOADS", "Measured", "run_scale_bench", "to_markdown"]

SECONDS = 1_800
"""Time limit of a row."""
RUNS, ENOUGH = 3, 20.0
"""Runs per row, of which the median is reported; no more runs after ``ENOUGH`` seconds."""
EXPONENT, TIMES_SAGE = 1.15, 8.0
"""Maximum growth exponent on degrees 1 to 8, and maximum time of a sampled step as a multiple of
SAGEConv's."""
TIMES_ONE = {("prepare", 400_000): 1.7, ("train, per epoch", 20_000): 1.4}
"""Minimum speed-up of two processes over one, by task and rows."""

Call = Callable[[], int]
"""The timed function; returns the number of processed items, from which the rate is computed."""


@dataclass(frozen=True)
class Measured:
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


def run_scale_bench(
    quick: bool = False,
    only: Sequence[str] | None = None,
    data: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Measure all workloads, or those whose name contains one of the given words."""

    def wanted(name: str) -> bool:
        return not only or any(word in name for word in only)

    chosen = [n for n, one in enumerate(WORKLOADS) if (one.quick or not quick) and wanted(one.name)]
    tables = [name for name in TABLES if wanted(name)]
    if not chosen and not tables:
        names = (*(one.name for one in WORKLOADS), *TABLES)
        raise InputError(
            f"No workload has {', '.join(only or ())} in its name. These are: {'; '.join(names)}."
        )
    rows = []
    for number in chosen:
        progress(WORKLOADS[number].name)
        rows.append(_row(number))
    for row in table_rows(tables, quick, data):
        progress(f"{row['task']}, {row['workload']}, {row['size']:,} {row['unit']}, {row['way']}")
        rows.append(row)
    from .environment import describe

    return {
        "rows": rows,
        "growth": _growth(rows),
        "against_sage": _against_sage(rows),
        "against_one": _against_one(rows),
        "environment": describe((), ()),
    }


def _row(number: int) -> dict[str, Any]:
    """Measure a row: the median of some runs, each in a separate process."""
    one, note = WORKLOADS[number], None
    runs: list[dict[str, Any]] = []
    while len(runs) < RUNS and sum(run["seconds"] for run in runs) < ENOUGH and note is None:
        run = _run(number)
        if isinstance(run, str):
            note = run
        else:
            runs.append(run)
    names = ("seconds", "cpu", "peak_mb", "count")
    found: dict[str, Any] = dict.fromkeys(names)
    for name in names:
        values = [run[name] for run in runs if run[name] is not None]
        found[name] = float(np.median(values)) if values else None
    rate = found["count"] / found["seconds"] if found["seconds"] else None
    return {
        "task": one.task, "workload": one.workload, "size": one.size, "unit": one.unit,
        "way": one.way, "seconds": found["seconds"], "cpu_seconds": found["cpu"],
        "peak_mb": found["peak_mb"], "rate": rate, "most_seconds": one.limit[0],
        "most_mb": one.limit[1], "least_rate": None, "note": note,
    }  # fmt: skip


def _run(number: int) -> dict[str, Any] | str:
    """Return the measurement of a run, or the reason why it failed."""
    source = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "gpnn.bench.scale", str(number)], capture_output=True, text=True,
            timeout=SECONDS, env={**os.environ, "PYTHONPATH": path}, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"not finished in {SECONDS} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["failed"])[-1][:200]
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _measure(number: int) -> dict[str, Any]:
    one = WORKLOADS[number]
    call = one.make(one.size)
    before: int | None = None
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = _status("VmRSS")
    except OSError:
        pass
    wall, cpu = time.perf_counter(), time.process_time()
    count = call()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = None if before is None else round(_status("VmHWM") / 1e6, 1)
    return {"seconds": wall, "cpu": cpu, "peak_mb": peak, "count": count}


def _growth(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Fit the exponents b of seconds ~ size^b over rows that differ only in size, by least squares:
    for elapsed time, and for processor time, which depends less on the load of the machine."""
    found: dict[tuple[str, ...], list[tuple[int, float, float]]] = {}
    for row in rows:
        if row["cpu_seconds"]:
            key = (row["task"], row["workload"], row["way"])
            times = (row["size"], row["seconds"], row["cpu_seconds"])
            found.setdefault(key, []).append(times)
    out = []
    for (task, workload, way), points in found.items():
        if len({size for size, *_ in points}) > 1:
            sizes, elapsed, processor = np.log(np.array(points)).T
            slopes = [float(np.polyfit(sizes, times, 1)[0]) for times in (elapsed, processor)]
            most = EXPONENT if workload == SPARSE else None
            out.append({"task": task, "workload": workload, "way": way, "elapsed": slopes[0],
                        "processor": slopes[1], "most": most,
                        "sizes": [size for size, *_ in points]})  # fmt: skip
    return out


def _against_sage(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the time of sampled steps divided by that of SAGEConv on the same blocks."""
    steps = [row for row in rows if row["task"] == SAMPLED and row["seconds"]]
    theirs = {row["size"]: row["seconds"] for row in steps if row["way"] == SAGE}
    return [
        {"size": row["size"], "times": row["seconds"] / theirs[row["size"]], "most": TIMES_SAGE}
        for row in steps
        if row["way"] != SAGE and row["size"] in theirs
    ]


def _against_one(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the speed-up of several processes over one, for commands on tables."""
    found: dict[tuple[Any, ...], dict[int, float]] = {}
    for row in rows:
        if "processes" in row:
            way = str(row["way"]).rpartition(", ")[0]  # without the number of processes
            times = found.setdefault((row["task"], row["size"], way), {})
            times[row["processes"]] = row["seconds"]
    return [
        {"task": task, "size": size, "way": way, "processes": count, "times": times[1] / seconds,
         "least": TIMES_ONE.get((task, size))}
        for (task, size, way), times in found.items()
        for count, seconds in times.items()
        if count > 1 and 1 in times
    ]  # fmt: skip


def to_markdown(result: Mapping[str, Any], command: str) -> str:
    """Return a page with the rows, the exponents and the machine."""
    lines = [
        f"# `{command}`\n",
        f"The median of {RUNS} runs, each in a process of its own, kernels compiled before; of one "
        f"run where it takes more than {ENOUGH:.0f} s. *Seconds* are of the clock, "
        "*processor* those of all cores together; *peak* is the memory of the whole process, in "
        "megabytes; a figure that misses the one it is held against is marked ✗.\n",
        "| task | workload | size | way | seconds | processor | peak, MB | per second | |",
        "|---|---|---:|---|---:|---:|---:|---:|---|",
    ]
    for row in result["rows"]:
        cells = (
            row["task"], row["workload"], f"{row['size']:,} {row['unit']}", row["way"],
            _held(row["seconds"], row["most_seconds"], ",.2f"),
            _held(row["cpu_seconds"], None, ",.2f"),
            _held(row["peak_mb"], row["most_mb"], ",.0f"),
            _held(row["rate"], row["least_rate"], ",.0f", least=True),
            row["note"] or "",
        )  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    if result["growth"]:
        lines += ["\n## Growth\n", "Time grows as size to the power\n"]
        lines += ["| task | workload | way | sizes | seconds | processor |"]
        lines += ["|---|---|---|---|---:|---:|"]
        lines += [
            f"| {one['task']} | {one['workload']} | {one['way']} | "
            f"{min(one['sizes']):,} to {max(one['sizes']):,} | "
            f"{_held(one['elapsed'], one['most'], '.2f')} | "
            f"{_held(one['processor'], one['most'], '.2f')} |"
            for one in result["growth"]
        ]
    if result["against_sage"]:
        lines += ["\n## Sampled steps against SAGEConv\n", "Drawing included.\n"]
        lines += ["| edges | times as long |", "|---:|---:|"]
        lines += [
            f"| {one['size']:,} | {_held(one['times'], one['most'], '.1f')} |"
            for one in result["against_sage"]
        ]
    if result["against_one"]:
        lines += ["\n## Several processes against one\n", "Starts included, but for epochs.\n"]
        lines += ["| task | rows | way | processes | times as fast |", "|---|---:|---|---:|---:|"]
        lines += [
            f"| {one['task']} | {one['size']:,} | {one['way']} | {one['processes']} | "
            f"{_held(one['times'], one['least'], '.2f', least=True)} |"
            for one in result["against_one"]
        ]
    machine = result["environment"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    lines += [
        "\n## Machine\n",
        f"{machine['processor']}, {machine['cores']} cores; {machine['system']}, Python "
        f"{machine['python']}; {versions}.",
    ]
    return "\n".join(lines) + "\n"


def _held(value: float | None, limit: float | None, form: str, least: bool = False) -> str:
    """Format a figure with its maximum, or minimum (``least``)."""
    if value is None or math.isnan(value):
        return "–"
    if limit is None:
        return format(value, form)
    missed = value < limit if least else value > limit
    return format(value, form) + " ✗" * missed + f" (of {limit:,g})"


SPARSE, SAMPLED, SAGE = "degrees 1 to 8", "10 sampled steps", "PyG's SAGEConv"


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


def _one_graph() -> list[Measured]:
    sparse, hub = "core-degree, edges, 3 layers", "core, edges, 3 layers"
    rows = [
        ("core", "cross", 1, 1_200_000, (6, None)),
        ("core", "edges", 1, 1_200_000, (20, None)),
        ("degree", "cross", 1, 1_200_000, (30, None)),
        ("core", "cross", 2, 1_200_000, (None, None)),
        ("core", "cross", 1, 8_000_000, (60, 8_000)),
    ]
    out = [
        Measured(
            "prepare", "power law", size, f"{scheme}, {which}, {layers} layer{'s' * (layers > 1)}",
            _prepare(_power_law, scheme=scheme, interactions=which, layers=layers), limit=limit,
        )
        for scheme, which, layers, size, limit in rows
    ]  # fmt: skip
    for task, of in (("prepare", _prepare), ("step", _step)):
        measured = of(_hub, scheme="core", interactions="edges")
        out.append(Measured(task, "hub", 200_000, hub, measured, limit=(None, 4_000)))
    for size in (100_000, 1_000_000, 10_000_000):
        few = size <= 1_000_000
        out.append(Measured("prepare", SPARSE, size, sparse, _prepare(_sparse), quick=few))
    for size in (100_000, 1_000_000, 3_000_000):  # 10 M would need about 20 GB of indices and rows
        few = size <= 1_000_000
        out.append(Measured("step", SPARSE, size, sparse, _step(_sparse), quick=few))
    for size in (100_000, 1_000_000, 10_000_000):
        made, way = _step(_sparse, layers=1), "core-degree, edges, 1 layer"
        out.append(Measured("step", SPARSE, size, way, made, quick=size <= 1_000_000))
    for way, at_once in (("in chunks", False), ("all tuples at once", True)):
        made = _step(_power_law, at_once, scheme="core", interactions="cross", layers=2)
        out.append(Measured("step", "power law", 700_000, f"core, cross, 2 layers, {way}", made))
    for size, limit in ((1_200_000, (None, None)), (8_000_000, (None, 8_000))):
        for way, made in (("gpnn, core, cross, 1 layer", _sampled), (SAGE, _sage)):
            out.append(Measured(SAMPLED, "power law", size, way, made, limit=limit))
        way = "core, cross, 1 layer, prepare to answers"
        out.append(Measured("one sampled epoch", "power law", size, way, _epoch, limit=limit))
    return out


WORKLOADS: list[Measured] = [*_one_graph()]
"""All rows, in the order of the report."""


if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]))))
