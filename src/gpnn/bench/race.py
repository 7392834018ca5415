"""A benchmark from a PyG ``edge_index`` to the answer, against common graph libraries.

All libraries run in one process with one thread, and the runs are interleaved (ours, theirs, ours,
theirs). The time includes conversion. Every answer is compared with ours before the timed runs.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ..errors import InputError
from .answers import check
from .catalogue import Spec, select
from .environment import describe
from .memory import peak_mb, save
from .peers import PEERS, TASKS, Peer, installed
from .report import to_markdown
from .workloads import Workload

__all__ = ["run_race", "to_markdown"]

_SAMPLE = 1_000
_BUDGET = 6.0
_QUICK_BUDGET = 1.5

Row = dict[str, Any]


def run_race(
    tasks: Iterable[str] | None = None,
    workloads: Iterable[str | Spec] | None = None,
    quick: bool = False,
    repeats: int = 5,
    progress: Callable[[str], None] | None = None,
    data: str | None = None,
) -> dict[str, Any]:
    """Run the benchmark.

    Args:
        tasks: some of ``core+onion``, ``triangles``, ``components``; all by default.
        workloads: names or specs; by default all, with ogbg-molhiv if its data is available.
        quick: small workloads, no memory figures, under a minute.
        repeats: timed runs per library; their median is reported. There are fewer runs, down to
            one, if a library would take more than 6 s in total (1.5 s when quick); if the first
            run alone takes that long, its time is reported.
        progress: called with a description of each step.
        data: the data folder; ``$GPNN_DATA`` by default.

    Returns:
        ``{"rows", "growth", "environment"}``. A row has ``task``, ``workload``, ``peer``,
        ``seconds``, ``ratio`` (the peer's time / ours), ``peak_mb`` and ``note``. For a library
        that was not run, ``seconds`` is None and ``note`` gives the reason.
    """
    chosen = list(TASKS if tasks is None else tasks)
    for task in chosen:
        if task not in TASKS:
            raise InputError(f"There is no task {task!r}. Choose from: {', '.join(TASKS)}.")
    if repeats < 1:
        raise InputError(f"The race needs at least one run per contestant, not {repeats}.")
    say = progress or (lambda _: None)
    specs = select(workloads, quick, data)
    try:
        return _run(specs, chosen, repeats, quick, say)
    finally:
        gc.unfreeze()


def _run(
    specs: list[Spec], tasks: list[str], repeats: int, quick: bool, say: Callable[[str], None]
) -> dict[str, Any]:
    rows: list[Row] = []
    sizes: dict[str, int] = {}
    for spec in specs:
        say(f"{spec.name}: making {spec.about}")
        work = spec.build()
        if spec.growth:
            sizes[spec.name] = work.num_edges
        here = [task for task in tasks if spec.tasks is None or task in spec.tasks]
        for task in here:
            say(f"{spec.name}: {task}")
            rows += _race(task, work, repeats, _QUICK_BUDGET if quick else _BUDGET)
        if spec.memory and not quick:
            _add_memory(rows, work, say)
    return {
        "rows": rows,
        "growth": _growth(rows, sizes),
        "environment": describe(PEERS, specs),
    }


def _race(task: str, work: Workload, repeats: int, budget: float) -> list[Row]:
    ours, *others = (peer for peer in PEERS if task in peer.solve)
    answer = ours.solve[task](work)
    rows, running = [], []
    for peer in others:
        row = _row(task, work, peer)
        rows.append(row)
        limit = peer.largest.get(task)
        sampled = peer.per_graph and work.num_graphs > 1
        if not installed(peer):
            row["note"] = f"not installed: pip install {peer.name}"
        elif limit is not None and work.num_edges > limit and not sampled:
            row["note"] = f"not run above {limit:,} edges"
        else:
            part = _first_graphs(work, _SAMPLE) if sampled else work
            running.append((peer, part, row))
    times: list[float] = []
    for peer, part, row in running:
        first, theirs = _timed(peer, task, part)
        check(task, peer.name, part, answer, theirs)
        del theirs
        gc.freeze()
        turns = int(np.clip(budget / max(first, 1e-9), 0, repeats))
        spent = [] if turns else [first]
        for _ in range(turns):
            times.append(_timed(ours, task, work)[0])
            spent.append(_timed(peer, task, part)[0])
        scale = work.num_graphs / part.num_graphs
        row["seconds"] = median(spent) * scale
        row["note"] = _note(peer, task, work, part)
    times += [_timed(ours, task, work)[0] for _ in range(max(repeats - len(times), 0))]
    mine = _row(task, work, ours)
    mine["seconds"] = median(times)
    for row in (mine, *rows):
        if row["seconds"] is not None:
            row["ratio"] = row["seconds"] / mine["seconds"]
    return [mine, *rows]


def _row(task: str, work: Workload, peer: Peer) -> Row:
    return {
        "task": task,
        "workload": work.name,
        "peer": peer.name,
        "seconds": None,
        "ratio": None,
        "peak_mb": None,
        "note": None,
    }


def _timed(peer: Peer, task: str, work: Workload) -> tuple[float, Any]:
    """Return seconds and answer of one run, after a garbage collection.

    Permanent objects of the libraries are frozen after the first run of each, so that garbage
    collection is fast and does not affect the times.
    """
    gc.collect()
    start = time.perf_counter()
    answer = peer.solve[task](work)
    return time.perf_counter() - start, answer


def _note(peer: Peer, task: str, work: Workload, part: Workload) -> str | None:
    notes = [peer.notes[task]] if task in peer.notes else []
    if work.num_graphs > 1:
        if peer.per_graph:
            notes.append("graph by graph")
            if part.num_graphs < work.num_graphs:
                notes.append(f"{part.num_graphs:,} graphs timed and scaled up")
        else:
            notes.append("on the disjoint union")
    return "; ".join(notes) or None


def _first_graphs(work: Workload, count: int) -> Workload:
    if count >= work.num_graphs:
        return work
    return replace(
        work,
        edge_index=work.edge_index[:, : int(work.slices[count])],
        ptr=work.ptr[: count + 1],
        slices=work.slices[: count + 1],
    )


def _add_memory(rows: list[Row], work: Workload, say: Callable[[str], None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = save(work, Path(folder))
        for row in rows:
            if row["workload"] == work.name and row["seconds"] is not None:
                say(f"{work.name}: memory of {row['peer']}, {row['task']}")
                row["peak_mb"] = peak_mb(row["task"], row["peer"], file)


def _growth(rows: list[Row], edges: dict[str, int]) -> dict[str, Any]:
    """Return our core+onion time by number of edges. ``slope`` is the slope of log seconds over log
    edges: 1 if time is linear, None with fewer than two sizes."""
    points = sorted(
        (edges[row["workload"]], row["seconds"])
        for row in rows
        if row["peer"] == "gpnn" and row["task"] == "core+onion" and row["workload"] in edges
    )
    slope = None
    if len(points) > 1:
        x, y = np.log(np.array(points)).T
        slope = float(np.polyfit(x, y, 1)[0])
    return {
        "task": "core+onion",
        "edges": [size for size, _ in points],
        "seconds": [seconds for _, seconds in points],
        "slope": slope,
    }
