"""Time and memory against size: the commands that are meant for large inputs, each run in a process
of its own, as a person would run it.

A row has ``task``, ``workload``, ``size``, ``way``, ``seconds``, ``peak_mb`` (of the largest
process) and ``rate`` (things of the size per second). Growth exponents are slopes of log seconds
over log size, of rows that differ in size alone.
"""

from __future__ import annotations

import csv
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from ..data.datasets import find
from ..errors import InputError
from ..graph.readers.files import read_bytes

__all__ = ["WORKLOADS", "measure_command", "run_scale_bench", "to_markdown"]

Row = dict[str, Any]
Progress = Callable[[str], None]


def run_scale_bench(
    quick: bool = False,
    data: str | None = None,
    only: list[str] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure all workloads, or those named."""
    if unknown := [name for name in only or () if name not in WORKLOADS]:
        raise InputError(f"There is no workload {unknown[0]!r}. Choose {', '.join(WORKLOADS)}.")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="gpnn-scale-") as folder:
        for name, make in WORKLOADS.items():
            if only and name not in only:
                continue
            for row in make(Path(folder), quick, data):
                rows.append(row)
                if progress is not None:
                    progress(f"{row['task']}, {row['workload']}, {row['size']:,}, {row['way']}: "
                             f"{row['seconds']:.1f} s")  # fmt: skip
    return {"rows": rows, "growth": _growth(rows), "cores": os.cpu_count()}


def measure_command(*words: object) -> tuple[float, float]:
    """Seconds of ``gpnn`` with these words, one CPU thread a process, and peak memory in MB of the
    largest of its processes."""
    source = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    began = time.perf_counter()
    with tempfile.TemporaryFile() as told:
        process = subprocess.Popen(
            [sys.executable, "-m", "gpnn", *map(str, words)], env=environment, stdout=told,
            stderr=told,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
        if process.returncode:
            told.seek(0)
            text = told.read().decode(errors="replace").strip()
            raise InputError(f"gpnn {' '.join(map(str, words))} failed: {text[-1000:]}")
    return seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def _row(task: str, workload: str, size: int, way: str, found: tuple[float, float]) -> Row:
    seconds, peak = found
    return {"task": task, "workload": workload, "size": size, "way": way, "seconds": seconds,
            "peak_mb": peak, "rate": size / seconds}  # fmt: skip


def _growth(rows: list[Row]) -> list[Row]:
    """Slopes between the smallest and the largest size."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["task"], row["workload"], row["way"]), []).append(row)
    out = []
    for (task, workload, way), own in found.items():
        low, high = min(own, key=lambda r: r["size"]), max(own, key=lambda r: r["size"])
        if low["size"] < high["size"]:
            slope = math.log(high["seconds"] / low["seconds"]) / math.log(
                high["size"] / low["size"]
            )
            out.append({"task": task, "workload": workload, "way": way, "exponent": slope})
    return out


def to_markdown(result: dict[str, Any], command: str = "gpnn bench scale") -> str:
    """The rows as a table, and the growth exponents."""
    lines = [f"# `{command}`", "", f"{result['cores']} cores. Every row is a command in a process "
             "of its own, start included; peak is the memory of its largest process.", "",
             "| task | workload | size | way | seconds | peak, MB | per second |",
             "|---|---|---:|---|---:|---:|---:|"]  # fmt: skip
    lines += [
        f"| {r['task']} | {r['workload']} | {r['size']:,} | {r['way']} | {r['seconds']:.1f} | "
        f"{r['peak_mb']:,.0f} | {r['rate']:,.0f} |"
        for r in result["rows"]
    ]
    lines += ["", "Growth of time with size (1 is linear):", ""]
    lines += [f"- {r['task']}, {r['workload']}, {r['way']}: {r['exponent']:.2f}"
              for r in result["growth"]]  # fmt: skip
    return "\n".join(lines) + "\n"


def _tables(folder: Path, sizes: tuple[int, ...], data: str | None) -> dict[int, Path]:
    """Tables of so many rows: the molecules of ogbg-molhiv with their target, again and again."""
    mapping = find("ogbg-molhiv", data).parents[1] / "mapping" / "mol.csv.gz"
    text = read_bytes(mapping).decode()
    rows = [(row["smiles"], row["HIV_active"]) for row in csv.DictReader(text.splitlines())]
    out = {}
    for size in sizes:
        out[size] = folder / f"{size}.csv"
        with out[size].open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("smiles", "active"), *islice(cycle(rows), size)])
    return out


def predict_rows(folder: Path, quick: bool, data: str | None) -> Iterator[Row]:
    """``gpnn predict`` on tables of molecules, with one process and with two."""
    sizes = (2_000, 8_000) if quick else (10_000, 100_000)
    tables = _tables(folder, (1_000, *sizes), data)
    for way, options in (("d=3, distances", ()), ("d=1", ("--d", 1, "--no-distances"))):
        model = folder / f"model-{way[:3]}"
        measure_command("train", tables[1_000], "--out", model, "--epochs", 1, *options)
        for size in sizes:
            for jobs in (1, 2):
                out = folder / f"{size}-{jobs}-{way[:3]}.csv"
                words = ("predict", model, tables[size], "--out", out, "--jobs", jobs)
                found = measure_command(*words, "--device", "cpu")
                yield _row("predict", "molecules", size, f"{way}, jobs {jobs}", found)


def prepare_rows(folder: Path, quick: bool, data: str | None) -> Iterator[Row]:
    """``gpnn prepare`` of tables of molecules with one process and with two, and an epoch of
    ``gpnn train`` from the folder and from the table."""
    sizes = (2_000, 8_000) if quick else (10_000, 40_000)
    tables = _tables(folder, sizes, data)
    for size in sizes:
        for jobs in (1, 2):
            out = folder / f"prepared-{size}-{jobs}"
            found = measure_command("prepare", tables[size], "--out", out, "--jobs", jobs)
            yield _row("prepare", "molecules", size, f"jobs {jobs}", found)
        ways = {"from the folder": out, "from the table": tables[size]}
        for way, source in ways.items():
            words = ("train", source, "--out", folder / f"{size} {way}", "--epochs", 1)
            found = measure_command(*words, "--device", "cpu")
            yield _row("train, one epoch", "molecules", size, way, found)


WORKLOADS: dict[str, Callable[[Path, bool, str | None], Iterator[Row]]] = {
    "predict": predict_rows,
    "prepare": prepare_rows,
}
"""What is measured, by name."""
