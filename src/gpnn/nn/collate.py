"""Collates graphs into a batch on the CPU, for one model or for several replicas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .batch import AlphaRound, CellBatch, Edges, GraphBatch, PairRows
from .kernels import collate as loops
from .lookup import rows_or_zero
from .segments import Segments

if TYPE_CHECKING:
    from .prepare import Prepared

__all__ = ["collate"]

IntArray = NDArray[np.int64]
as_tensor = torch.from_numpy
_NO_WEIGHT: NDArray[np.floating] = np.zeros(0, np.float32)


def collate(
    prepared: Prepared, replicas: Sequence[IntArray], edges: bool = True, stacked: bool = False
) -> GraphBatch:
    """Collate graphs into a batch; a graph may occur more than once.

    Args:
        replicas: the graphs of every replica.
        edges: whether a base GNN will read edges, in addition to sums over neighbours.
        stacked: whether tensors have a leading dimension of replicas; if not, there is one replica
            and no padding.
    """
    return _Collation(prepared, replicas, stacked).batch(edges)


class _Collation:
    """The intermediate results of collating a batch."""

    def __init__(self, prepared: Prepared, replicas: Sequence[IntArray], stacked: bool) -> None:
        self.prepared, self.stacked, self.replicas = prepared, stacked, len(replicas)
        self.graphs = np.concatenate(replicas) if len(replicas) > 1 else replicas[0]
        self.bounds = np.cumsum([0, *map(len, replicas)])
        whole = prepared.graphs
        self.starts, self.rank, self.ids, self.owner, self.first = loops.collate_vertices(
            self.graphs, self.bounds, whole.ptr, prepared.part, prepared.parts
        )
        self.place = (self.graphs, whole.ptr, self.starts, self.rank, self.ids, self.owner)

    def batch(self, edges: bool) -> GraphBatch:
        prepared, whole = self.prepared, self.prepared.graphs
        source, ptr, entry = loops.collate_sums(*self.place, whole.indptr, whole.indices)
        near, start, start_ids, rounds, pairs = self._interactions()
        real = self.ids >= 0
        rows = as_tensor(np.where(real, self.ids, 0) if self.stacked else self.ids)
        readout, order, graphs = self._readout()
        weight = as_tensor(real.astype(np.float32)) if self.stacked else None
        floating = prepared.x.dtype if prepared.x.is_floating_point() else None
        sizes = np.zeros(len(graphs), np.float32)
        sizes[graphs >= 0] = np.diff(self.starts)
        chosen = as_tensor(np.maximum(graphs, 0))
        return GraphBatch(
            features=self._shape(_wide(prepared.x[rows])),
            part=as_tensor(np.repeat(np.arange(prepared.parts), np.diff(self.first))),
            neighbours=_symmetric(source, ptr),
            near=near,
            edges=self._edges(source, ptr, entry) if edges else None,
            start=self._shape(start),
            start_features=self._start_features(start_ids),
            rounds=rounds,
            readout=readout,
            components=self._shape(_wide(as_tensor(prepared.components)[chosen])),
            order=order,
            vertices=self._shape(
                as_tensor(sizes)[:, None].to(floating or torch.get_default_dtype())
            ),
            y=None if self.stacked else self._labels(),
            vertex_weight=None if weight is None else self._shape(weight),
            graph_weight=self._shape(as_tensor((graphs >= 0).astype(np.float32)))
            if self.stacked
            else None,
            vertex_id=self._shape(rows),
            graph_id=self._shape(chosen),
            groups=_groups(self.first),
            pairs=pairs,
            walks=None if prepared.walks is None else self._shape(prepared.walks[rows]),
            descriptors=None
            if prepared.descriptors is None
            else self._shape(prepared.descriptors[chosen]),
            cells=self._cells(graphs),
            terms=None if self.stacked else prepared.terms,
        )

    def _shape(self, rows: Tensor) -> Tensor:
        """Add the leading dimension of replicas if stacked."""
        return rows.unflatten(0, (self.replicas, -1)) if self.stacked else rows

    def _labels(self) -> Tensor | None:
        labels, ptr = self.prepared.labels, self.prepared.graphs.ptr
        if labels is None:
            return None
        if not self.prepared.node_level:
            return labels[as_tensor(self.graphs)]
        sizes = np.diff(self.starts)
        shift = np.repeat(ptr[self.graphs] - self.starts[:-1], sizes)
        return labels[as_tensor(np.arange(self.starts[-1]) + shift)]

    def _cells(self, rows: IntArray) -> CellBatch | None:
        """The input of a peer; ``rows``: the graph in every row of graphs, -1 for padding."""
        prepared = self.prepared
        if prepared.cells is None:
            return None
        placed = {
            "vertex": (self.rank, len(self.ids)),
            "graph": (np.flatnonzero(rows >= 0), len(rows)),
        }
        return prepared.cells.batch(
            self.graphs, self.bounds, placed, prepared.edge_label, prepared.edge_features,
            self.stacked,
        )  # fmt: skip

    def _readout(self) -> tuple[Segments, Segments, IntArray]:
        """Σ over the vertices of every graph; the vertices in input order; the graph in every row
        of graphs, -1 for padding."""
        counts = np.diff(self.bounds)
        high = int(counts.max())
        row = np.arange(len(self.graphs)) + np.repeat(
            np.arange(self.replicas) * high - self.bounds[:-1], counts
        )
        graphs = np.full(self.replicas * high, -1)
        graphs[row] = self.graphs
        lengths = np.zeros(len(graphs), np.int64)
        lengths[row] = np.diff(self.starts)
        ptr = _ends(lengths)
        real = self.ids >= 0
        back = row[self.owner[real]]
        back_ptr = _ends(real)
        rank = as_tensor(self.rank)
        readout = Segments(rank, as_tensor(ptr), as_tensor(back), as_tensor(back_ptr))
        sizes = self.starts[self.bounds[1:]] - self.starts[self.bounds[:-1]]
        most = int(sizes.max())
        places = np.arange(len(self.rank)) + np.repeat(
            np.arange(self.replicas) * most - self.starts[self.bounds[:-1]], sizes
        )
        there = np.zeros(self.replicas * most, np.int64)
        there[places] = 1
        inverse = np.empty(len(self.ids), np.int64)
        inverse[self.rank] = places
        order = Segments(rank, as_tensor(_ends(there)), as_tensor(inverse[real]), readout.back_ptr)
        return readout, order, graphs

    def _interactions(
        self,
    ) -> tuple[Segments, Tensor, IntArray, tuple[AlphaRound, ...], PairRows]:
        """Σ over N_d(v), the start classes, their numbers in the whole set, the rounds, and the
        individual pairs."""
        prepared, like = self.prepared, _NO_WEIGHT
        classes, part_of, parts = prepared.classes, prepared.part_of_colour, prepared.parts
        source, ptr, entry = loops.collate_sums(
            *self.place, prepared.pair_first, classes.pair_other
        )
        centre, number = as_tensor(ptr), np.arange(len(source) + 1)
        each = as_tensor(number)
        start_mark = self._marks(len(classes.start))
        starts, _, start_first = loops.collate_classes(
            self.graphs, self.bounds, classes.start_ptr, classes.start_id,
            np.ones_like(classes.start_id),
            classes.start[:, 2], part_of, parts, start_mark, like,
        )  # fmt: skip
        start = classes.start[starts]
        start[:, 0], start[:, 2] = part_of[start[:, 0]], part_of[start[:, 2]]
        start[starts < 0] = 0
        low, start_groups = int(start_first[-1]), _groups(start_first)
        by_part = np.repeat(np.arange(parts), np.diff(start_first))
        size, used, rows, mark, rounds = 0, 0, low, start_mark, []
        for r, table in enumerate(classes.tables):
            own = self._marks(table.size)
            chosen, weight, first = loops.collate_classes(
                self.graphs, self.bounds, classes.class_ptr[r], classes.class_id[r],
                classes.class_count[r], table.part, part_of, parts, own, like,
            )  # fmt: skip
            arrays = (
                table.previous, table.first, table.second, table.entry_ptr, table.entry_tuple,
                table.entry_count, table.shared, table.shared_ptr, table.shared_tuple,
                table.shared_count,
            )  # fmt: skip
            (
                previous, previous_ends, met, met_ends, tuples, ends, count, tuple_weight, *shared
            ) = loops.collate_round(chosen, weight, size, used, rows, mark, start_mark, arrays,
                                    self._marks(len(table.first)))  # fmt: skip
            takes, take_ends, far, far_ends, far_count = shared
            before = self.replicas * rows
            size, used, mark = table.size, int(first[-1]), own
            rows = used + low
            pairs = loops.collate_pairs(
                entry, ptr, classes.pair_class[r], size, used, rows, mark, start_mark
            )
            row, back, order = loops.transpose(pairs, ptr, self.replicas * rows, number[:-1])
            table_row, back_ptr = as_tensor(pairs), as_tensor(back)
            rounds.append(
                AlphaRound(
                    previous=_segments(previous, previous_ends, before),
                    met=_segments(met, met_ends, 2 * before),
                    tuples=_segments(tuples, ends, len(tuple_weight), count),
                    weight=self._shape(as_tensor(weight)),
                    tuple_weight=self._shape(as_tensor(tuple_weight)),
                    part=as_tensor(
                        np.concatenate([np.repeat(np.arange(parts), np.diff(first)), by_part])
                    ),
                    pairs=Segments(table_row, centre, as_tensor(row), back_ptr),
                    own=Segments(table_row, each, as_tensor(order), back_ptr),
                    groups=torch.cat([_groups(first), start_groups + used * _BOTH_ENDS]),
                    takes=_segments(takes, take_ends, len(far_ends) - 1) if len(takes) else None,
                    shared=_segments(far, far_ends, len(tuple_weight), far_count)
                    if len(takes)
                    else None,
                )
            )
        near = _symmetric(source, ptr)
        _, _, order = loops.transpose(source, ptr, len(ptr) - 1, number[:-1])
        centre_of = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        pairs = PairRows.of(near, as_tensor(order), as_tensor(centre_of))
        return near, as_tensor(start), starts, tuple(rounds), pairs

    def _marks(self, size: int) -> NDArray[np.int32]:
        return np.zeros((self.replicas, size), np.int32)

    def _edges(self, source: IntArray, ptr: IntArray, entry: IntArray) -> Edges:
        """The entries of ``neighbours`` as edges, sorted by target vertex."""
        height = (len(ptr) - 1) // self.replicas
        ends = ptr[::height] if height else np.zeros(self.replicas + 1, np.int64)
        counts = np.diff(ends)
        most = int(counts.max())
        row = np.arange(len(source)) + np.repeat(
            np.arange(self.replicas) * most - ends[:-1], counts
        )
        there = np.zeros(self.replicas * most, np.int64)
        there[row] = 1
        each, bounds = as_tensor(_ends(there)), as_tensor(ptr)
        back, back_ptr, _ = loops.transpose(source, _ends(there), len(ptr) - 1, _NO_WEIGHT)
        target = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        number = as_tensor(row)

        def spread(values: Tensor) -> Tensor:
            if len(values) == len(there):
                return self._shape(values)
            out = values.new_zeros(len(there), *values.shape[1:])
            out[number] = values
            return self._shape(out)

        features = self.prepared.edge_features
        return Edges(
            gather=Segments(as_tensor(source), each, as_tensor(back), as_tensor(back_ptr)),
            collect=Segments(number, bounds, as_tensor(target), each),
            label=spread(_wide(as_tensor(self.prepared.edge_label[entry]))),
            features=None if features is None else spread(features[as_tensor(entry)]),
        )

    def _start_features(self, starts: IntArray) -> Tensor | None:
        """Float edge features of the start rows in the direct path, zero where there is no edge."""
        features = self.prepared.edge_features
        if features is None:
            return None
        assert self.prepared.classes.start_entry is not None
        entry = np.where(starts >= 0, self.prepared.classes.start_entry[starts], -1)
        return self._shape(rows_or_zero(features, as_tensor(entry)))


def _wide(values: Tensor) -> Tensor:
    """Widen integers, which may be stored in a narrow type, to int64."""
    return values if values.is_floating_point() else values.long()


_BOTH_ENDS = torch.tensor([1, 1, 0])


def _ends(lengths: Any) -> IntArray:
    out = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=out[1:])
    return out


def _segments(
    source: IntArray, bounds: IntArray, columns: int, weight: NDArray[np.floating] = _NO_WEIGHT
) -> Segments:
    row, back, moved = loops.transpose(source, bounds, columns, weight)
    parts = [source, bounds, row, back]
    if len(weight):
        parts += [weight, moved]
    return Segments(*map(as_tensor, parts))


def _symmetric(source: IntArray, bounds: IntArray) -> Segments:
    """Segments of a symmetric relation: its own transpose."""
    index, ptr = as_tensor(source), as_tensor(bounds)
    return Segments(index, ptr, index, ptr)


def _groups(first: IntArray) -> Tensor:
    """(start, stop, part) of every part that has rows."""
    part = np.flatnonzero(first[1:] > first[:-1])
    return as_tensor(np.stack([first[part], first[part + 1], part], 1))
