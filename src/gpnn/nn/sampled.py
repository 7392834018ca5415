"""Training on blocks of one large graph: neighbourhoods of roots, sampled anew for every step.

A layer reaches two hops: Equation 3 reads β of the neighbours of v, and Equation 1 reads γ of their
neighbours. L layers therefore take 2 L draws, with one number of neighbours each (``fanout``). With
S(v) ⊆ N(v) drawn without replacement::

    Σ_{u ∈ N(v)} f(u)   becomes   deg(v) / |S(v)| · Σ_{u ∈ S(v)} f(u)

in Equations 1 and 3 and in the base GNN, which is unbiased before the non-linearity that follows.
v itself is always included. α depends only on the structure, and its classes are those of the whole
graph: Equation 2 is not sampled, but computed exactly for the classes that a block reads. Parts and
vocabulary are also those of the whole graph, so a colour means the same in every block.

Normalisations compute statistics over the roots and over the pairs of the roots: these are a
representative sample of the graph, while the vertices drawn around them over-represent hubs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import InputError
from ..options import Whole
from .batch import AlphaRound, GraphBatch, PairRows, SampledRows
from .collate import _groups, _segments
from .config import GPNNConfig
from .kernels import collate as loops
from .kernels.sample import draw_block, needed_rows
from .prepare import Prepared
from .segments import Segments

__all__ = ["Sampler", "check_fanout", "read_fanout"]

IntArray = NDArray[np.int64]
as_tensor = torch.from_numpy
BASES = (None, "gin", "sage")


def read_fanout(fanout: Any) -> tuple[int, ...] | None:
    """Integers from 1, or -1 for all neighbours."""
    if fanout is None:
        return None
    if isinstance(fanout, int) or not isinstance(fanout, Sequence) or isinstance(fanout, str):
        raise InputError(f"fanout must be a list of numbers, two for every layer; got {fanout!r}.")
    return tuple(-1 if one == -1 else Whole(1).read("fanout", one) for one in fanout)


def check_fanout(fanout: Sequence[int], config: GPNNConfig) -> None:
    """Reject configurations that cannot be trained on samples of a graph."""
    layers, structure = config.structure.layers, config.structure
    if len(fanout) != 2 * layers:
        raise InputError(
            f"fanout has {len(fanout)} numbers, and {layers} layer{'s' * (layers > 1)} "
            f"look{'s' * (layers == 1)} {2 * layers} hops far, two each. Give {2 * layers} "
            f"numbers, such as {' '.join(['15', '10', *['5'] * (2 * layers - 2)])}."
        )
    if config.level != "node":
        raise InputError("fanout is for vertices of one graph. Leave it out for sets of graphs.")
    if config.base not in BASES or config.inside or config.virtual_node or config.edge_features:
        raise InputError(
            "fanout needs the base gin, sage or none, without join='inside', a virtual node "
            "and float edge features."
        )
    if config.component_feature:
        raise InputError("fanout cannot be used with component_feature.")
    if not config.gpnn or structure.d != 1 or structure.interactions == "pairs":
        raise InputError("fanout needs GPNN with d=1 and interactions 'cross' or 'edges'.")


class Sampler:
    """Samples blocks of one prepared graph.

    Args:
        prepared: one graph, d = 1.
        fanout: number of neighbours drawn for a vertex h hops from the roots, for h = 0, 1, …,
            2 L - 1; -1 for all.
    """

    def __init__(self, prepared: Prepared, fanout: Sequence[int]) -> None:
        assert len(prepared.graphs) == 1 and len(fanout) == 2 * prepared.structure.layers
        self.prepared, self.layers = prepared, prepared.structure.layers
        self.fanout = np.asarray(fanout, np.int64)
        self.place = np.full(prepared.graphs.num_nodes, -1, np.int64)

    @cached_property
    def own_pair(self) -> IntArray:
        """The pair (v, v) of every vertex."""
        classes = self.prepared.classes
        return np.flatnonzero(classes.pair_centre == classes.pair_other)

    def batch(self, roots: IntArray, seed: int) -> GraphBatch:
        """The block of some distinct vertices. The network computes one row for each."""
        prepared, graphs = self.prepared, self.prepared.graphs
        vertices, ends, bounds, drawn, entry = draw_block(
            graphs.indptr, graphs.indices, roots, self.fanout, seed, self.place
        )
        block = _Block(prepared, self.own_pair, vertices, ends, bounds, drawn, entry)
        layers = tuple(block.layer(2 * (self.layers - 1 - r)) for r in range(self.layers))
        start, rounds = self._interactions(block)
        ids, own = as_tensor(vertices), as_tensor(roots)
        count, one = len(roots), torch.ones(1, dtype=torch.int64)
        each = torch.arange(count + 1)
        labels = prepared.labels
        whole, last = as_tensor(prepared.part[vertices]), layers[-1]
        assert last.near is not None
        return GraphBatch(
            features=prepared.x[ids],
            part=whole,
            neighbours=last.neighbours,
            near=last.near,
            edges=None,
            start=start,
            start_features=None,
            rounds=rounds,
            readout=Segments(each[:-1], torch.tensor([0, count]), each[:-1] * 0, each),
            components=as_tensor(prepared.components),
            order=Segments(each[:-1], each, each[:-1], each),
            vertices=one.to(torch.get_default_dtype()).view(1, 1) * count,
            y=None if labels is None else labels[own],
            vertex_weight=None,
            graph_weight=None,
            vertex_id=own,
            graph_id=one - 1,
            groups=torch.zeros(0, 3, dtype=torch.int64),
            walks=None if prepared.walks is None else prepared.walks[ids],
            terms=prepared.terms,
            layers=layers,
            base_layers=tuple(block.base(self.layers - 1 - r) for r in range(self.layers)),
        )

    def batches(self, size: int) -> Iterator[GraphBatch]:
        """Blocks of all vertices in order, the same in every call."""
        for start in range(0, len(self.place), size):
            yield self.batch(np.arange(start, min(start + size, len(self.place))), 0)

    def _interactions(self, block: _Block) -> tuple[Tensor, tuple[AlphaRound, ...]]:
        """The classes that a block reads and the classes they depend on, round by round."""
        prepared, classes = self.prepared, self.prepared.classes
        part_of, parts, count = prepared.part_of_colour, prepared.parts, len(classes.start)
        wanted: list[IntArray] = []
        starts = np.zeros(count, np.bool_)
        chosen = np.zeros(0, np.int64)
        for r in range(self.layers - 1, -1, -1):
            table = classes.tables[r]
            mark = np.zeros(table.size + count, np.int8)
            mark[classes.pair_class[r][block.pairs(2 * (self.layers - 1 - r))[2]]] = 1
            if r + 1 < self.layers:
                self._mark(classes.tables[r + 1], chosen, mark)
            starts |= mark[table.size :] > 0
            chosen = np.flatnonzero(mark[: table.size])
            chosen = chosen[np.argsort(part_of[table.part[chosen]], kind="stable")]
            wanted.insert(0, chosen)
        more = np.zeros(count, np.int8)
        self._mark(classes.tables[0], chosen, more)
        first = np.flatnonzero(starts | (more > 0))
        first = first[np.argsort(part_of[classes.start[first, 2]], kind="stable")]
        start = classes.start[first]
        start[:, 0], start[:, 2] = part_of[start[:, 0]], part_of[start[:, 2]]
        start_mark = np.zeros((1, count), np.int32)
        start_mark[0, first] = np.arange(1, len(first) + 1)
        size, used, rows, marked, rounds = 0, 0, len(first), start_mark, []
        by_part, own_pairs, own_scale = start[:, 2], block.pairs(0)[2], block.scale_of(0)
        start_groups = _groups(np.searchsorted(by_part, np.arange(parts + 1)))
        for r, table in enumerate(classes.tables):
            chosen = wanted[r]
            weight = np.bincount(classes.pair_class[r][own_pairs], own_scale, table.size + count)
            weight = weight[chosen].astype(np.float32)
            arrays = (
                table.previous, table.first, table.second, table.entry_ptr, table.entry_tuple,
                table.entry_count, table.shared, table.shared_ptr, table.shared_tuple,
                table.shared_count,
            )  # fmt: skip
            made = loops.collate_round(
                chosen, weight, size, used, rows, marked, start_mark, arrays,
                np.zeros((1, len(table.first)), np.int32),
            )  # fmt: skip
            before, size, used = rows, table.size, len(chosen)
            rows = used + len(first)
            marked = np.zeros((1, size), np.int32)
            marked[0, chosen] = np.arange(1, used + 1)
            hops = 2 * (self.layers - 1 - r)
            pair = block.pairs(hops)[2]
            ptr = block.bounds[: block.ends[hops] + 1] + np.arange(block.ends[hops] + 1)
            own = loops.collate_pairs(
                pair, ptr, classes.pair_class[r], size, used, rows, marked, start_mark
            )
            part = np.concatenate([part_of[table.part[chosen]], by_part])
            groups = _groups(np.searchsorted(part[:used], np.arange(parts + 1)))
            shifted = start_groups + used * torch.tensor([1, 1, 0])
            rounds.append(
                replace(
                    _round(made, before, weight, own, ptr, rows, block.scale_of(hops)),
                    part=as_tensor(part),
                    groups=torch.cat([groups, shifted]),
                )
            )
        return as_tensor(start), tuple(rounds)

    @staticmethod
    def _mark(table: Any, chosen: IntArray, mark: NDArray[np.int8]) -> None:
        needed_rows(
            chosen, table.previous, table.first, table.second, table.entry_ptr, table.entry_tuple,
            table.shared, table.shared_ptr, table.shared_tuple, mark,
        )  # fmt: skip


def _round(
    made: Any, before: int, weight: Any, own: IntArray, ptr: IntArray, rows: int, scale: Any
) -> AlphaRound:
    (
        previous, previous_ends, met, met_ends, tuples, ends, count, tuple_weight, takes,
        take_ends, far, far_ends, far_count,
    ) = made  # fmt: skip
    number = np.arange(len(own) + 1)
    _, back, order = loops.transpose(own, ptr, rows, number[:-1])
    nothing = torch.zeros(0, dtype=torch.int64)
    return AlphaRound(
        previous=_segments(previous, previous_ends, before),
        met=_segments(met, met_ends, 2 * before),
        tuples=_segments(tuples, ends, len(tuple_weight), count),
        weight=as_tensor(weight),
        tuple_weight=as_tensor(tuple_weight),
        part=nothing,
        pairs=_segments(own, ptr, rows, scale),
        groups=nothing,
        own=Segments(as_tensor(own), as_tensor(number), as_tensor(order), as_tensor(back)),
        takes=_segments(takes, take_ends, len(far_ends) - 1) if len(takes) else None,
        shared=_segments(far, far_ends, len(tuple_weight), far_count) if len(takes) else None,
    )


class _Block:
    """A sampled block. Vertices are numbered in order of discovery, so those within h draws of the
    roots are the first ``ends[h]``."""

    def __init__(
        self,
        prepared: Prepared,
        own_pair: IntArray,
        vertices: IntArray,
        ends: IntArray,
        bounds: IntArray,
        drawn: IntArray,
        entry: IntArray,
    ) -> None:
        self.prepared, self.own_pair = prepared, own_pair
        self.vertices, self.ends = vertices, ends
        self.bounds, self.drawn, self.entry = bounds, drawn, entry
        indptr = prepared.graphs.indptr
        self.degree = np.diff(indptr)[vertices]
        self.scale = (self.degree / np.maximum(np.diff(bounds), 1)).astype(np.float64)

    def scale_of(self, hops: int) -> NDArray[np.float64]:
        """Factors of the pairs of the vertices within ``hops`` draws, the vertex itself first."""
        n = int(self.ends[hops])
        lengths = np.diff(self.bounds[: n + 1]) + 1
        out = np.repeat(self.scale[:n], lengths)
        out[self.bounds[:n] + np.arange(n)] = 1.0
        return out

    def pairs(self, hops: int) -> tuple[IntArray, IntArray, IntArray]:
        """The pairs (v, u), u drawn or v itself, of the vertices within ``hops`` draws: v and u as
        positions in the block, and the pair in the whole graph."""
        n = int(self.ends[hops])
        lengths = np.diff(self.bounds[: n + 1])
        row, own = np.repeat(np.arange(n), lengths + 1), self.bounds[:n] + np.arange(n)
        other, pair = np.empty(len(row), np.int64), np.empty(len(row), np.int64)
        rest = np.ones(len(row), np.bool_)
        rest[own] = False
        v = np.repeat(self.vertices[:n], lengths)
        other[own], other[rest] = np.arange(n), self.drawn[: self.bounds[n]]
        graphs, entry = self.prepared.graphs, self.entry[: self.bounds[n]]
        # pairs are in CSR order, with v itself inserted at its sorted position
        pair[rest] = entry + v + (graphs.indices[entry] > v)
        pair[own] = self.own_pair[self.vertices[:n]]
        return row, other, pair

    def layer(self, hops: int) -> SampledRows:
        """The input of a GPNN layer that computes the vertices within ``hops`` draws."""
        part, parts = self.prepared.part, self.prepared.parts
        low, middle, high = (int(n) for n in self.ends[hops : hops + 3])
        order = np.argsort(part[self.vertices[:middle]], kind="stable")
        rank = np.empty(middle, np.int64)
        rank[order] = np.arange(middle)
        own = part[self.vertices[order]]
        row, other, _ = self.pairs(hops)
        column = rank[other]
        ptr = self.bounds[: low + 1] + np.arange(low + 1)
        scale = self.scale_of(hops)
        near = _segments(column, ptr, middle, scale)
        number = np.arange(len(column) + 1)
        _, _, back = loops.transpose(column, ptr, middle, number[:-1])
        each = as_tensor(number)
        weights = as_tensor(scale)
        return SampledRows(
            neighbours=self._neighbours(order, high),
            near=near,
            part=as_tensor(own),
            groups=_groups(np.searchsorted(own, np.arange(parts + 1))),
            pairs=PairRows(
                Segments(as_tensor(column), each, as_tensor(back), near.back_ptr),
                Segments(each[:-1], as_tensor(ptr), as_tensor(row), each, weights, weights),
            ),
            vertex_id=as_tensor(self.vertices[:low]),
            middle=as_tensor(order),
            size=low,
            degree=None,
            vertex_weight=self._of_roots(np.arange(low)),
            inner_weight=self._of_roots(order),
        )

    def base(self, hops: int) -> SampledRows:
        """The input of a base convolution that computes the vertices within ``hops`` draws."""
        low, high = int(self.ends[hops]), int(self.ends[hops + 1])
        return SampledRows(
            neighbours=self._neighbours(np.arange(low), high),
            near=None,
            part=None,
            groups=None,
            pairs=None,
            vertex_id=as_tensor(self.vertices[:low]),
            middle=None,
            size=low,
            degree=as_tensor(self.degree[:low].astype(np.float64)),
            vertex_weight=self._of_roots(np.arange(low)),
            inner_weight=None,
        )

    def _of_roots(self, rows: IntArray) -> Tensor:
        """1 for roots, otherwise 0."""
        return as_tensor((rows < self.ends[0]).astype(np.float32))

    def _neighbours(self, rows: IntArray, columns: int) -> Segments:
        lengths = np.diff(self.bounds)[rows]
        ptr = np.concatenate(([0], np.cumsum(lengths)))
        at = np.arange(ptr[-1]) + np.repeat(self.bounds[rows] - ptr[:-1], lengths)
        return _segments(self.drawn[at], ptr, columns, np.repeat(self.scale[rows], lengths))
