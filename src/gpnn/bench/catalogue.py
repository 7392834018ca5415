"""The workloads of the benchmark, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import InputError
from .workloads import Workload, molecules, power_law, rmat, shuffled, workload

__all__ = ["FULL", "QUICK", "Spec", "molhiv", "select"]


@dataclass(frozen=True)
class Spec:
    """A workload that is not yet generated.

    Attributes:
        make: returns ``(edge_index, ptr)``.
        memory: whether the peak memory of every library is measured.
        growth: whether our time on it is used for the growth figure.
        tasks: the tasks that run on it; None for all.
    """

    name: str
    about: str
    make: Callable[[], tuple[Any, Any]]
    memory: bool = False
    growth: bool = False
    tasks: tuple[str, ...] | None = None

    def build(self) -> Workload:
        return workload(self.name, *self.make())


def _power(nodes: int, edges: int, name: str, memory: bool = False) -> Spec:
    about = f"Chung–Lu, exponent 2.5, {nodes:,} vertices, {edges:,} edges"
    return Spec(name, about, lambda: power_law(nodes, edges), memory, growth=True)


def _shuffled(nodes: int, edges: int, name: str) -> Spec:
    def make() -> tuple[Any, Any]:
        edge_index, ptr = power_law(nodes, edges)
        return shuffled(edge_index), ptr

    return Spec(name, "the same graph, its edges in random order", make, tasks=("core+onion",))


def _rmat(scale: int, edges: int, name: str) -> Spec:
    about = f"R-MAT (0.57, 0.19, 0.19, 0.05), 2^{scale} vertices, {edges:,} edges"
    return Spec(name, about, lambda: rmat(scale, edges))


def _molecules(graphs: int, name: str) -> Spec:
    about = f"{graphs:,} synthetic molecules of about 25 vertices, rings and trees"
    return Spec(name, about, lambda: molecules(graphs))


def _by_name(*specs: Spec) -> Mapping[str, Spec]:
    return MappingProxyType({spec.name: spec for spec in specs})


FULL = _by_name(
    _power(10**4, 10**5, "power-law-1e5"),
    _power(10**5, 10**6, "power-law-1e6", memory=True),
    _shuffled(10**5, 10**6, "power-law-1e6-shuffled"),
    _rmat(17, 10**6, "rmat-1e6"),
    _molecules(40_000, "molecules-40k"),
    _power(10**6, 10**7, "power-law-1e7", memory=True),
)
QUICK = _by_name(
    _power(10**3, 10**4, "power-law-1e4"),
    _power(10**4, 10**5, "power-law-1e5"),
    _shuffled(10**4, 10**5, "power-law-1e5-shuffled"),
    _rmat(13, 10**5, "rmat-1e5"),
    _molecules(2_000, "molecules-2k"),
)


def molhiv(data: str | None) -> Spec | None:
    """Return ogbg-molhiv if it is on this machine; the benchmark never downloads it."""
    from ..data.datasets import data_folder, load_graphs, locate

    if data_folder(data) is None or locate("ogbg-molhiv", data) is None:
        return None

    def make() -> tuple[Any, Any]:
        graphs = load_graphs("ogbg-molhiv", data)
        return np.stack((graphs.rows, graphs.indices.astype(np.int64))), graphs.ptr

    return Spec("ogbg-molhiv", "41,127 molecules of the Open Graph Benchmark", make)


def select(
    workloads: Iterable[str | Spec] | None, quick: bool = False, data: str | None = None
) -> list[Spec]:
    """Return the given specs, or those with the given names; by default all of the quick or the
    full benchmark."""
    if workloads is None:
        chosen = list((QUICK if quick else FULL).values())
        extra = None if quick else molhiv(data)
        return chosen if extra is None else [*chosen, extra]
    known = {**QUICK, **FULL}
    out = []
    for item in workloads:
        if isinstance(item, Spec):
            out.append(item)
        elif item in known:
            out.append(known[item])
        elif item == "ogbg-molhiv":
            spec = molhiv(data)
            if spec is None:
                raise InputError(
                    "ogbg-molhiv is not in the data folder. Name the folder that holds it with "
                    "--data or GPNN_DATA."
                )
            out.append(spec)
        else:
            choices = ", ".join([*known, "ogbg-molhiv"])
            raise InputError(f"There is no workload {item!r}. Choose from: {choices}.")
    return out
