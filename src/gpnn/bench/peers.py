"""The libraries in the benchmark: the tasks of each, their size limits, and notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from . import ways
from .workloads import Workload

__all__ = ["PEERS", "TASKS", "Peer", "installed"]

TASKS = ("core+onion", "triangles", "components")
Solve = Callable[[Workload], Any]

_CORE_ALONE = "core numbers only, against our core and onion"


@dataclass(frozen=True)
class Peer:
    """A library in the benchmark.

    Attributes:
        module: the module that must be importable.
        solve: task → function from a workload to the answer.
        largest: task → maximum number of edges; no entry means no limit.
        notes: task → note for the reader.
        per_graph: whether graphs are solved one by one, so that ``solve`` may be given a sample.
    """

    name: str
    module: str
    solve: Mapping[str, Solve]
    largest: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    per_graph: bool = False


def installed(peer: Peer) -> bool:
    return find_spec(peer.module) is not None


_CORE = {"core+onion": _CORE_ALONE}
PEERS = (
    Peer(
        "gpnn",
        "gpnn",
        {
            "core+onion": ways.gpnn_core,
            "triangles": ways.gpnn_triangles,
            "components": ways.gpnn_components,
        },
    ),
    Peer(
        "igraph",
        "igraph",
        {
            "core+onion": ways.igraph_core,
            "triangles": ways.igraph_triangles,
            "components": ways.igraph_components,
        },
        notes=_CORE,
    ),
    Peer(
        "networkit",
        "networkit",
        {
            "core+onion": ways.networkit_core,
            "triangles": ways.networkit_triangles,
            "components": ways.networkit_components,
        },
        notes=_CORE,
    ),
    Peer(
        "rustworkx",
        "rustworkx",
        {"core+onion": ways.rustworkx_core, "components": ways.rustworkx_components},
        largest=dict.fromkeys(TASKS, 2_000_000),
        notes=_CORE,
    ),
    Peer(
        "scikit-network",
        "sknetwork",
        {"core+onion": ways.sknetwork_core, "components": ways.sknetwork_components},
        notes=_CORE,
    ),
    Peer(
        "scipy",
        "scipy",
        {"triangles": ways.scipy_triangles, "components": ways.scipy_components},
        largest={"triangles": 1_200_000},
    ),
    Peer(
        "networkx",
        "networkx",
        {
            "core+onion": ways.networkx_core,
            "triangles": ways.networkx_triangles,
            "components": ways.networkx_components,
        },
        largest=dict.fromkeys(TASKS, 200_000),
        per_graph=True,
    ),
)
