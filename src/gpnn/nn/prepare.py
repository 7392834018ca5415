"""Prepares graphs for a model: computes everything that stays fixed during training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..arrays import is_a
from ..errors import InputError
from ..graph.classes import InteractionClasses, interaction_classes
from ..graph.convert import as_graphs
from ..graph.graphs import Graphs
from ..graph.partition import Partition, partition
from ..graph.peers.structure import PeerStructure
from ..graph.structure import Structure
from ..graph.vocabulary import Vocabulary
from ..graph.walks import walk_encodings
from ..options import Whole
from .batch import GraphBatch, Terms
from .collate import collate
from .collate_cells import CellIndex
from .indexing import graph_numbers
from .peers import PEERS, PeerSpec, peer_of

if TYPE_CHECKING:
    from .model import GPNN

__all__ = ["Prepared", "label_codes", "prepare", "prepare_graphs"]

IntArray = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Prepared:
    """Graphs with their parts, α classes and features, ready to be batched.

    It has a length, can be pickled, and is indexed like a PyG dataset: ``ready[3]`` is a batch of
    one graph, ``ready[:100]`` and ``ready[mask]`` are subsets.

    Attributes:
        structure: the structural options.
        graphs, vocabulary, classes: the results of the graph core.
        part: index in the vocabulary of every vertex.
        part_of_colour: index in the vocabulary of every colour that occurs.
        x: node features, float [vertices, features] or int [vertices, columns].
        edge_label: label + 1 of every CSR entry, 0 for none; ``edge_features``: float features.
        codes, edge_labels: number of values of every column of codes, and of edge labels.
        components: number of connected components, [graphs, parts].
        labels: labels of graphs, or of vertices if ``node_level``, or ``None``.
        walks: random-walk encodings, [vertices, walks], or ``None``.
        descriptors: descriptors of every graph, [graphs, width], or ``None``.
        cells: the input of a peer, or ``None``; ``peer``: its name with options, or "".
        more: further attributes: for every name, the values of all graphs.
        chosen: the numbers of the graphs of a subset, or ``None`` for all.
    """

    structure: Structure
    graphs: Graphs
    vocabulary: Vocabulary
    classes: InteractionClasses
    part: IntArray
    part_of_colour: IntArray
    x: Tensor
    edge_label: IntArray
    edge_features: Tensor | None
    codes: tuple[int, ...]
    edge_labels: int
    components: IntArray
    labels: Tensor | None
    node_level: bool
    walks: Tensor | None = None
    descriptors: Tensor | None = None
    cells: CellIndex | None = None
    peer: str = ""
    more: Mapping[str, list[Any]] = field(default_factory=dict)
    chosen: IntArray | None = None

    def __len__(self) -> int:
        return len(self.graphs) if self.chosen is None else len(self.chosen)

    def __getitem__(self, index: Any) -> Any:
        one = isinstance(index, int | np.integer) and not isinstance(index, bool)
        return self.batch([index]) if one else replace(self, chosen=self._numbers(index))

    def __iter__(self) -> Iterator[GraphBatch]:
        return (self[number] for number in range(len(self)))

    def _numbers(self, index: Any) -> IntArray:
        numbers = graph_numbers(index, len(self))
        return numbers if self.chosen is None else self.chosen[numbers]

    @property
    def parts(self) -> int:
        """Number of parts in the vocabulary, including the reserved one, as the model takes it."""
        return self.vocabulary.size + 1

    @property
    def y(self) -> Tensor | None:
        """Labels of the graphs, or of their vertices, in order."""
        if self.labels is None or self.chosen is None:
            return self.labels
        if not self.node_level:
            return self.labels[torch.from_numpy(self.chosen)]
        first, last = (torch.from_numpy(self.graphs.ptr[self.chosen + k]) for k in (0, 1))
        shift = torch.repeat_interleave(last - (last - first).cumsum(0), last - first)
        return self.labels[torch.arange(len(shift)) + shift]

    @cached_property
    def pair_first(self) -> IntArray:
        """Where the pairs (v, u) of every vertex v begin among all pairs, [vertices + 1]."""
        bounds = np.arange(self.graphs.num_nodes + 1)
        return np.searchsorted(self.classes.pair_centre, bounds).astype(np.int64)

    @cached_property
    def terms(self) -> Terms:
        return Terms.of(self.structure, self.parts, self.vocabulary.digest, self.peer)

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of a model for these graphs, except its outputs: the structural options, the
        parts that occur, and the width of the features."""
        floats = self.x.is_floating_point()
        features = self.edge_features
        return {
            "structure": self.structure,
            "vocabulary": self.vocabulary,
            "features": int(self.x.shape[1]) if floats else 0,
            "codes": () if floats else self.codes,
            "edge_labels": self.edge_labels,
            "edge_features": 0 if features is None else int(features.shape[1]),
            "level": "node" if self.node_level else "graph",
        }

    def batches(
        self, graphs: Any = None, size: int = 32, generator: np.random.Generator | None = None
    ) -> Iterator[GraphBatch]:
        """Batches of at most ``size`` of the given graphs (all by default), shuffled if a generator
        is given. Graphs are selected by numbers, a slice or a boolean mask."""
        size = Whole(1).read("size", size)
        numbers = graph_numbers(graphs, len(self))
        if generator is not None:
            numbers = generator.permutation(numbers)
        for start in range(0, len(numbers), size):
            yield self.batch(numbers[start : start + size])

    def batch(self, graphs: Any = None, edges: bool = True) -> GraphBatch:
        """One batch of the given graphs (all by default): numbers, a slice or a boolean mask."""
        numbers = self._numbers(graphs)
        made = collate(self, [numbers], edges)
        if not self.more:
            return made
        return replace(made, more=_joined(self.more, numbers, np.diff(self.graphs.ptr)))

    def __repr__(self) -> str:
        return f"Prepared({len(self):,} graphs, {self.structure}, {self.vocabulary.size} parts)"


