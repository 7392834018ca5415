"""Checks of the sizes that an input declares, before anything is allocated.

A few bytes can declare billions of vertices or decompress to gigabytes. All readers therefore bound
a declared size by the actual size of the file or object.
"""

from __future__ import annotations

import os
from pathlib import Path

from .errors import InputError

__all__ = [
    *("available_bytes", "check_graphs", "check_memory", "check_unpacked", "check_vertices"),
    "most_unpacked",
]

MANY, PER_EDGE = 10_000_000, 100
"""Vertices that an input may declare without edges, and per edge."""
SMALL, RATIO = 2**26, 200
"""Compressed data may decompress to 64 MiB, or to 200 times its size."""
PER_VERTEX = 64
"""Bytes per vertex that a graph takes while it is read and partitioned."""


def check_graphs(count: int, rows: int) -> None:
    """Refuse a declared number of graphs if nearly all of them would be empty."""
    if count > max(MANY, PER_EDGE * rows):
        raise InputError(
            f"The input names graph {count - 1:,} with only {rows:,} vertices. Number the graphs "
            "without gaps."
        )


def check_vertices(num_nodes: int, num_edges: int) -> None:
    """Refuse a declared number of vertices if nearly all of them would be isolated."""
    if num_nodes > max(MANY, PER_EDGE * num_edges):
        raise InputError(
            f"The input names {num_nodes:,} vertices, or the id {num_nodes - 1:,}, with only "
            f"{num_edges:,} edges. Number the vertices from 0; if so many isolated ones are meant, "
            "give num_nodes to gpnn.as_graphs."
        )


def most_unpacked(packed: int) -> int:
    """Maximum number of bytes that ``packed`` bytes may decompress to."""
    return max(SMALL, RATIO * packed)


def check_unpacked(path: object, packed: int, unpacked: int) -> None:
    """Refuse data that decompress to far more than their compressed size."""
    if unpacked > most_unpacked(packed):
        raise InputError(
            f"{path} unpacks to more than {RATIO} times its size, which no real data does. If it "
            "is in order, unpack it first."
        )


def available_bytes() -> int:
    """Memory that one computation may use: half of the memory that the system has available."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024 // 2
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
    except (AttributeError, ValueError, OSError):
        return 2**31


def check_memory(need: int, what: str, instead: str) -> None:
    """Raise an error if a computation would not fit in memory."""
    limit = available_bytes()
    if need > limit:
        raise InputError(
            f"{what} would need {need / 2**30:,.1f} GiB of memory; half of what is available here "
            f"is {limit / 2**30:,.1f} GiB. {instead}"
        )
