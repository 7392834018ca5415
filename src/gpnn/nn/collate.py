"""The graphs of a batch put side by side, on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .batch import AlphaRound, Edges, GraphBatch
from .kernels import collate as loops
from .segments import Segments

if TYPE_CHECKING:
    from .prepare import Prepared

__all__ = ["collate"]

IntArray = NDArray[np.int64]
as_tensor = torch.from_numpy
_NO_WEIGHT = np.zeros(0, np.float32)


def collate(prepared: Prepared, graphs: IntArray, edges: bool = True) -> GraphBatch:
    """The batch of some graphs, which may be asked for more than once.

    Args:
        edges: whether a base GNN will read edges, beside sums over neighbours.
    """
    whole, parts = prepared.graphs, prepared.parts
    starts, rank, ids, owner, bounds = loops.collate_vertices(
        graphs, whole.ptr, prepared.part, parts
    )
    place = (graphs, whole.ptr, starts, rank, ids, owner)
    source, ptr, entry = loops.collate_sums(*place, whole.indptr, whole.indices)
    neighbours = _symmetric(source, ptr)
    near, start, start_ids, rounds = _interactions(prepared, graphs, place)
    each = torch.arange(len(ids) + 1)
    rows, inverse = as_tensor(ids), as_tensor(rank)
    y = None
    if prepared.labels is not None:
        node = prepared.node_level
        y = prepared.labels[as_tensor(_vertices(graphs, whole.ptr) if node else graphs)]
    order = np.empty_like(rank)
    order[rank] = np.arange(len(rank))
    floating = prepared.x.dtype if prepared.x.is_floating_point() else torch.get_default_dtype()
    return GraphBatch(
        features=prepared.x[rows],
        part=as_tensor(prepared.part[ids]),
        neighbours=neighbours,
        near=near,
        edges=_edges(prepared, source, ptr, entry) if edges else None,
        start=start,
        start_features=_start_features(prepared, start_ids),
        rounds=rounds,
        readout=Segments(inverse, as_tensor(starts), as_tensor(owner), each),
        components=as_tensor(prepared.components[graphs]),
        order=Segments(inverse, each, as_tensor(order), each),
        vertices=as_tensor(np.diff(starts))[:, None].to(floating),
        y=y,
        vertex_weight=None,
        graph_weight=None,
        vertex_id=rows,
        graph_id=as_tensor(graphs),
        groups=_groups(bounds),
        terms=prepared.terms,
    )


def _vertices(graphs: IntArray, ptr: IntArray) -> IntArray:
    sizes = (ptr[1:] - ptr[:-1])[graphs]
    ends = np.cumsum(sizes)
    return np.arange(int(sizes.sum())) + np.repeat(ptr[graphs] - ends + sizes, sizes)


def _interactions(
    prepared: Prepared, graphs: IntArray, place: tuple[IntArray, ...]
) -> tuple[Segments, Tensor, IntArray, tuple[AlphaRound, ...]]:
    """Σ over N_d(v), the start classes, their numbers in the whole set, and the rounds."""
    classes, part_of, parts = prepared.classes, prepared.part_of_colour, prepared.parts
    source, ptr, entry = loops.collate_sums(*place, prepared.pair_first, classes.pair_other)
    near, centre = _symmetric(source, ptr), as_tensor(ptr)
    like = _NO_WEIGHT
    start_mark = np.zeros(len(classes.start), np.int32)
    starts, _, start_bounds = loops.collate_classes(
        graphs, classes.start_ptr, classes.start_id, classes.start_count, classes.start[:, 2],
        part_of, parts, start_mark, like,
    )  # fmt: skip
    start = classes.start[starts]
    start[:, 0], start[:, 2] = part_of[start[:, 0]], part_of[start[:, 2]]
    size, used, mark = 0, 0, start_mark
    rows, rounds = len(starts), []
    for r, table in enumerate(classes.tables):
        own = np.zeros(table.size, np.int32)
        chosen, weight, bounds = loops.collate_classes(
            graphs, classes.class_ptr[r], classes.class_id[r], classes.class_count[r], table.part,
            part_of, parts, own, like,
        )  # fmt: skip
        tables = (
            table.previous, table.first, table.second, table.entry_ptr, table.entry_tuple,
            table.entry_count,
        )  # fmt: skip
        tuple_mark = np.zeros(len(table.first), np.int32)
        previous, met, ends, tuples, count, tuple_weight = loops.collate_round(
            chosen, weight, size, used, mark, start_mark, tables, tuple_mark
        )
        each = np.arange(max(len(chosen), len(tuple_weight)) + 1)
        before, rows = rows, len(chosen) + len(starts)
        size, used, mark = table.size, len(chosen), own
        pairs = loops.collate_pairs(entry, classes.pair_class[r], size, used, mark, start_mark)
        rounds.append(
            AlphaRound(
                previous=_segments(previous, each[: len(chosen) + 1], before),
                met=_segments(met, 2 * each[: len(tuple_weight) + 1], 2 * before),
                tuples=_segments(tuples, ends, len(tuple_weight), count),
                weight=as_tensor(weight),
                tuple_weight=as_tensor(tuple_weight),
                part=as_tensor(np.concatenate([part_of[table.part[chosen]], start[:, 2]])),
                pairs=_segments(pairs, ptr, rows)._replace(ptr=centre),
                groups=torch.cat([_groups(bounds), _groups(start_bounds, used)]),
            )
        )
    return near, as_tensor(start), starts, tuple(rounds)


def _segments(
    source: IntArray, bounds: IntArray, columns: int, weight: NDArray[np.float32] = _NO_WEIGHT
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


def _edges(prepared: Prepared, source: IntArray, ptr: IntArray, entry: IntArray) -> Edges:
    """The entries of ``neighbours`` are the edges, sorted by the vertex they end in."""
    m = len(source)
    number, bounds = np.arange(m + 1), as_tensor(ptr)
    back, _, _ = loops.transpose(source, number, len(ptr) - 1, _NO_WEIGHT)
    each, target = as_tensor(number), as_tensor(np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)))
    features = prepared.edge_features
    return Edges(
        gather=Segments(as_tensor(source), each, as_tensor(back), bounds),
        collect=Segments(each[:-1], bounds, target, each),
        label=as_tensor(prepared.edge_label[entry]),
        features=None if features is None else features[as_tensor(entry)],
    )


def _start_features(prepared: Prepared, starts: IntArray) -> Tensor | None:
    """Float edge features of the start rows in the direct path, zero where there is no edge."""
    if prepared.edge_features is None:
        return None
    assert prepared.classes.start_entry is not None
    entry = prepared.classes.start_entry[starts]
    features = prepared.edge_features[as_tensor(np.maximum(entry, 0))]
    return features * as_tensor(entry >= 0).unsqueeze(1)


def _groups(bounds: IntArray, shift: int = 0) -> Tensor:
    """(start, stop, part) of every part that has rows."""
    part = np.flatnonzero(bounds[1:] > bounds[:-1])
    return as_tensor(np.stack([bounds[part] + shift, bounds[part + 1] + shift, part], 1))
