"""Commands on large tables of molecules, each run in a separate process as by a user: the time
includes the start, and every process has one CPU thread."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from ..data.datasets import find
from ..errors import InputError
from ..graph.readers.files import read_bytes

__all__ = ["TABLES", "measure_command", "table_rows"]

Row = dict[str, Any]
PLAIN = ("--descriptors", "none")
"""No descriptors: RDKit's would take most of the time, and a prepared folder has none."""
MOST_MB, LEAST_RATE = 1_000, 2_500
"""Limits of predictions: the maximum peak memory for a table of any length, and the minimum rows
per second of one process on 100,000 rows or more."""


def table_rows(names: Sequence[str], quick: bool, data: str | None) -> Iterator[Row]:
    """Yield the rows of some of :data:`TABLES`."""
    with tempfile.TemporaryDirectory(prefix="gpnn-scale-") as folder:
        for name in names:
            yield from TABLES[name](Path(folder), quick, data)


def measure_command(*words: object, processes: int = 1) -> tuple[float, float, float]:
    """Run ``gpnn`` with these arguments and one CPU thread per process; ``torchrun`` starts several
    processes. Return elapsed seconds, processor seconds, and the peak memory in MB of its largest
    process."""
    source = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    started = [sys.executable]
    if processes > 1:
        started += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
        started += [str(processes)]
    began = time.perf_counter()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [*started, "-m", "gpnn", *map(str, words)], env=environment, stdout=log, stderr=log
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
        if process.returncode:
            log.seek(0)
            text = log.read().decode(errors="replace").strip()
            raise InputError(f"gpnn {' '.join(map(str, words))} failed: {text[-1000:]}")
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
    return seconds, usage.ru_utime + usage.ru_stime, peak


def _row(
    task: str,
    size: int,
    way: str,
    processes: int,
    found: tuple[float, float, float],
    most_mb: float | None = None,
    least_rate: float | None = None,
) -> Row:
    seconds, processor, peak = found
    return {
        "task": task, "workload": "molecules", "size": size, "unit": "rows", "way": way,
        "processes": processes, "seconds": seconds, "cpu_seconds": processor, "peak_mb": peak,
        "rate": size / seconds, "most_seconds": None, "most_mb": most_mb, "least_rate": least_rate,
        "note": None,
    }  # fmt: skip


def _tables(folder: Path, sizes: tuple[int, ...], data: str | None) -> dict[int, Path]:
    """Write tables of the given sizes: the molecules of ogbg-molhiv with their target, repeated."""
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
    """Measure ``gpnn predict`` on tables of molecules, with one process and with two."""
    few = (2_000, 8_000) if quick else (10_000, 100_000)
    many = few if quick else (*few, 1_000_000)
    tables = _tables(folder, (1_000, *many), data)
    ways = (("d=3, distances", (), many), ("d=1", ("--d", 1, "--no-distances"), few))
    for way, options, sizes in ways:
        model = folder / f"model-{way[:3]}"
        words = ("train", tables[1_000], "--out", model, "--epochs", 1, *PLAIN, *options)
        measure_command(*words)
        for size in sizes:
            for jobs in (1, 2):
                out = folder / f"{size}-{jobs}-{way[:3]}.csv"
                words = ("predict", model, tables[size], "--out", out, "--jobs", jobs)
                measured = measure_command(*words, "--device", "cpu")
                least = LEAST_RATE if size >= 100_000 and jobs == 1 else None
                yield _row("predict", size, f"{way}, jobs {jobs}", jobs, measured, MOST_MB, least)


def prepare_rows(folder: Path, quick: bool, data: str | None) -> Iterator[Row]:
    """Measure ``gpnn prepare`` on tables of molecules with one process and with two, and an epoch
    of ``gpnn train`` from the folder and from the table."""
    sizes = (2_000, 8_000) if quick else (10_000, 40_000, 400_000)
    tables = _tables(folder, sizes, data)
    for size in sizes:
        for jobs in (1, 2):
            out = folder / f"prepared-{size}-{jobs}"
            measured = measure_command("prepare", tables[size], "--out", out, "--jobs", jobs)
            yield _row("prepare", size, f"jobs {jobs}", jobs, measured)
            if jobs == 1 or size == 400_000:
                shutil.rmtree(out, ignore_errors=True)  # may take gigabytes
        if size == 400_000:
            continue
        ways = {"from the folder": out, "from the table": tables[size]}
        for way, source in ways.items():
            words: tuple[object, ...] = ("train", source, "--out", folder / f"{size} {way}")
            words += ("--epochs", 1, *(PLAIN if source.is_file() else ()))
            measured = measure_command(*words, "--device", "cpu")
            yield _row("train, one epoch", size, way, 1, measured)


def process_rows(folder: Path, quick: bool, data: str | None) -> Iterator[Row]:
    """Measure an epoch of ``gpnn train`` from a folder in one process and in two. The time is a
    third of the difference between trainings of four epochs and one, which excludes the start."""
    size = 2_000 if quick else 20_000
    table = _tables(folder, (size,), data)[size]
    source = folder / f"shared-{size}-2"
    measure_command("prepare", table, "--out", source, "--jobs", 2)
    for processes in (1, 2):
        runs = []
        for epochs in (1, 4):
            out = folder / f"trained-{processes}-{epochs}"
            words = ("train", source, "--out", out, "--epochs", epochs, "--batch-size", 256)
            runs.append(measure_command(*words, "--device", "cpu", processes=processes))
        (start, busy, _), (seconds, processor, peak) = runs
        each = ((seconds - start) / 3, (processor - busy) / 3, peak)
        yield _row("train, per epoch", size, f"processes {processes}", processes, each)


TABLES: dict[str, Callable[[Path, bool, str | None], Iterator[Row]]] = {
    "predict, molecules": predict_rows,
    "prepare, molecules": prepare_rows,
    "processes, molecules": process_rows,
}
"""The measurements, by name."""
