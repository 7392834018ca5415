"""What the models of a training share: samples, shape of network, parts; and where each starts."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..data.prepared_folder import PreparedSamples
from ..data.raw import DEGREE
from ..data.samples import Samples
from ..data.structure_cache import cached_classes, cached_partition, cached_peer
from ..data.tasks import Task
from ..errors import InputError
from ..graph.learned import learned_parts
from ..graph.partition import Partition
from ..graph.registry import mixed_schemes
from ..graph.structure import Structure
from ..graph.vocabulary import Vocabulary
from ..nn.bases import BASES, known_bases
from ..nn.config import GPNNConfig, Level, usual_weights
from ..nn.learned import LearnedGPNN
from ..nn.mixture import MixedGPNN, make_gpnn
from ..nn.model import GPNN
from ..nn.part_weights import forget_parts
from ..nn.peers import PEERS, peer_of
from ..nn.prepare import Prepared, label_codes, prepare_graphs
from .replica import Replica
from .resident.build import build_resident
from .resident.tables import Resident
from .seeded import Seeded

__all__ = [
    *("CPU", "Setup", "base_alone", "model_config", "named_model", "prepare_samples"),
    "set_up",
]

IntArray = NDArray[np.int64]
CPU = torch.device("cpu")


def model_config(samples: Samples, parts: int, options: Mapping[str, Any]) -> GPNNConfig:
    """The shape of a network for these samples; ``options`` are fields of it to choose freely.

    Where they are not given, the base is GINE if edges have labels or features and GIN else, and
    dropout is 0.5, or 0 where a target is a number. Vertices with float features get the plain
    shape, the base as PyG stacks it under a linear head, unless ``walks`` or ``join="inside"`` ask
    for an encoder.
    """
    encoder, task = samples.encoder, samples.task
    decided = {
        "outputs": samples.outputs,
        "parts": parts,
        "features": encoder.features,
        "codes": encoder.codes,
        "edge_labels": len(encoder.edges),
        "edge_features": encoder.edge_features,
        "descriptors": 0 if encoder.descriptors is None else encoder.descriptors.width,
        "level": str(Level.NODE if task.node_level else Level.GRAPH),
    }
    clash = sorted(set(options) & set(decided))
    if clash:
        raise InputError(f"{', '.join(clash)} follow from the data. Leave them out.")
    usual: dict[str, Any] = {
        "base": "gine" if encoder.edges or encoder.edge_features else "gin",
        "dropout": 0.0 if task.scaled else 0.5,
        "part_weights": usual_weights(parts),
    }
    if task.node_level:
        usual["component_feature"] = False  # one graph has one count, the same for every vertex
    encoded = Structure.split(options)[0].walks > 0 or options.get("join") == "inside"
    if task.node_level and encoder.features and not encoded:
        usual |= {"encoder": None, "norm": None, "head": "linear"}
    return GPNNConfig.make(**{**usual, **options, **decided})


def named_model(name: str) -> dict[str, Any]:
    """The options that the name of a model stands for: ``gpnn``, a peer with its options, such as
    ``cin:rings=8``, or a base GNN alone."""
    if name == "gpnn":
        return {}
    if peer_of(name) is None and name not in known_bases():
        raise InputError(
            f"There is no model {name!r}. Choose gpnn, {', '.join(PEERS)} (with options, such as "
            f"cin:rings=8), or a base GNN alone: {', '.join(known_bases())}."
        )
    return {"base": name, "gpnn": False}


def base_alone(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a model; those of a base alone partition into one part, which costs nothing,
    and count no components."""
    if options.get("gpnn", True):
        return dict(options)
    structure, rest = Structure.split(options)
    usual = Structure()
    idle = [name for name in ("d", "distances", "labels")
            if getattr(structure, name) != getattr(usual, name)]  # fmt: skip
    idle += ["join"] if rest.get("join", "beside") != "beside" else []
    if idle:
        raise InputError(f"gpnn=False trains the base GNN alone: leave out {', '.join(idle)}.")
    return {"component_feature": False, **rest, "structure": structure.base_alone}


