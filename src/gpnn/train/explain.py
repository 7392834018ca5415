r"""Exact contribution of every part of a graph to a prediction.

**Contributions.** The readout is a sum over vertices and so over the parts :math:`V_j` of a graph;
the component feature :math:`c_G` has one entry per part. The input of the head is

.. math::
    z_G = \sum_j z_j, \qquad z_j = \Big(\sum_{v \in V_j} h_v \,\Big\|\, c_{G,j} \, e_j\Big)

(``readout="mean"``: the sum divided by the vertices of the whole graph). The share of a part is
:math:`\langle z_j, z_G \rangle / \langle z_G, z_G \rangle`. Shares sum to 1; a negative share means
that the part acts against the rest.

**Shapley values.** The head is not linear, so the parts are players of a game for every output: for
a set :math:`S` of parts

.. math::
    v(S) = \mathrm{head}\Big(\sum_{j \in S} z_j\Big)

is the output (a logit, or the value of a regression) when only the vertices of these parts enter
the readout. The vertices of the others are left out of the sum and their component counts are set
to zero, so :math:`v(\varnothing)` is the output of the empty readout. The :math:`h_v` themselves
stay those of the whole graph: they depend on neighbours in other parts, because GPNN encodes the
interactions of parts in them. The values are those of :func:`~gpnn.train.shapley.shapley` over all
:math:`2^k` sets, without sampling, and sum to :math:`v(\text{all}) - v(\varnothing)`.
"""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.samples import Samples
from ..data.tasks import Task
from ..errors import InputError
from ..nn.batch import GraphBatch
from ..nn.config import Level
from ..nn.model import GPNN
from ..nn.segments import Segments
from .model_file import Loaded, Member
from .shapley import shapley

__all__ = ["MAX_PARTS", "Explanation", "PartShare", "explain", "part_sums", "pick_graph"]

MAX_PARTS = 16
CHUNK = 4096


