"""Samples, network configuration and parts shared by the models of a training; initial networks."""

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
from ..nn.bases import BASES, check_base_name, known_bases
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
    *("CPU", "Setup", "base_alone", "check_options", "model_config", "named_model"),
    *("prepare_samples", "set_up"),
]

IntArray = NDArray[np.int64]
CPU = torch.device("cpu")


def model_config(samples: Samples, parts: int, options: Mapping[str, Any]) -> GPNNConfig:
    """The configuration of a network for these samples; ``options`` are fields chosen by the user.

    By default the base is GINE if edges have labels or features and GIN otherwise, and dropout is
    0.5, or 0 where a target is a number. Node tasks with float features get the plain architecture,
    the base as PyG stacks it with a linear head, unless ``walks`` or ``join="inside"`` require an
    encoder.
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
    peer = isinstance(options.get("base"), str) and peer_of(options["base"]) is not None
    if task.node_level and encoder.features and not encoded and not peer:
        usual |= {"encoder": None, "norm": None, "head": "linear"}
    return GPNNConfig.make(**{**usual, **options, **decided})


def named_model(name: str) -> dict[str, Any]:
    """The options for a model given by name: ``gpnn``, a peer with its options, such as
    ``cin:rings=8``, or a base GNN alone."""
    if name == "gpnn":
        return {}
    if not isinstance(name, str):
        raise InputError(f"model must be a name such as gpnn or cin; got {name!r}.")
    if peer_of(name) is None and name not in known_bases():
        raise InputError(
            f"There is no model {name!r}. Choose gpnn, {', '.join(PEERS)} (with options, such as "
            f"cin:rings=8), or a base GNN alone: {', '.join(known_bases())}."
        )
    return {"base": name, "gpnn": False}


def base_alone(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a model. For a base alone (``gpnn=False``) the graphs are partitioned into one
    part, which costs nothing, and components are not counted."""
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
    """Samples and a network configuration, shared by all replicas.

    The vocabulary holds the colours of all graphs, so that all replicas have the same shape.
    Weights of colours that a replica does not see in training start at zero, like those of the part
    reserved for unseen colours, and stay zero. A model that is kept has only the colours of its
    training graphs (:meth:`own_parts`).

    Attributes:
        base: a user-defined base GNN, or ``None``.
        balanced: whether all classes have equal weight in the loss, whatever their frequency.
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
        """Number of parts to learn; 0 where the scheme is fixed."""
        return learned_parts(self.config.structure.scheme) if self.config.gpnn else 0

    @property
    def stackable(self) -> bool:
        """Whether several networks can be stacked: all except those with a user-defined module."""
        config = self.config
        return config.base is None or config.base in BASES or config.peer is not None

    @cached_property
    def prepared(self) -> Prepared:
        """Graphs for batches that are collated on the CPU."""
        return prepare_samples(self.samples, self.config, self.vocabulary, self.samples.y)

    @cached_property
    def _residents(self) -> dict[torch.device, Resident]:
        return {}

    def resident(self, device: torch.device) -> Resident:
        """Graphs for batches that are assembled on a device; laid out once, on the CPU, and sent to
        each device once."""
        if device not in self._residents:
            laid = build_resident(self.prepared, self.config)
            self._residents[device] = laid if device == CPU else self.resident(CPU).to(device)
        return self._residents[device]

    def network(self, replica: Replica, dtype: torch.dtype = torch.float32) -> GPNN:
        """The initial network of a replica; its weights depend only on seed and training part."""
        base = copy.deepcopy(self.base)
        config = replace(self.config, dropout=replica.dropout)
        with ExitStack() as block:
            if not self.stackable:  # a user-defined module may draw with any function
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
        """Numbers of the parts in a replica's training graphs, the reserved part last."""
        seen = (~self._unseen(replica)).nonzero().flatten()
        return torch.cat([seen, torch.tensor([self.config.parts - 1])])

    def own_vocabulary(self, replica: Replica) -> Vocabulary:
        """The colours of a replica's training graphs, and the pairs of colours of their edges."""
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
        """Shift and scale of numeric targets over the training part, else 0 and 1."""
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
        """Which outputs of a mixed task are logits of a class, not numbers."""
        return torch.tensor(self.samples.encoder.binary) if self.task is Task.MIXED else None

    def class_weights(self, replica: Replica) -> Tensor | None:
        """n / (k n_c) for class c of k over the n training labels: one weight per class, [classes],
        or weights of 0 and 1 for every output, [2, outputs]; 1 for numbers and absent classes."""
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
        """Masks of the parts that no training graph has, and of the vertices of training graphs;
        cached, because many replicas share a training part."""
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
        """Mask of the parts that no training graph has, [parts]; includes the reserved part."""
        return self._met(replica)[0]

    def training_vertices(self, replica: Replica) -> NDArray[np.bool_]:
        return self._met(replica)[1]

    @torch.no_grad()
    def _forget_labels(self, net: GPNN, replica: Replica) -> None:
        """Set the embeddings of labels that no training graph has to zero, like those reserved for
        unseen labels; they then stay zero."""
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
    """Prepare samples for the network of a configuration."""
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
        peer=None if config.peer is None else config.base,
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
        balanced: whether all classes have equal weight in the loss, whatever their frequency.
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
    check_options(samples, options)
    base = options.get("base")
    if isinstance(base, nn.Module):
        options["base"] = "custom"
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
        options |= {"component_feature": False, "part_weights": "own"}
    config = model_config(samples, (parts or cut.num_parts) + 1, options)
    own = base if isinstance(base, nn.Module) else None
    if balanced and samples.task is Task.REGRESSION:
        raise InputError("class_weights need classes, and the targets are numbers.")
    return Setup(samples, config, cut, Vocabulary.fit(cut), own, balanced)


def check_options(samples: Samples, options: Mapping[str, Any]) -> None:
    """Raise for a base GNN that does not exist, for labels that the samples do not have, and for
    cross edges where the scheme has no fixed ones."""
    base = options.get("base")
    if isinstance(base, str) and peer_of(base) is None:
        check_base_name(base)
    structure = Structure.split(options)[0]
    if structure.labels and samples.encoder.kind == DEGREE:
        raise InputError("labels=True needs labels of vertices, and these graphs have none.")
    if not options.get("gpnn", True) or structure.interactions != "cross":
        return
    parts = learned_parts(structure.scheme)
    if parts or mixed_schemes(structure.scheme):
        why = "learns which edges are" if parts else "has several kinds of"
        raise InputError(
            f"{structure.scheme} {why} cross edges: use interactions 'edges' or 'pairs'."
        )


def _names_structure(options: Mapping[str, Any]) -> bool:
    return bool({"structure", *Structure().to_dict()} & set(options))


def _read_scheme(structure: Structure) -> str:
    """The scheme with which graphs are prepared: ``profile``, the input of a learned scheme, or the
    scheme itself."""
    return "profile" if learned_parts(structure.scheme) else structure.scheme


def _check(replica: Replica, count: int) -> None:
    """Raise for sample numbers out of range: they would be read as padding or crash the device."""
    for part in ("train", "valid", "test"):
        ids = getattr(replica, part)
        wrong = ids[(ids < 0) | (ids >= count)]
        if len(wrong):
            raise InputError(
                f"The {part} part of a replica names sample {wrong[0]}: samples are 0 to "
                f"{count - 1}."
            )
