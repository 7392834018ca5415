"""Everything about a set of graphs that does not change while a model is trained on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import InputError
from ..graph.classes import InteractionClasses, Selection, interaction_classes
from ..graph.graphs import Graphs
from ..graph.kernels.gather import gather_edges, gather_vertices
from ..graph.kernels.segments import group
from ..graph.partition import Partition, partition
from ..graph.vocabulary import Vocabulary
from .batch import AlphaRound, Edges, GraphBatch, Terms
from .grouped import Groups
from .segments import Segments

__all__ = ["Prepared", "prepare"]

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Prepared:
    """Graphs with their parts, α classes and features, ready to be cut into batches.

    Attributes:
        graphs, partition, vocabulary, classes: what the graph core computed, once.
        part: index in the vocabulary of every vertex.
        part_of_colour: index in the vocabulary of every part of ``partition``.
        x: node features, float [vertices, features] or int [vertices, columns].
        edge_label: label + 1 of every CSR entry, 0 for none; ``edge_features``: float ones.
        components: connected components, [graphs, parts].
        y: labels of graphs or vertices, or ``None``; ``node_level`` says which.
        distances: whether hop distances count.
    """

    graphs: Graphs
    partition: Partition
    vocabulary: Vocabulary
    classes: InteractionClasses
    part: IntArray
    part_of_colour: IntArray
    x: Tensor
    edge_label: IntArray
    edge_features: Tensor | None
    components: IntArray
    y: Tensor | None
    node_level: bool
    distances: bool

    def __len__(self) -> int:
        return len(self.graphs)

    @property
    def parts(self) -> int:
        """Parts of the vocabulary, the reserved one included, as the model asks for."""
        return self.vocabulary.size + 1

    @property
    def options(self) -> dict[str, Any]:
        """What a model for these graphs has to be given, beside its outputs."""
        floats, width = self.x.is_floating_point(), int(self.x.shape[1])
        codes = () if floats else tuple(int(c.max()) + 1 if len(c) else 1 for c in self.x.T)
        features = self.edge_features
        return {
            "scheme": self.vocabulary.scheme,
            "interactions": self.classes.interactions,
            "d": self.classes.d,
            "distances": self.distances,
            "layers": self.classes.rounds,
            "parts": self.parts,
            "features": width if floats else 0,
            "codes": codes,
            "edge_labels": int(self.edge_label.max(initial=0)),
            "edge_features": 0 if features is None else int(features.shape[1]),
            "level": "node" if self.node_level else "graph",
        }

    def batches(
        self, graphs: IntArray, size: int, generator: np.random.Generator | None = None
    ) -> Iterator[GraphBatch]:
        """Batches of at most ``size`` of the given graphs, shuffled if a generator is given."""
        graphs = np.asarray(graphs, np.int64)
        if generator is not None:
            graphs = generator.permutation(graphs)
        for start in range(0, len(graphs), size):
            yield self.batch(graphs[start : start + size])

    def batch(self, graphs: Any = None) -> GraphBatch:
        """The given graphs (all by default) side by side."""
        chosen = np.arange(len(self)) if graphs is None else np.asarray(graphs, np.int64)
        vertices, starts = gather_vertices(chosen, self.graphs.ptr)
        n, parts = len(vertices), self.vocabulary.size + 1
        order, bounds = group(self.part[vertices], parts)
        rank = np.empty(n, np.int64)
        rank[order] = np.arange(n)
        row, column, entry = gather_edges(
            chosen, self.graphs.ptr, self.graphs.indptr, self.graphs.indices, starts, rank
        )
        selected = self.classes.select(chosen)
        near = _symmetric(rank[selected.pair_centre], rank[selected.pair_other], n)
        start, start_order, rounds = self._rounds(selected, rank, n, parts)
        owner = np.repeat(np.arange(len(chosen)), np.diff(starts))
        as_tensor = torch.from_numpy
        sorted_vertices = as_tensor(vertices[order])
        y = None
        if self.y is not None:
            y = self.y[as_tensor(vertices if self.node_level else chosen)]
        return GraphBatch(
            x=self.x[sorted_vertices],
            part=as_tensor(self.part[vertices[order]]),
            neighbours=_symmetric(row, column, n),
            near=near,
            edges=self._edges(row, column, entry, n),
            start=start,
            start_features=self._start_features(selected, start_order),
            rounds=rounds,
            readout=Segments(
                as_tensor(rank), as_tensor(starts), as_tensor(owner[order]), torch.arange(n + 1)
            ),
            components=as_tensor(self.components[chosen]),
            order=_permutation(rank),
            vertices=as_tensor(np.diff(starts).astype(np.float64))[:, None].to(_floating(self.x)),
            y=y,
            vertex_weight=None,
            graph_weight=None,
            vertex_id=None,
            graph_id=None,
            groups=_groups(bounds),
            terms=Terms(
                self.vocabulary.scheme,
                self.classes.interactions,
                self.classes.d,
                self.distances,
                self.parts,
                self.vocabulary.digest,
            ),
        )

    def _edges(self, row: IntArray, column: IntArray, entry: IntArray, n: int) -> Edges:
        order, ptr = group(row, n)
        source, target, entry = column[order], row[order], entry[order]
        back, _ = group(source, n)
        each, bounds = torch.arange(len(row) + 1), torch.from_numpy(ptr)
        gather = Segments(torch.from_numpy(source), each, torch.from_numpy(back), bounds)
        return Edges(
            gather=gather,
            collect=Segments(each[:-1], bounds, torch.from_numpy(target), each),
            label=torch.from_numpy(self.edge_label[entry]),
            features=None if self.edge_features is None else self.edge_features[entry],
        )

    def _rounds(
        self, selected: Selection, rank: IntArray, n: int, parts: int
    ) -> tuple[Tensor, IntArray, tuple[AlphaRound, ...]]:
        """Start classes, the order they were put in, and the rounds; the rows of every table are
        sorted by the part of u."""
        start = selected.start.copy()
        start[:, 0] = self.part_of_colour[start[:, 0]]
        start[:, 2] = self.part_of_colour[start[:, 2]]
        start_order, start_bounds = group(np.ascontiguousarray(start[:, 2]), parts)
        start = start[start_order]
        start_rank = _inverse(start_order)
        rows = start_rank
        centre = rank[selected.pair_centre]
        rounds = []
        for found, pair_class in zip(selected.rounds, selected.pair_class, strict=True):
            part = self.part_of_colour[found.part]
            order, bounds = group(part, parts)
            own, size, tuples = _inverse(order), len(order), len(found.first)
            before, rows = rows, np.concatenate([own, size + start_rank])
            number = np.arange(max(size, tuples))
            members = np.concatenate([2 * before[found.first], 2 * before[found.second] + 1])
            rounds.append(
                AlphaRound(
                    previous=Segments.build(
                        number[:size], before[found.previous[order]], size, len(before)
                    ),
                    met=Segments.build(
                        np.concatenate([number[:tuples]] * 2), members, tuples, 2 * len(before)
                    ),
                    tuples=Segments.build(
                        own[found.entry_class], found.entry_tuple, size, tuples, found.entry_count
                    ),
                    weight=torch.from_numpy(found.class_weight[order]),
                    tuple_weight=torch.from_numpy(found.tuple_weight),
                    part=torch.from_numpy(np.concatenate([part[order], start[:, 2]])),
                    pairs=Segments.build(centre, rows[pair_class], n, len(rows)),
                    groups=_groups(bounds) + _groups(start_bounds, size),
                )
            )
        return torch.from_numpy(start), start_order, tuple(rounds)

    def _start_features(self, selected: Selection, order: IntArray) -> Tensor | None:
        """Float edge features of the start rows in the direct path, zero where there is no edge."""
        if self.edge_features is None:
            return None
        assert selected.start_entry is not None
        entry = selected.start_entry[order]
        features = self.edge_features[np.maximum(entry, 0)]
        return features * torch.from_numpy(entry >= 0).unsqueeze(1)


def prepare(
    graphs: Graphs,
    *,
    scheme: str = "core-degree",
    interactions: str = "edges",
    d: int = 1,
    layers: int = 3,
    distances: bool = False,
    vocabulary: Vocabulary | None = None,
    x: Tensor | None = None,
    edge_labels: IntArray | None = None,
    edge_features: Tensor | None = None,
    y: Tensor | None = None,
    node_level: bool = False,
    direct: bool = False,
    cut: Partition | None = None,
    classes: InteractionClasses | None = None,
) -> Prepared:
    """Cut the graphs, number the classes of their interactions, and keep the features beside.

    Args:
        graphs: the graphs; scheme, interactions, d, layers, distances: as in the model.
        vocabulary: of the model, for graphs it was not fitted on; fitted here by default.
        x: node features, float [vertices, features] or codes, int [vertices, columns].
        edge_labels: integers per CSR entry (``graphs.edge_labels`` is the place for them).
        edge_features: floats per CSR entry. They have no classes: the direct path is taken.
        y: labels per graph, or per vertex with ``node_level``.
        direct: one class per pair: the formula as it stands, for tests and comparison.
        cut, classes: the partition and the classes, where they were computed before.
    """
    cut = cut if cut is not None else partition(graphs, scheme)
    vocabulary = vocabulary or Vocabulary.fit(cut)
    part = vocabulary.encode(cut).index
    part_of_colour = np.full(cut.num_parts, vocabulary.size, np.int64)
    part_of_colour[cut.part] = part
    components = np.zeros((len(graphs), vocabulary.size + 1), np.int64)
    np.add.at(components.T, part_of_colour, cut.components().T)
    components[:, -1] = 0  # the reserved part never varies in training: its count means nothing
    n, entries = graphs.num_nodes, len(graphs.indices)
    for name, value, length in (
        ("x", x, n),
        ("edge_labels", edge_labels, entries),
        ("edge_features", edge_features, entries),
        ("y", y, n if node_level else len(graphs)),
    ):
        if value is not None and len(value) != length:
            raise InputError(f"{name} has {len(value):,} rows where {length:,} are needed.")
    if x is not None and x.is_floating_point() and not bool(torch.isfinite(x).all()):
        raise InputError("The node features hold NaN or infinity. Fill or drop these values first.")
    if x is not None and not x.is_floating_point() and x.numel() and int(x.min()) < 0:
        raise InputError(f"Codes of vertices are whole numbers from 0; x holds {int(x.min())}.")
    labels = np.zeros(entries, np.int64) if edge_labels is None else edge_labels + 1
    if classes is None:
        classes = interaction_classes(
            graphs,
            cut.part,
            interactions=interactions,
            d=d,
            rounds=layers,
            edge_labels=edge_labels,
            distances=distances,
            merge=not direct and edge_features is None,
        )
    return Prepared(
        graphs,
        cut,
        vocabulary,
        classes,
        part,
        part_of_colour,
        torch.zeros(n, 0) if x is None else x,
        labels,
        edge_features,
        components,
        y,
        node_level,
        bool(distances),
    )


def _groups(bounds: IntArray, shift: int = 0) -> Groups:
    """(start, stop, part) of every part that has rows."""
    ends = (bounds + shift).tolist()
    return tuple((a, b, j) for j, (a, b) in enumerate(pairwise(ends)) if b > a)


def _symmetric(row: IntArray, column: IntArray, n: int) -> Segments:
    """Segments of a symmetric relation: its own transpose."""
    order, ptr = group(row, n)
    index, bounds = torch.from_numpy(column[order]), torch.from_numpy(ptr)
    return Segments(index, bounds, index, bounds)


def _permutation(rank: IntArray) -> Segments:
    each = torch.arange(len(rank) + 1)
    return Segments(torch.from_numpy(rank), each, torch.from_numpy(_inverse(rank)), each)


def _inverse(order: IntArray) -> IntArray:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return inverse


def _floating(x: Tensor) -> torch.dtype:
    return x.dtype if x.is_floating_point() else torch.get_default_dtype()
