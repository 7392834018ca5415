"""What a set of replicas shares, and the weights each of them starts from."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.samples import Samples
from ..data.structure_cache import cached_partition
from ..data.tasks import Task
from ..errors import InputError
from ..graph.partition import Partition
from ..graph.vocabulary import UnseenColours, Vocabulary
from ..nn.config import GPNNConfig
from ..nn.encode import multi_hot
from ..nn.model import GPNN
from ..nn.prepare import Prepared
from .model_file import prepare_samples
from .model_setup import SeenLabels, base_alone, model_config, seen_labels, zero_unseen
from .replica import Replica
from .resident.build import reside
from .resident.tables import Resident
from .seeded import Seeded

__all__ = ["CPU", "Setup", "set_up"]

CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class Setup:
    """Samples and a shape of network, shared by all replicas.

    The vocabulary holds the colours of all graphs, so that all replicas have the same shape. What
    a replica does not meet in training starts at zero in it, like the part reserved for unseen
    colours, and stays there.
    """

    samples: Samples
    config: GPNNConfig
    cut: Partition
    vocabulary: Vocabulary

    @property
    def task(self) -> Task:
        return self.samples.task

    @cached_property
    def prepared(self) -> Prepared:
        """For one model at a time."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenColours)
            return prepare_samples(self.samples, self.config, self.vocabulary, self.samples.y)

    @cached_property
    def _residents(self) -> dict[torch.device, Resident]:
        return {}

    def resident(self, device: torch.device) -> Resident:
        """For many at once; laid out once, on the CPU, and sent to a device once."""
        if device not in self._residents:
            laid = self._reside() if device == CPU else self.resident(CPU).to(device)
            self._residents[device] = laid
        return self._residents[device]

    def _reside(self) -> Resident:
        samples, config = self.samples, self.config
        assert samples.y is not None
        x = torch.zeros(samples.graphs.num_nodes, 0) if samples.x is None else samples.x
        if config.codes:
            x = multi_hot(x, config.codes)
        components = np.zeros((len(samples.graphs), config.parts), np.int64)
        components[:, :-1] = self.cut.components()
        return reside(
            samples.graphs, self.vocabulary.encode(self.cut).index,
            self.cut.part.astype(np.int64), config,
            x, samples.y, components, samples.edge_labels,
        )  # fmt: skip

    def network(self, replica: Replica, dtype: torch.dtype = torch.float32) -> GPNN:
        """The network a replica starts from; its weights depend on seed and training part alone."""
        with Seeded(replica.seed):
            net = GPNN(replace(self.config, dropout=replica.dropout))
        seen, unseen = self._met(replica)
        zero_unseen(net, seen)
        if self.config.gpnn:
            net.forget_parts(unseen)
        return net.to(dtype)

    @cached_property
    def _known(self) -> dict[bytes, tuple[SeenLabels | None, Tensor]]:
        return {}

    def _met(self, replica: Replica) -> tuple[SeenLabels | None, Tensor]:
        """The labels that a training part has and the parts it has not; many replicas share one."""
        key = replica.train.tobytes()
        if key not in self._known:
            self._known[key] = (seen_labels(self.samples, replica.train), self._unseen(replica))
        return self._known[key]

    def scaling(self, replica: Replica) -> tuple[Tensor, Tensor]:
        """Shift and scale of a regression's targets over the training part, else 0 and 1."""
        y = self.samples.y
        assert y is not None
        if self.task is not Task.REGRESSION:
            return torch.zeros(1), torch.ones(1)
        known = y[torch.from_numpy(replica.train)].double()
        if bool(torch.isnan(known).all(0).any()):
            raise InputError("A target has no value in the training part. Leave it out.")
        shift = known.nanmean(0)
        scale = (known - shift).square().nanmean(0).sqrt()
        return shift.float(), torch.where(scale > 0, scale, 1.0).float()

    def _unseen(self, replica: Replica) -> Tensor:
        """Which parts no training graph has, [parts]; the reserved one counts as unseen."""
        unseen = torch.ones(self.config.parts, dtype=torch.bool)
        part = self.vocabulary.encode(self.cut).index
        if not self.task.node_level:
            chosen = np.zeros(len(self.samples.graphs), np.bool_)
            chosen[replica.train] = True
            part = part[np.repeat(chosen, np.diff(self.samples.graphs.ptr))]
        unseen[torch.from_numpy(np.unique(part))] = False
        return unseen


def set_up(samples: Samples, model: Mapping[str, Any] | None, replicas: Sequence[Replica]) -> Setup:
    """Cut the graphs once for all replicas."""
    if samples.y is None:
        raise InputError("Training needs labels.")
    if not replicas:
        raise InputError("There is no replica to train. Give one or more.")
    for replica in replicas:
        _check(replica, len(samples))
    options = base_alone(model or {})
    if "dropout" in options:
        raise InputError("dropout belongs to the replicas. Set it there.")
    cut = cached_partition(samples.graphs, model_config(samples, 1, options).scheme)
    vocabulary = Vocabulary.fit(cut)
    config = model_config(samples, vocabulary.size + 1, options)
    return Setup(samples, config, cut, vocabulary)


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
