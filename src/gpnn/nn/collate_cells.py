"""Collates the input of a peer on the CPU, from the structure that it declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..graph.graphs import Graphs
from ..graph.peers.structure import PeerStructure, Relation
from .batch import CellBatch, CellRows
from .lookup import rows_or_zero
from .segments import Segments

__all__ = ["CellIndex"]

IntArray = NDArray[np.int64]
as_tensor = torch.from_numpy


@dataclass(frozen=True)
class _Placed:
    """Cells of one kind in a batch: their number in every graph, the position of the first cell of
    every graph, the row of each cell, and the total number of rows."""

    counts: IntArray
    first: IntArray
    row: IntArray
    total: int


class CellIndex:
    """A structure with an index to extract the cells of some graphs."""

    def __init__(self, structure: PeerStructure, graphs: Graphs) -> None:
        self.structure, self.graphs = structure, graphs

    @cached_property
    def ptr(self) -> dict[str, IntArray]:
        """By kind, where the cells of every graph begin, [graphs + 1]."""
        bounds = np.arange(len(self.graphs) + 1)
        starts = {
            name: np.searchsorted(cells.graph, bounds).astype(np.int64)
            for name, cells in self.structure.cells.items()
        }
        return {"vertex": self.graphs.ptr, "graph": bounds, **starts}

    @cached_property
    def entries(self) -> dict[str, tuple[IntArray, Relation]]:
        """By relation, where the entries of every graph begin, and the entries sorted by graph."""
        relations = {}
        for name, one in self.structure.relations.items():
            owner = np.searchsorted(self.ptr[one.rows], one.row, side="right") - 1
            order = np.argsort(owner, kind="stable")
            weight = None if one.weight is None else one.weight[order]
            moved = Relation(
                one.rows, one.into, one.row[order], one.column[order], weight, one.symmetric
            )
            bounds = np.searchsorted(owner[order], np.arange(len(self.graphs) + 1))
            relations[name] = bounds.astype(np.int64), moved
        return relations

    def batch(
        self,
        chosen: IntArray,
        bounds: IntArray,
        placed: Mapping[str, tuple[IntArray, int]],
        edge_label: IntArray,
        edge_features: Tensor | None,
        stacked: bool,
    ) -> CellBatch:
        """The cells of some graphs.

        Args:
            chosen: the graphs; ``bounds``: those of replica r are ``bounds[r]:bounds[r + 1]``.
            placed: for vertices and graphs, the row of each, in the order of ``chosen``, and the
                number of rows.
        """
        replicas = len(bounds) - 1
        kinds: dict[str, _Placed] = {}
        for kind, ptr in self.ptr.items():
            counts = ptr[chosen + 1] - ptr[chosen]
            ends = np.concatenate(([0], np.cumsum(counts)))
            if kind in placed:
                row, total = placed[kind]
            else:
                own = np.diff(ends[bounds])
                high = int(own.max(initial=0))
                shift = np.arange(replicas) * high - ends[bounds[:-1]]
                row, total = np.arange(ends[-1]) + np.repeat(shift, own), replicas * high
            kinds[kind] = _Placed(counts, ends[:-1], row, total)

        def shaped(values: Tensor) -> Tensor:
            return values.unflatten(0, (replicas, -1)) if stacked else values

        rows = {}
        for kind, cells in self.structure.cells.items():
            layout = kinds[kind]
            source = _ranges(self.ptr[kind][chosen], layout.counts)
            number = np.zeros(layout.total, np.int64)
            number[layout.row] = source
            real = np.zeros(layout.total, np.float32)
            real[layout.row] = 1
            label = features = None
            if cells.entry is not None:
                entry = cells.entry[number] if len(cells.entry) else np.full(len(number), -1)
                place = as_tensor(np.where(real > 0, entry, -1))
                label = shaped(rows_or_zero(as_tensor(edge_label), place))
                if edge_features is not None:
                    features = shaped(rows_or_zero(edge_features, place))
            codes = {
                name: shaped(
                    as_tensor(np.where(real > 0, code[number], 0) if len(code) else number)
                )
                for name, code in cells.codes.items()
            }
            weight = shaped(as_tensor(real)) if stacked else None
            rows[kind] = CellRows(weight, shaped(as_tensor(number)), label, features, codes)
        sums = {name: self._sums(name, chosen, kinds) for name in self.structure.relations}
        return CellBatch(rows, sums)

    def _sums(self, name: str, chosen: IntArray, kinds: Mapping[str, _Placed]) -> Segments:
        bounds, one = self.entries[name]
        counts = bounds[chosen + 1] - bounds[chosen]
        taken = _ranges(bounds[chosen], counts)

        def rows(kind: str, item: IntArray) -> IntArray:
            layout = kinds[kind]
            shift = np.repeat(layout.first - self.ptr[kind][chosen], counts)
            return layout.row[item + shift]

        row, column = rows(one.rows, one.row[taken]), rows(one.into, one.column[taken])
        weight: Any = None if one.weight is None else one.weight[taken]
        made = Segments.build(row, column, kinds[one.rows].total, kinds[one.into].total, weight)
        if not one.symmetric:
            return made
        return Segments(*made[:2], *made[:2], made.weight, made.weight)


def _ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Ranges of numbers, concatenated."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
