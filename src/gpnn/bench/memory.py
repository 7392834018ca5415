"""Peak memory of one library on one task, in a separate process.

The process loads the edges, warms the library up on a tiny graph, resets the kernel's high-water
mark and runs the task. It reports the mark minus the memory resident before: the peak memory of
conversion, algorithm and answer. Linux only; elsewhere the figure is None.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from .peers import PEERS
from .workloads import Workload, power_law, workload

__all__ = ["peak_mb", "save"]

_SECONDS = 300


def save(work: Workload, folder: Path) -> Path:
    """Write a workload where :func:`peak_mb` can read it."""
    file = folder / "workload.npz"
    np.savez(file, edge_index=work.edge_index.numpy(), ptr=work.ptr)
    return file


def peak_mb(task: str, peer: str, file: Path) -> float | None:
    """Return the peak in megabytes (1e6 bytes), or None if it cannot be measured."""
    source = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "gpnn.bench.memory", task, peer, str(file)],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env={**os.environ, "PYTHONPATH": path},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    words = done.stdout.split()
    return float(words[-1]) if done.returncode == 0 and words and words[-1] != "None" else None


def _status(key: str) -> int:
    """Return a field of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {key}")


def _measure(task: str, peer: str, file: str) -> float | None:
    solve = {p.name: p for p in PEERS}[peer].solve[task]
    with np.load(file) as arrays:
        work = workload("measured", arrays["edge_index"], arrays["ptr"])
    solve(workload("warm-up", *power_law(50, 100)))
    try:
        Path("/proc/self/clear_refs").write_text("5")
        before = _status("VmRSS")
    except OSError:
        return None
    answer = solve(work)
    peak = _status("VmHWM") - before
    del answer
    return round(peak / 1e6, 1)


if __name__ == "__main__":
    print(_measure(*sys.argv[1:4]))
