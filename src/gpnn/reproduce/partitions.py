"""Partition statistics of the OGB molecules: one record per dataset and scheme, computed once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import numpy as np

from ..data.datasets import load_graphs
from ..errors import InputError
from ..graph.graphs import Graphs
from ..graph.partition import partition
from .jobs import key_of
from .paper import published
from .provenance import commit, versions
from .runs import Runs

__all__ = ["count_partitions", "key", "places"]

Record = dict[str, Any]
QUICK_GRAPHS = 500


def places(only: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return (dataset, scheme) pairs of the paper's table that match ``dataset/*/scheme``."""
    every = [(row["dataset"], row["scheme"]) for row in published("partitions")]
    selected = [place for place in every if not only or any(_fits(p, place) for p in only)]
    if not selected:
        names = ", ".join(dict.fromkeys(dataset for dataset, _ in every))
        raise InputError(
            f"Nothing matches {' or '.join(only)}. Give dataset/*/scheme; datasets are {names}."
        )
    return selected


def _fits(pattern: str, place: tuple[str, str]) -> bool:
    parts = [*pattern.lower().split("/"), "", "", ""]
    return all(fnmatchcase(word, parts[k] or "*") for k, word in zip((0, 2), place, strict=True))


def key(dataset: str, scheme: str, quick: bool) -> str:
    """The key of a record."""
    content = {"partition": 1, "dataset": dataset, "scheme": scheme, "quick": quick}
    return f"{key_of(content)}:partition"


def count_partitions(
    out: str,
    data: str | None = None,
    only: Sequence[str] = (),
    quick: bool = False,
    deadline: float | None = None,
    tell: Callable[[str], None] | None = None,
) -> bool:
    """Add the missing records to ``runs.jsonl``; return whether all are there."""
    runs = Runs(out)
    done = runs.read()
    for dataset, scheme in places(only):
        if key(dataset, scheme, quick) in done:
            continue
        if deadline is not None and time.time() > deadline:
            return False
        if tell is not None:
            tell(f"{dataset}, {scheme}")
        runs.append(_count(dataset, scheme, quick, data))
    return True


def _count(dataset: str, scheme: str, quick: bool, data: str | None) -> Record:
    graphs = _graphs(dataset, data, quick)
    began = time.perf_counter()
    cut = partition(graphs, scheme)
    stats = cut.statistics()
    return {
        "key": key(dataset, scheme, quick),
        "protocol": "partition",
        "dataset": dataset,
        "scheme": scheme,
        "quick": quick,
        "graphs": stats.graphs,
        "vertices": graphs.num_nodes,
        "partitions": stats.partitions,
        "cross_edges": stats.cross_edges,
        "within_edges": stats.within_edges,
        "parts": cut.labels,
        "sizes": cut.sizes.tolist(),
        "seconds": round(time.perf_counter() - began, 3),
        "versions": versions(),
        "commit": commit(),
    }


@lru_cache(maxsize=1)
def _graphs(dataset: str, data: str | None, quick: bool) -> Graphs:
    graphs = load_graphs(dataset, data)
    if not quick:
        return graphs
    chosen = np.sort(np.random.default_rng(0).permutation(len(graphs))[:QUICK_GRAPHS])
    return Graphs.concatenate([graphs[int(g)] for g in chosen])
