"""Check that another library's answer, in whatever form, equals ours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .workloads import Workload

__all__ = ["WrongAnswer", "check"]

Ints = NDArray[np.int64]


class WrongAnswer(RuntimeError):
    """Raised if two libraries disagree on the same graph, which makes the benchmark invalid."""


def check(task: str, peer: str, work: Workload, ours: Any, theirs: Any) -> None:
    """Compare the answers vertex by vertex on the vertices of ``work``, which may consist of the
    first graphs of the workload that ``ours`` belongs to."""
    n = work.num_nodes
    if task == "components":
        pairs = [("components", ours[:n], _smallest(theirs, n))]
    elif task == "core+onion":
        core, layer = ours
        both = _joined(theirs)
        pairs = [("core numbers", core[:n], _dense(both[0], n))]
        if len(both) > 1:
            pairs.append(("onion layers", layer[:n], _dense(both[1], n)))
    else:
        pairs = [("triangles", ours[:n], _dense(_joined(theirs)[0], n))]
    for what, mine, other in pairs:
        wrong = np.flatnonzero(np.asarray(mine) != other)
        if len(wrong):
            v = int(wrong[0])
            raise WrongAnswer(
                f"{peer} and gpnn disagree on {what} of {work.name} at {len(wrong):,} of {n:,} "
                f"vertices; vertex {v}: {int(other[v])} and {int(mine[v])}."
            )


def _joined(answer: Any) -> list[Any]:
    """Return one value per question; dictionaries of single graphs are merged."""
    if not isinstance(answer, list) or not answer or isinstance(answer[0], int | float):
        return [answer]
    graphs = [item if isinstance(item, tuple) else (item,) for item in answer]
    return [
        {v: value for graph in graphs for v, value in graph[i].items()}
        for i in range(len(graphs[0]))
    ]


def _dense(values: Any, n: int) -> Ints:
    if hasattr(values, "items"):
        out = np.full(n, -1, np.int64)
        out[np.fromiter(values.keys(), np.int64, len(values))] = np.fromiter(
            values.values(), np.int64, len(values)
        )
        return out
    return np.asarray(values).astype(np.int64)


def _smallest(answer: Any, n: int) -> Ints:
    """Return the smallest vertex of every vertex's component, from labels or sets of vertices."""
    sets = _sets(answer)
    if sets is not None:
        labels = np.full(n, -1, np.int64)
        for number, members in enumerate(sets):
            labels[np.fromiter(members, np.int64, len(members))] = number
    else:
        labels = np.asarray(answer).astype(np.int64)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[inverse])


def _sets(answer: Any) -> list[Any] | None:
    if len(answer) and isinstance(answer[0], set):
        return list(answer)
    if len(answer) and isinstance(answer[0], list):
        return [members for graph in answer for members in graph]
    return None
