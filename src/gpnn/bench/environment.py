"""The environment of a measurement: processor, cores, versions. No names, no paths."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .catalogue import Spec
from .peers import Peer, installed

__all__ = ["describe"]

_TOOLS = ("gpnn", "numpy", "numba", "torch")


def describe(peers: Iterable[Peer], specs: Iterable[Spec]) -> dict[str, Any]:
    peers = list(peers)
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": 1,
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {
            name: number
            for name in dict.fromkeys((*_TOOLS, *(peer.name for peer in peers)))
            if (number := _version(name)) is not None
        },
        "absent": [peer.name for peer in peers if not installed(peer)],
        "workloads": {spec.name: spec.about for spec in specs},
    }


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())
