"""``gpnn bench scale``: time and memory as data grow, every row in a separate process.

Workloads on one graph are in :mod:`.scale_graphs`, commands on tables of molecules in
:mod:`.scale_tables`, and the page in :mod:`.scale_report`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from .memory import _status
from .scale_graphs import SAGE, SAMPLED, SPARSE, WORKLOADS
from .scale_tables import TABLES, table_rows

__all__ = ["run_scale_bench"]

SECONDS = 1_800
"""Time limit of a row."""
RUNS, ENOUGH = 3, 20.0
"""Runs per row, of which the median is reported; no more runs after ``ENOUGH`` seconds."""
EXPONENT, TIMES_SAGE = 1.15, 8.0
"""Maximum growth exponent on degrees 1 to 8, and maximum time of a sampled step as a multiple of
SAGEConv's."""
TIMES_ONE = {("prepare", 400_000): 1.7, ("train, per epoch", 20_000): 1.4}
"""Minimum speed-up of two processes over one, by task and rows."""


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
        names = (*(one.name for one in WORKLOADS if one.quick or not quick), *TABLES)
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
        "runs": RUNS,
        "enough": ENOUGH,
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
    medians: dict[str, Any] = dict.fromkeys(names)
    for name in names:
        values = [run[name] for run in runs if run[name] is not None]
        medians[name] = float(np.median(values)) if values else None
    rate = medians["count"] / medians["seconds"] if medians["seconds"] else None
    return {
        "task": one.task, "workload": one.workload, "size": one.size, "unit": one.unit,
        "way": one.way, "seconds": medians["seconds"], "cpu_seconds": medians["cpu"],
        "peak_mb": medians["peak_mb"], "rate": rate, "most_seconds": one.limit[0],
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
    curves: dict[tuple[str, ...], list[tuple[int, float, float]]] = {}
    for row in rows:
        if row["cpu_seconds"]:
            key = (row["task"], row["workload"], row["way"])
            times = (row["size"], row["seconds"], row["cpu_seconds"])
            curves.setdefault(key, []).append(times)
    out = []
    for (task, workload, way), points in curves.items():
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
    timings: dict[tuple[Any, ...], dict[int, float]] = {}
    for row in rows:
        if "processes" in row:
            way = str(row["way"]).rpartition(", ")[0]  # without the number of processes
            times = timings.setdefault((row["task"], row["size"], way), {})
            times[row["processes"]] = row["seconds"]
    return [
        {"task": task, "size": size, "way": way, "processes": count, "times": times[1] / seconds,
         "least": TIMES_ONE.get((task, size))}
        for (task, size, way), times in timings.items()
        for count, seconds in times.items()
        if count > 1 and 1 in times
    ]  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]))))