def prepare(
    source: Any,
    *,
    like: Prepared | GPNN | None = None,
    node_level: bool = False,
    x: Tensor | None = None,
    edge_labels: IntArray | None = None,
    edge_features: Tensor | None = None,
    y: Tensor | None = None,
    direct: bool = False,
    peer: str | None = None,
    **options: Any,
) -> Prepared:
    """Partition graphs, number the classes of their interactions, and store their features.

    ========== ===================================================================================
    PyG data   how it is used
    ========== ===================================================================================
    x          node features: floats unchanged, integers as codes
    edge_attr  integers (one column) and one-hot rows become labels, which are part of the classes
               of pairs; other floats have no classes, so the direct path is taken
    y          labels of graphs, or of vertices with ``node_level``
    others     available in the batches: ``batch.pos``
    ========== ===================================================================================

    Args:
        source: PyG's ``Data``, ``Batch``, dataset or list of ``Data``; or anything
            :func:`~gpnn.graph.convert.as_graphs` takes, with features by argument.
        like: previously prepared graphs, or a model: the same options are used, and colours unseen
            there are assigned to the reserved part.
        node_level: whether labels belong to vertices.
        x: node features, float [vertices, features] or codes, int [vertices, columns].
        edge_labels: integers per CSR entry; ``edge_features``: floats per CSR entry.
        y: labels per graph, or per vertex with ``node_level``.
        direct: use one class per pair, which is the literal formula, for tests and comparison.
        peer: a peer that will read the graphs, such as ``cin``; see :data:`~gpnn.nn.peers.PEERS`.
        options: scheme, interactions, d, layers, distances, labels, walks: see
            :class:`~gpnn.graph.structure.Structure`.

    >>> ready = prepare(dataset, scheme="core", layers=2)  # doctest: +SKIP
    >>> model = GPNN(base="gin", outputs=2, **ready.options)  # doctest: +SKIP
    """
    vocabulary = None
    if peer is not None:
        peer = str(_peer_spec(peer))
    if like is not None:
        if options:
            raise InputError(f"like= brings {', '.join(options)}: leave them out.")
        structure, vocabulary = _terms_of(like)
        peer = peer or _peer_of_like(like)
    else:
        structure, rest = Structure.split(options)
        if rest:
            raise InputError(f"Unknown option {', '.join(rest)}.")
    if _is_pyg(source):
        from .from_pyg import read_data

        if any(value is not None for value in (x, edge_labels, edge_features, y)):
            raise InputError("PyG data brings its features and labels. Set them there.")
        read = read_data(source, node_level)
        return prepare_graphs(
            read.graphs,
            structure,
            vocabulary,
            node_level=node_level,
            direct=direct,
            peer=peer,
            **read.fields,
        )
    graphs = as_graphs(source)
    return prepare_graphs(
        graphs, structure, vocabulary, x=x, edge_labels=edge_labels, edge_features=edge_features,
        y=y, node_level=node_level, direct=direct, peer=peer,
    )  # fmt: skip


