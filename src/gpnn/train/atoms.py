r"""Exact contribution of every vertex to an output, for all graphs in one pass.

The head reads :math:`z_G = \sum_v h_v` through a normalisation, which is affine in a fitted
network, and one layer of ReLUs. Let the readout grow from zero to its full value, :math:`t z_G`
with t from 0 to 1: unit j is then :math:`\max(0, a_j + t b_j)`, and is active for a share
:math:`f_j` of the path. The contribution of v is what its term :math:`u_v` of
:math:`b = \sum_v u_v` adds along the path,

.. math::
    \phi_v = \sum_j B_j f_j\, u_{v,j}, \qquad
    f_j = \frac{\max(0, a_j + b_j) - \max(0, a_j)}{b_j}, \qquad
    \sum_v \phi_v = \mathrm{head}(z_G) - \mathrm{head}(0).

These are Aumann-Shapley values: the Shapley values of a game in which every vertex is divided into
infinitely many small pieces. The closed form needs neither subsets nor numerical integration.
Component counts belong to parts: the term of a part is divided equally among its vertices.
Descriptors belong to the whole molecule and stay in :math:`a`. For an ensemble, the mean is taken.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.samples import Samples
from ..data.structure_cache import cached_partition
from ..errors import InputError
from ..nn.batch import GraphBatch
from ..nn.config import Level
from ..nn.model import GPNN
from .model_file import Loaded, Member

__all__ = ["AtomShares", "atom_contributions"]

Floats = NDArray[np.float64]
BATCH = 128


@dataclass(frozen=True, eq=False)
class AtomShares:
    """Contributions to one output of every graph.

    Attributes:
        values: contribution of every vertex, graph by graph, in the order of the input, [n].
        ptr: vertices of graph g are ``ptr[g]:ptr[g + 1]``.
        part: the part of every vertex, [n]; ``labels``: its name, by number.
        full, empty: the output (logit or value) with and without the vertices, [graphs].
        output: index of the explained output, [graphs].
    """

    values: Floats
    ptr: NDArray[np.int64]
    part: NDArray[np.int64]
    labels: tuple[str, ...]
    full: Floats
    empty: Floats
    output: NDArray[np.int64]

    def of(self, graph: int) -> Floats:
        """The contributions of one graph."""
        return self.values[self.ptr[graph] : self.ptr[graph + 1]]

    def parts_of(self, graph: int) -> NDArray[np.int64]:
        return self.part[self.ptr[graph] : self.ptr[graph + 1]]


def atom_contributions(loaded: Loaded, samples: Samples, output: str | None = None) -> AtomShares:
    """Contributions of all vertices of all samples.

    Args:
        output: a class or target; the predicted class of every graph, or the first target, by
            default.
    """
    if loaded.config.level != Level.GRAPH:
        raise InputError("Vertices explain predictions for graphs, not for vertices.")
    names = loaded.encoder.outputs
    if output is not None and output not in names:
        raise InputError(f"The model has no output {output!r}. Choose one of {', '.join(names)}.")
    results = [_of_network(member, samples) for member in loaded.members]
    values, full, empty = (torch.stack(parts).mean(0) for parts in zip(*results, strict=True))
    if output is not None:
        chosen = torch.full((len(samples.graphs),), names.index(output))
    elif loaded.task.has_classes:
        chosen = full.argmax(1)
    else:
        chosen = torch.zeros(len(samples.graphs), dtype=torch.int64)
    ptr = samples.graphs.ptr
    owner = torch.repeat_interleave(torch.from_numpy(np.diff(ptr)))
    cut = cached_partition(samples.graphs, loaded.config.structure.scheme)
    return AtomShares(
        values[torch.arange(len(values)), chosen[owner]].numpy(),
        ptr,
        cut.part.astype(np.int64),
        tuple(cut.labels),
        full.gather(1, chosen[:, None])[:, 0].numpy(),
        empty.gather(1, chosen[:, None])[:, 0].numpy(),
        chosen.numpy(),
    )


@torch.no_grad()
def _of_network(member: Member, samples: Samples) -> tuple[Tensor, Tensor, Tensor]:
    """Contributions [n, outputs] and outputs with and without vertices [graphs, outputs], all in
    the units of the targets."""
    model = copy.deepcopy(member.model).cpu().double().eval()
    scale = torch.tensor(member.scale or (1.0,), dtype=torch.float64)
    parts = [
        _of_batch(model, batch.to("cpu", torch.float64))
        for batch in member.prepare(samples).batches(size=BATCH)
    ]
    values, full, empty = (torch.cat(each) for each in zip(*parts, strict=True))
    return values * scale, member.unscaled(full), member.unscaled(empty)


def _of_batch(model: GPNN, batch: GraphBatch) -> tuple[Tensor, Tensor, Tensor]:
    head = model.head
    rank, owner = batch._rank, batch.batch
    embedded = model.embed(batch)
    h = embedded[rank]
    if head.mean:
        h = h / batch.vertices[owner].clamp(min=1)
    reader = head.second if head.first is None else head.first
    if head.norm is not None:
        h = h * head.norm.steep()
    u = h @ reader.weight.T
    if head.counts is not None and head.count_norm is not None:
        u = u + _component_terms(model, batch, rank, owner)
    b = u.new_zeros(batch.num_graphs, u.shape[1]).index_add(0, owner, u)
    whole = head.first_layer(head.read([embedded], batch), batch)
    if head.first is None:
        return u, whole, whole - b
    a = whole - b
    on = torch.where(b.abs() > 1e-12, (whole.relu() - a.relu()) / b, (a > 0).to(b.dtype))
    values = (u * on[owner]) @ head.second.weight.T
    return values, head.second(whole.relu()), head.second(a.relu())


def _component_terms(model: GPNN, batch: GraphBatch, rank: Tensor, owner: Tensor) -> Tensor:
    """Term of the component count of a part, divided equally among the vertices of the part."""
    head = model.head
    assert head.counts is not None and head.count_norm is not None
    steep = head.count_norm.steep()
    part = batch.part[rank]
    key = owner * batch.components.shape[1] + part
    members = torch.bincount(key, minlength=batch.components.numel())[key]
    share = batch.components[owner, part].to(steep.dtype) * steep[part] / members
    return share[:, None] * head.counts[part]