@dataclass(frozen=True)
class PartShare:
    """One part: its colour as text, the number of its vertices and of their connected components,
    the norm of z_j, its share in z_G, and its Shapley value."""

    label: str
    vertices: int
    components: int
    norm: float
    share: float
    shapley: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """Explanation of one output.

    Attributes:
        scheme: how the graph was partitioned.
        output: the class or target; ``kind``: ``logit`` or ``value``.
        full, empty: v(all parts) and v(no part).
        score: the prediction of the model: a probability, or the value.
        parts: the parts of the graph, in the order of the vocabulary, unseen colours last.
        part: number of the part of every vertex, in the order of the input, [n].
    """

    scheme: str
    output: str
    kind: str
    full: float
    empty: float
    score: float
    parts: tuple[PartShare, ...]
    part: NDArray[np.int64]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON."""
        return asdict(self) | {"parts": list(map(asdict, self.parts)), "part": self.part.tolist()}


def explain(
    loaded: Loaded,
    samples: Samples,
    graph: int = 0,
    output: str | None = None,
    member: int | None = None,
) -> Explanation:
    """Explain one output for one graph, computed in float64.

    Args:
        loaded: a fitted model. For an ensemble, the mean of the outputs is explained.
        samples: encoded with its encoder; labels are not needed.
        graph: index of the sample.
        output: name of a class or target; the predicted class or first target by default.
        member: explain one of several networks, counted from 0.
    """
    if loaded.config.level != Level.GRAPH:
        raise InputError("Parts of a graph explain predictions for graphs, not for vertices.")
    if not 0 <= graph < len(samples.graphs):
        raise InputError(
            f"There is no graph {graph}: the input holds 0 to {len(samples.graphs) - 1}."
        )
    if samples.graphs.ptr[graph] == samples.graphs.ptr[graph + 1]:
        raise InputError("The graph has no vertices, and so no parts to explain it by.")
    chosen = _members(loaded, member)
    one = pick_graph(samples, graph)
    batch = chosen[0].prepare(one).batch().to("cpu", torch.float64)
    games = [_game(each, batch) for each in chosen]
    occurring = games[0].occurring
    outputs = torch.stack([game.outputs for game in games]).mean(0)
    column, name = _output(loaded, outputs[-1], output)
    values = outputs[:, column].numpy()
    rows = zip(
        occurring.tolist(),
        torch.bincount(batch.part, minlength=batch.components.shape[1])[occurring].tolist(),
        batch.components[0, occurring].tolist(),
        torch.stack([game.norms for game in games]).mean(0).tolist(),
        torch.stack([game.shares for game in games]).mean(0).tolist(),
        shapley(values).tolist(),
        strict=True,
    )
    labels = chosen[0].vocabulary.labels
    assert batch.order is not None
    explained = replace(loaded, members=tuple(chosen))
    return Explanation(
        scheme=loaded.config.structure.scheme,
        output=name,
        kind="value" if _is_number(loaded, column) else "logit",
        full=float(values[-1]),
        empty=float(values[0]),
        score=float(explained.predict(one)[0, column]),
        parts=tuple(PartShare(labels[part], *numbers) for part, *numbers in rows),
        part=torch.searchsorted(occurring, batch.part[batch.order.source]).numpy(),
    )


def _members(loaded: Loaded, member: int | None) -> list[Member]:
    count = len(loaded.members)
    if member is not None:
        if not 0 <= member < count:
            raise InputError(f"There is no network {member}: the model has 0 to {count - 1}.")
        return [loaded.members[member]]
    if len({one.vocabulary.digest for one in loaded.members}) > 1:
        raise InputError(
            f"The {count} networks of this model were trained on different parts of the data and "
            f"know different parts of graphs. Choose one of them with --member (member=), 0 to "
            f"{count - 1}."
        )
    return list(loaded.members)


@dataclass(frozen=True)
class _Game:
    """Results of one network for every set of parts: outputs in units of the targets,
    [2^k, outputs]; norm of z_j and its share in z_G, [k]."""

    occurring: Tensor
    outputs: Tensor
    norms: Tensor
    shares: Tensor


@torch.no_grad()
def _game(member: Member, batch: GraphBatch) -> _Game:
    model = copy.deepcopy(member.model).cpu().double().eval()
    occurring, sums = part_sums(model, batch)
    if len(occurring) > MAX_PARTS:
        raise InputError(
            f"The graph has {len(occurring)} parts, and exact Shapley values need all sets of "
            f"them: the limit is {MAX_PARTS}. Train with a coarser scheme, such as core."
        )
    outputs = member.unscaled(subset_outputs(model, batch, occurring, sums))
    whole = _enter(sums, batch.components[0, occurring], occurring, model)
    total = whole.sum(0)
    shares = whole @ total / (total @ total).clamp(min=torch.finfo(total.dtype).tiny)
    return _Game(occurring, outputs, whole.norm(dim=1), shares)


def part_sums(model: GPNN, batch: GraphBatch) -> tuple[Tensor, Tensor]:
    """The parts that occur in a batch of one graph, [k], and Σ h_v over each of them, [k, width],
    divided by the number of vertices of the graph if the readout is a mean."""
    h = model.embed(batch)
    occurring, number = torch.unique(batch.part, return_inverse=True)
    sums = h.new_zeros(len(occurring), h.shape[1]).index_add(0, number, h)
    if model.config.readout == "mean":
        sums = sums / batch.vertices.to(h.dtype).clamp(min=1)
    return occurring, sums


def subset_outputs(model: GPNN, batch: GraphBatch, occurring: Tensor, sums: Tensor) -> Tensor:
    """Outputs of the model's head for every set of parts, [2^k, outputs]; part j is in the set if
    bit j of the row number is set. The head reads every set as a graph whose vertices are the
    parts."""
    k = len(occurring)
    components = batch.components[0, occurring]
    outputs = []
    for start in range(0, 2**k, CHUNK):
        number = np.arange(start, min(start + CHUNK, 2**k))
        member = (number[:, None] >> np.arange(k) & 1).astype(np.bool_)
        row, column = np.nonzero(member)
        counts = batch.components.new_zeros(len(number), batch.components.shape[1])
        counts[:, occurring] = torch.from_numpy(member) * components
        sets = replace(
            batch,
            readout=Segments.build(row, column, len(number), k),
            components=counts,
            descriptors=_repeated(batch.descriptors, len(number)),
            vertices=sums.new_ones(len(number), 1),
        )
        outputs.append(model.head([sums], sets))
    return torch.cat(outputs)


def _repeated(rows: Tensor | None, count: int) -> Tensor | None:
    """Repeat the descriptors: they belong to the whole graph, so every set of parts has them."""
    return None if rows is None else rows.expand(count, -1)


def _enter(sums: Tensor, components: Tensor, occurring: Tensor, model: GPNN) -> Tensor:
    """z_j of every part, [k, width of the head's input]."""
    if not model.config.component_feature:
        return sums
    counts = sums.new_zeros(len(occurring), model.config.parts)
    counts[torch.arange(len(occurring)), occurring] = components.to(sums.dtype)
    return torch.cat([sums, counts], dim=1)


def _output(loaded: Loaded, outputs: Tensor, wanted: str | None) -> tuple[int, str]:
    encoder = loaded.encoder
    names = encoder.outputs
    if wanted is None:
        best = int(outputs.argmax()) if encoder.task.has_classes else 0
        return best, names[best]
    if wanted not in names:
        what = "class" if encoder.task.has_classes else "target"
        raise InputError(f"The model has no {what} {wanted!r}. Choose one of {', '.join(names)}.")
    return names.index(wanted), wanted


def _is_number(loaded: Loaded, column: int) -> bool:
    """Whether an output is a value, not the logit of a class."""
    if loaded.task is Task.MIXED:
        return not loaded.encoder.binary[column]
    return loaded.task is Task.REGRESSION


def pick_graph(samples: Samples, graph: int) -> Samples:
    """One graph of the samples, without its label."""
    low, high = samples.graphs.ptr[graph : graph + 2].tolist()
    first, last = samples.graphs.indptr[[low, high]].tolist()
    return replace(
        samples,
        graphs=samples.graphs[graph],
        x=None if samples.x is None else samples.x[low:high],
        edge_labels=None if samples.edge_labels is None else samples.edge_labels[first:last],
        edge_features=None if samples.edge_features is None else samples.edge_features[first:last],
        descriptors=None if samples.descriptors is None else samples.descriptors[graph : graph + 1],
        y=None,
        ids=samples.ids[graph : graph + 1],
        rows=samples.rows[graph : graph + 1],
        split=None,
    )