@dataclass(frozen=True, eq=False)
class Setup:
    """Samples and a shape of network, shared by all replicas.

    The vocabulary holds the colours of all graphs, so that all replicas have the same shape. What
    a replica does not meet in training starts at zero in it, like the part reserved for unseen
    colours, and stays there; a model that is kept knows its own colours alone (:meth:`own_parts`).

    Attributes:
        base: a base GNN of the user's own, or ``None``.
        balanced: whether classes weigh the same in the loss, however often they occur.
    """

    samples: Samples
    config: GPNNConfig
    cut: Partition
    vocabulary: Vocabulary
    base: nn.Module | None = None
    balanced: bool = False

    @property
    def task(self) -> Task:
        return self.samples.task

    @property
    def learned(self) -> int:
        """Parts that are to be learned; 0 where the scheme is fixed."""
        return learned_parts(self.config.structure.scheme) if self.config.gpnn else 0

    @property
    def stackable(self) -> bool:
        """Whether several networks can be made one: all but those around a user's module."""
        config = self.config
        return config.base is None or config.base in BASES or config.peer is not None

    @cached_property
    def prepared(self) -> Prepared:
        """Graphs for batches that are put together on the CPU."""
        return prepare_samples(self.samples, self.config, self.vocabulary, self.samples.y)

    @cached_property
    def _residents(self) -> dict[torch.device, Resident]:
        return {}

    def resident(self, device: torch.device) -> Resident:
        """Graphs for batches that are put together on a device; laid out once, on the CPU, and sent
        to a device once."""
        if device not in self._residents:
            laid = build_resident(self.prepared, self.config)
            self._residents[device] = laid if device == CPU else self.resident(CPU).to(device)
        return self._residents[device]

    def network(self, replica: Replica, dtype: torch.dtype = torch.float32) -> GPNN:
        """The network a replica starts from; its weights depend on seed and training part alone."""
        base = copy.deepcopy(self.base)
        config = replace(self.config, dropout=replica.dropout)
        with ExitStack() as block:
            if not self.stackable:  # a user's module may draw by any name
                block.enter_context(torch.random.fork_rng([]))
                torch.manual_seed(replica.seed)
            block.enter_context(Seeded(replica.seed))
            net: GPNN
            if self.learned:
                net = LearnedGPNN(config, base, self.vocabulary)
            else:
                net = make_gpnn(config, base, self.vocabulary)
        self._forget_labels(net, replica)
        if isinstance(net, MixedGPNN):
            net.forget_cells(self._unseen(replica))
        elif isinstance(net, LearnedGPNN):
            seen = np.unique(self.cut.part[self.training_vertices(replica)]).astype(np.int64)
            net.assignment.standardise(torch.from_numpy(seen))
        elif self.config.gpnn:
            forget_parts(net, self._unseen(replica))
        return net.to(dtype)

    def own_parts(self, replica: Replica) -> Tensor:
        """Numbers of the parts that a replica's training graphs have, the reserved one last."""
        seen = (~self._unseen(replica)).nonzero().flatten()
        return torch.cat([seen, torch.tensor([self.config.parts - 1])])

    def own_vocabulary(self, replica: Replica) -> Vocabulary:
        """The colours of a replica's training graphs, and the pairs of them that meet."""
        if self.task.node_level:
            return self.vocabulary
        graphs = self.samples.graphs
        seen = self.own_parts(replica)[:-1].numpy()
        number = np.full(self.cut.num_parts, -1, np.int64)
        number[seen] = np.arange(len(seen))
        entries = np.repeat(self.training_vertices(replica), np.diff(graphs.indptr))
        part = number[self.cut.part]
        keys = np.repeat(part, np.diff(graphs.indptr))[entries] * len(seen)
        keys += part[graphs.indices[entries]]
        return Vocabulary(self.cut.scheme.name, self.cut.parts[seen], np.unique(keys))

    def scaling(self, replica: Replica) -> tuple[Tensor, Tensor]:
        """Shift and scale of targets that are numbers over the training part, else 0 and 1."""
        y = self.samples.y
        assert y is not None
        if not self.task.scaled:
            return torch.zeros(1), torch.ones(1)
        known = y[torch.from_numpy(replica.train)].double()
        if bool(torch.isnan(known).all(0).any()):
            raise InputError("A target has no value in the training part. Leave it out.")
        shift = known.nanmean(0)
        scale = (known - shift).square().nanmean(0).sqrt()
        scale = torch.where(scale > 0, scale, 1.0)
        if self.binary is not None:
            shift, scale = shift.masked_fill(self.binary, 0), scale.masked_fill(self.binary, 1)
        return shift.float(), scale.float()

    @property
    def binary(self) -> Tensor | None:
        """Of a mixed task, which outputs are of two classes."""
        return torch.tensor(self.samples.encoder.binary) if self.task is Task.MIXED else None

    def class_weights(self, replica: Replica) -> Tensor | None:
        """n / (k n_c) for class c of k over the n training labels: of the classes, [classes], or of
        0 and 1 in every output, [2, outputs]; 1 for numbers and for what does not occur."""
        if not self.balanced:
            return None
        assert self.samples.y is not None
        y = self.samples.y[torch.from_numpy(replica.train)]
        if self.task.has_classes:
            counts = torch.bincount(y[y >= 0], minlength=self.samples.outputs).double()
            occur = int((counts > 0).sum())
        else:
            counts, occur = torch.stack([(y == 0).sum(0), (y == 1).sum(0)]).double(), 2
        weights = torch.where(counts > 0, counts.sum(0) / (occur * counts), 1.0)
        return weights if self.binary is None else weights.masked_fill(~self.binary, 1.0)

    @cached_property
    def _known(self) -> dict[bytes, tuple[Tensor, NDArray[np.bool_]]]:
        return {}

    def _met(self, replica: Replica) -> tuple[Tensor, NDArray[np.bool_]]:
        """Parts that no training graph has, and the vertices of training graphs; many replicas
        share a training part."""
        key = replica.train.tobytes()
        if key not in self._known:
            graphs = self.samples.graphs
            vertices = np.ones(graphs.num_nodes, np.bool_)
            if not self.task.node_level:
                chosen = np.zeros(len(graphs), np.bool_)
                chosen[replica.train] = True
                vertices = np.repeat(chosen, np.diff(graphs.ptr))
            unseen = torch.ones(self.vocabulary.size + 1, dtype=torch.bool)
            unseen[torch.from_numpy(np.unique(self.cut.part[vertices])).long()] = False
            self._known[key] = unseen, vertices
        return self._known[key]

    def _unseen(self, replica: Replica) -> Tensor:
        """Which parts no training graph has, [parts]; the reserved one counts as unseen."""
        return self._met(replica)[0]

    def training_vertices(self, replica: Replica) -> NDArray[np.bool_]:
        return self._met(replica)[1]

    @torch.no_grad()
    def _forget_labels(self, net: GPNN, replica: Replica) -> None:
        """Labels that no training graph has start (and so stay) at zero, like the reserved ones."""
        samples = self.samples
        if self.task.node_level:
            return
        vertices = self.training_vertices(replica)
        if self.config.codes and net.encoder is not None and net.encoder.table is not None:
            assert samples.x is not None
            for column, codes in enumerate(samples.x[torch.from_numpy(vertices)].unbind(1)):
                known = codes.unique().long()
                _zero_absent(net.encoder.table[net.encoder.rows(column)], known, 0)
        if self.config.gpnn and self.config.vertex_labels:
            known = torch.from_numpy(np.unique(label_codes(samples.x)[vertices])).long()
            for pair in net.pairs:
                for table in (pair.own_label, pair.other_label):
                    assert table is not None
                    _zero_absent(table, known, 0)
        if samples.edge_labels is None or not self.config.edge_labels:
            return
        entries = vertices[samples.graphs.rows]
        seen = torch.from_numpy(np.unique(samples.edge_labels[entries]))
        if net.edge_encoder is not None and net.edge_encoder.table is not None:
            _zero_absent(net.edge_encoder.table, seen, 1)
        for pair in net.pairs:
            if pair.label is not None:
                _zero_absent(pair.label, seen, 1)