def _is_pyg(source: Any) -> bool:
    if is_a(source, "torch_geometric", "BaseData") or is_a(source, "torch", "Dataset"):
        return True
    items = isinstance(source, list | tuple) and len(source) > 0
    return items and all(is_a(item, "torch_geometric", "BaseData") for item in source)


def _peer_of_like(like: Any) -> str | None:
    """The peer that graphs were prepared for, or that a model is."""
    if isinstance(like, Prepared):
        return like.peer or None
    return None if like.config.peer is None else str(like.config.peer)


def _peer_spec(peer: Any) -> PeerSpec:
    spec = peer_of(peer) if isinstance(peer, str) else None
    if spec is None:
        raise InputError(
            f"There is no peer {peer!r}. Choose one of {', '.join(PEERS)}, with options such as "
            "cin:rings=8."
        )
    return spec


def _terms_of(like: Any) -> tuple[Structure, Vocabulary]:
    if isinstance(like, Prepared):
        return like.structure, like.vocabulary
    vocabulary = getattr(like, "vocabulary", None)
    if vocabulary is None:
        raise InputError(
            "like= takes prepared graphs, or a model that knows its parts: "
            "GPNN(..., **ready.options)."
        )
    return like.config.structure, vocabulary


def prepare_graphs(
    graphs: Graphs,
    structure: Structure,
    vocabulary: Vocabulary | None = None,
    *,
    x: Tensor | None = None,
    edge_labels: IntArray | None = None,
    edge_features: Tensor | None = None,
    label_count: int | None = None,
    y: Tensor | None = None,
    node_level: bool = False,
    more: Mapping[str, list[Any]] | None = None,
    direct: bool = False,
    descriptors: Tensor | None = None,
    cut: Partition | None = None,
    classes: InteractionClasses | None = None,
    peer: str | None = None,
    peer_structure: PeerStructure | None = None,
) -> Prepared:
    """Like :func:`prepare`, from graphs and arrays.

    Args:
        vocabulary: vocabulary of the model, for graphs it was not fitted on; fitted here by
            default.
        label_count: number of edge labels, if known in advance.
        cut, classes: the partition and the classes, if already computed.
    """
    cut = cut if cut is not None else partition(graphs, structure.scheme)
    vocabulary = vocabulary or Vocabulary.fit(cut)
    part = vocabulary.encode(cut).index
    part_of_colour = np.full(cut.num_parts, vocabulary.size, np.int64)
    part_of_colour[cut.part] = part
    components = np.zeros((len(graphs), vocabulary.size + 1), np.int64)
    np.add.at(components.T, part_of_colour, cut.components().T)
    components[:, -1] = 0  # constant in training: the count of the reserved part means nothing
    n, entries = graphs.num_nodes, len(graphs.indices)
    _check_lengths(
        x=(x, n),
        edge_labels=(edge_labels, entries),
        edge_features=(edge_features, entries),
        y=(y, n if node_level else len(graphs)),
        descriptors=(descriptors, len(graphs)),
    )
    x = torch.zeros(n, 0) if x is None else _features(x)
    labels = np.zeros(entries, np.int64) if edge_labels is None else edge_labels + 1
    if labels.min(initial=0) < 0:
        raise InputError(f"Edge labels must be whole numbers from 0; got {labels.min() - 1}.")
    if edge_features is not None:
        edge_features = edge_features.to(torch.get_default_dtype())
        if not bool(torch.isfinite(edge_features).all()):
            raise InputError("The edge features hold NaN or infinity. Fill or drop them first.")
    if classes is None:
        classes = interaction_classes(
            graphs, cut.part, structure, edge_labels,
            merge=not direct and edge_features is None,
            vertex_labels=label_codes(x) if structure.labels else None,
        )  # fmt: skip
    floats = x.is_floating_point()
    walks = None
    if structure.walks:
        walks = torch.from_numpy(walk_encodings(graphs, structure.walks))
        walks = walks.to(x.dtype if floats else torch.get_default_dtype())
    spec = peer_of(peer)
    if spec is not None and peer_structure is None:
        edged = edge_features is not None or bool(labels.any() or label_count)
        peer_structure = spec.build(graphs, edged)
    return Prepared(
        structure=structure,
        graphs=graphs,
        vocabulary=vocabulary,
        classes=classes,
        part=part,
        part_of_colour=part_of_colour,
        x=x,
        edge_label=labels,
        edge_features=edge_features,
        codes=() if floats else tuple(int(c.max()) + 1 if len(c) else 1 for c in x.T),
        edge_labels=int(labels.max(initial=0)) if label_count is None else label_count,
        components=components,
        labels=y,
        node_level=node_level,
        walks=walks,
        descriptors=descriptors,
        cells=None if peer_structure is None else CellIndex(peer_structure, graphs),
        peer="" if spec is None else str(spec),
        more=more or {},
    )


