"""Interaction classes numbered within each graph, many graphs at a time on several threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graph.classes import InteractionClasses, RoundTable, interaction_classes
from ...graph.graphs import Graphs
from ..cache import Arrays, key_of, recall
from ..computed import SMALL

__all__ = ["Numbered", "classes_by_graph"]

IntArray = NDArray[np.int64]
_SINGLE = ("pair_centre", "pair_other", "start")
_TABLE = tuple(field.name for field in fields(RoundTable) if field.name != "size")
CHUNK = 50_000
"""Vertices that are numbered at a time: tables of this size stay in the cache of a processor."""


@dataclass(frozen=True, eq=False)
class Numbered:
    """What is read of :class:`~gpnn.graph.classes.InteractionClasses`; ``weight`` holds the pairs
    of every class, by round."""

    pair_centre: IntArray
    pair_other: IntArray
    pair_class: tuple[IntArray, ...]
    start: IntArray
    tables: tuple[RoundTable, ...]
    weight: tuple[NDArray[np.float64], ...]


def classes_by_graph(
    graphs: Graphs, part: IntArray, edge_labels: IntArray | None, **options: Any
) -> Numbered:
    """The classes of graphs that share none, because no two graphs have a part in common; kept on
    disk where that pays."""
    if graphs.num_nodes < SMALL:
        return _number(graphs, part, edge_labels, options)
    arrays = {"ptr": graphs.ptr, "indptr": graphs.indptr, "indices": graphs.indices}
    key = key_of("numbering", {**arrays, "part": part, "edge_labels": edge_labels}, **options)
    found = recall(key, lambda: _pack(_number(graphs, part, edge_labels, options)))
    return _unpack(found, int(options["rounds"]))


def _number(
    graphs: Graphs, part: IntArray, edge_labels: IntArray | None, options: dict[str, Any]
) -> Numbered:
    ends = np.searchsorted(graphs.ptr, np.arange(CHUNK, graphs.num_nodes + CHUNK, CHUNK))
    cuts = np.unique(np.concatenate([[0], np.minimum(ends, len(graphs))]))

    def number(at: int) -> InteractionClasses:
        piece, vertices, entries = _slice(graphs, int(cuts[at]), int(cuts[at + 1]))
        labels = None if edge_labels is None else edge_labels[entries]
        return interaction_classes(piece, part[vertices], edge_labels=labels, **options)

    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
        found = list(pool.map(number, range(len(cuts) - 1)))
    return _join(found, graphs.ptr[cuts[:-1]])


def _pack(found: Numbered) -> Arrays:
    arrays = {name: getattr(found, name) for name in _SINGLE}
    for r, table in enumerate(found.tables):
        arrays |= {f"{name}.{r}": getattr(table, name) for name in _TABLE}
        arrays |= {f"pair_class.{r}": found.pair_class[r], f"weight.{r}": found.weight[r]}
    return arrays


def _unpack(arrays: Arrays, rounds: int) -> Numbered:
    tables = [
        RoundTable(len(arrays[f"previous.{r}"]), **{n: arrays[f"{n}.{r}"] for n in _TABLE})
        for r in range(rounds)
    ]
    return Numbered(
        **{name: arrays[name] for name in _SINGLE},
        pair_class=tuple(arrays[f"pair_class.{r}"] for r in range(rounds)),
        tables=tuple(tables),
        weight=tuple(arrays[f"weight.{r}"] for r in range(rounds)),
    )


def _slice(graphs: Graphs, low: int, high: int) -> tuple[Graphs, slice, slice]:
    """Graphs low to high, with the vertices and entries they hold."""
    first, last = int(graphs.ptr[low]), int(graphs.ptr[high])
    begin, end = int(graphs.indptr[first]), int(graphs.indptr[last])
    piece = Graphs(
        graphs.ptr[low : high + 1] - first,
        graphs.indptr[first : last + 1] - begin,
        graphs.indices[begin:end] - first,
    )
    return piece, slice(first, last), slice(begin, end)


def _join(found: list[InteractionClasses], first: IntArray) -> Numbered:
    """Tables one after another; rows of an α table are classes, then start classes."""
    rounds = found[0].rounds if found else 0
    starts = np.array([len(one.start) for one in found])
    start_shift = np.cumsum(starts) - starts
    tables, classes, weights = [], [], []
    sizes = np.zeros(len(found), np.int64)
    for r in range(rounds):
        before, sizes = sizes, np.array([one.tables[r].size for one in found])
        rows = [_shifted(before, start_shift, k) for k in range(len(found))]
        tuples = np.array([len(one.tables[r].first) for one in found])
        tuple_shift = np.cumsum(tuples) - tuples
        own = [one.tables[r] for one in found]
        ends = np.concatenate([np.diff(table.entry_ptr) for table in own])
        tables.append(
            RoundTable(
                int(sizes.sum()),
                np.concatenate([rows[k](t.previous) for k, t in enumerate(own)]),
                np.concatenate([rows[k](t.first) for k, t in enumerate(own)]),
                np.concatenate([rows[k](t.second) for k, t in enumerate(own)]),
                np.concatenate([[0], np.cumsum(ends)]),
                np.concatenate([t.entry_tuple + tuple_shift[k] for k, t in enumerate(own)]),
                np.concatenate([t.entry_count for t in own]),
                np.concatenate([t.part for t in own]),
            )
        )
        after = [_shifted(sizes, start_shift, k) for k in range(len(found))]
        classes.append(np.concatenate([after[k](c.pair_class[r]) for k, c in enumerate(found)]))
        weights.append(np.concatenate([_weights(one, r) for one in found]))
    return Numbered(
        np.concatenate([one.pair_centre + first[k] for k, one in enumerate(found)]),
        np.concatenate([one.pair_other + first[k] for k, one in enumerate(found)]),
        tuple(classes),
        np.concatenate([one.start for one in found]),
        tuple(tables),
        tuple(weights),
    )


def _shifted(sizes: IntArray, start_shift: IntArray, k: int) -> Any:
    """Rows of the α table of piece k as rows of the joined one."""
    own, ahead = int(sizes[k]), int(sizes[:k].sum())
    behind = int(sizes.sum()) - own + int(start_shift[k])
    return lambda rows: np.where(rows < own, rows + ahead, rows + behind)


def _weights(found: InteractionClasses, r: int) -> NDArray[np.float64]:
    weight = np.zeros(found.tables[r].size)
    weight[found.class_id[r]] = found.class_count[r]
    return weight