def _zero_absent(table: Tensor, codes: Tensor, first: int) -> None:
    absent = torch.ones(table.shape[0], dtype=torch.bool)
    absent[codes + first] = False
    absent[:first] = False
    table[absent] = 0


def prepare_samples(
    samples: Samples, config: GPNNConfig, vocabulary: Vocabulary | None, y: Tensor | None = None
) -> Prepared:
    """Samples as the network of a configuration reads them."""
    if isinstance(samples, PreparedSamples):
        return samples.prepared(config.structure, vocabulary, y)
    graphs, structure = samples.graphs, config.structure
    labels = samples.edge_labels if config.edge_labels else None
    features = samples.edge_features if config.edge_features else None
    cut = cached_partition(graphs, _read_scheme(structure))
    classes = None
    if features is None:
        codes = label_codes(samples.x) if structure.labels else None
        classes = cached_classes(graphs, cut.part, structure, labels, codes)
    return prepare_graphs(
        graphs,
        structure,
        vocabulary,
        x=samples.x,
        edge_labels=labels,
        edge_features=features,
        label_count=config.edge_labels,
        y=y,
        node_level=samples.task.node_level,
        descriptors=samples.descriptors if config.descriptors else None,
        cut=cut,
        classes=classes,
        peer_structure=None
        if config.peer is None
        else cached_peer(graphs, config.peer, config.edged),
    )