def label_codes(x: Tensor | None) -> IntArray:
    """The label of every vertex: the first column of codes, such as the element of an atom, or the
    index of the entry that is set in a one-hot row; one past the last if none is."""
    if x is None or not x.shape[1]:
        raise InputError("labels=True needs labels of vertices, and these graphs have none.")
    if not x.is_floating_point():
        codes: IntArray = x[:, 0].numpy()
        return codes
    total = x.sum(1)
    if not bool(((x == 0) | (x == 1)).all() and (total <= 1).all() and total.any()):
        raise InputError(
            "labels=True needs labels of vertices: whole numbers or one-hot rows. These graphs "
            "have numbers as features. Leave labels out."
        )
    return torch.where(total > 0, x.argmax(1), x.shape[1]).numpy()


def _check_lengths(**given: tuple[Any, int]) -> None:
    for name, (value, length) in given.items():
        if value is not None and len(value) != length:
            raise InputError(f"{name} has {len(value):,} rows where {length:,} are needed.")


def _features(x: Tensor) -> Tensor:
    """Node features as a table: floats in torch's default precision, or codes from 0."""
    x = x.unsqueeze(1) if x.dim() == 1 else x
    if x.dim() != 2:
        raise InputError(f"x must have shape [vertices, features]; got {list(x.shape)}.")
    if x.is_floating_point():
        if not bool(torch.isfinite(x).all()):
            raise InputError("The node features hold NaN or infinity. Fill or drop them first.")
        return x.to(torch.get_default_dtype())
    if x.is_complex():
        raise InputError("The node features are complex numbers. Give floats or whole numbers.")
    x = x.long()
    if x.numel() and int(x.min()) < 0:
        raise InputError(f"Codes of vertices are whole numbers from 0; x holds {int(x.min())}.")
    return x


def _joined(more: Mapping[str, list[Any]], numbers: IntArray, sizes: IntArray) -> dict[str, Any]:
    """Attributes of some graphs, collated as in a PyG batch."""
    from torch_geometric.data import Batch, Data

    items = [
        Data(num_nodes=int(sizes[k]), **{name: values[k] for name, values in more.items()})
        for k in numbers.tolist()
    ]
    joined = Batch.from_data_list(items)
    return {name: joined[name] for name in more}