def set_up(
    samples: Samples,
    model: Mapping[str, Any] | None,
    replicas: Sequence[Replica],
    balanced: bool = False,
) -> Setup:
    """Partition the graphs once for all replicas.

    Args:
        model: fields of :class:`~gpnn.nn.config.GPNNConfig`; ``base`` may be a module.
        balanced: whether classes weigh the same in the loss, however often they occur.
    """
    if samples.y is None:
        raise InputError("Training needs labels.")
    if not replicas:
        raise InputError("There is no replica to train. Give one or more.")
    for replica in replicas:
        _check(replica, len(samples))
    options = base_alone(model or {})
    if "dropout" in options:
        raise InputError("dropout belongs to the replicas. Set it there.")
    base = options.get("base")
    if isinstance(base, nn.Module):
        options["base"] = "custom"
    if Structure.split(options)[0].labels and samples.encoder.kind == DEGREE:
        raise InputError("labels=True needs labels of vertices, and these graphs have none.")
    if isinstance(samples, PreparedSamples) and not _names_structure(options):
        options["structure"] = samples.structure
    structure = Structure.split(options)[0]
    if isinstance(samples, PreparedSamples):
        samples.check(structure)
        assert samples.cut is not None
        cut = samples.cut
    else:
        cut = cached_partition(samples.graphs, _read_scheme(structure))
    parts = learned_parts(structure.scheme)
    if options.get("gpnn", True) and (parts or mixed_schemes(structure.scheme)):
        if structure.interactions == "cross":
            why = "learns which edges are" if parts else "has several kinds of"
            raise InputError(
                f"{structure.scheme} {why} cross edges: use interactions 'edges' or 'pairs'."
            )
        options |= {"component_feature": False, "part_weights": "own"}
    config = model_config(samples, (parts or cut.num_parts) + 1, options)
    own = base if isinstance(base, nn.Module) else None
    if balanced and samples.task is Task.REGRESSION:
        raise InputError("class_weights need classes, and the targets are numbers.")
    return Setup(samples, config, cut, Vocabulary.fit(cut), own, balanced)


def _names_structure(options: Mapping[str, Any]) -> bool:
    return bool({"structure", *Structure().to_dict()} & set(options))


def _read_scheme(structure: Structure) -> str:
    """The scheme under which graphs are prepared: of one that is to be learned, what it reads."""
    return "profile" if learned_parts(structure.scheme) else structure.scheme


def _check(replica: Replica, count: int) -> None:
    """Numbers beyond the samples would be read as padding, or stop the device."""
    for part in ("train", "valid", "test"):
        ids = getattr(replica, part)
        wrong = ids[(ids < 0) | (ids >= count)]
        if len(wrong):
            raise InputError(
                f"The {part} part of a replica names sample {wrong[0]}: samples are 0 to "
                f"{count - 1}."
            )
