r"""A GPNN that learns its parts: λ(v) = argmax_j s_θ(φ(v))_j, trained end to end.

Graphs are prepared under the scheme ``profile``, the discretised φ itself. Its cells refine the
parts of every λ = s(φ), and with ``edges`` or ``pairs`` so do its classes of pairs: α remains an
exact look-up while λ changes, and nothing is renumbered. The assignment :math:`P` [cells, k] maps
parameters of the k parts to parameters of the cells,

.. math::
    W_c = \sum_j P_{cj} W_j, \qquad
    \lambda_E(c, c') = \sum_{ij} P_{ci} P_{c'j}\, T_{i,\, kind(i, j),\, j},

where the kind of an edge is *within* for i = j and *cross* otherwise: an edge is cross with weight
:math:`1 - \sum_j P_{cj} P_{c'j}`. For the first 60 % of training, P is soft: the softmax of the
scores divided by a temperature that falls from 1 to 0.05. Scores start small, so that all cells
start alike and no cell is tied to its initial part. After that, and whenever the network is
evaluated, P is the one-hot argmax, with the gradient of the softmax (straight-through), so that the
trained network is the one that is kept. Only epochs of this second phase are kept, and training
does not stop early before it.

:meth:`LearnedGPNN.plain` is the same network as an ordinary GPNN of k parts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from ..errors import InputError
from ..graph.learned import PROFILE, WIDTH, LearnedScheme
from ..graph.vocabulary import Vocabulary
from .batch import GraphBatch
from .config import GPNNConfig
from .lookup import lookup
from .model import GPNN, MAX_HOPS
from .parts import KINDS, PairEmbedding

__all__ = ["CELLS", "Assignment", "LearnedGPNN", "LearnedPairs", "spread"]

CELLS = 1_024
"""Maximum number of cells of the profile."""
SOFT = 0.6
"""The fraction of training in which parts are soft, or the temperature of a mixture falls."""
COLD = 0.05
"""The temperature at the end of that phase."""
WITHIN, CROSS = 1, 2


class Assignment(nn.Module):
    """s_θ: maps the profiles of the cells to scores of the k parts, [cells, k]. Computed in double
    precision, so that the exported scheme gives the same parts.

    Shapes: [..., cells + 1, parts + 1], the reserved cell and part last.
    """

    cells: Tensor
    shift: Tensor
    scale: Tensor

    def __init__(self, colours: np.ndarray[Any, Any], parts: int) -> None:
        super().__init__()
        self.register_buffer("cells", torch.from_numpy(colours.copy()))
        self.register_buffer("shift", torch.zeros(len(PROFILE), dtype=torch.float64))
        self.register_buffer("scale", torch.ones(len(PROFILE), dtype=torch.float64))
        self.standardise(torch.arange(len(self.cells)))
        self.first = nn.Parameter(torch.empty(len(PROFILE), WIDTH))
        self.first_bias = nn.Parameter(torch.empty(WIDTH))
        self.second = nn.Parameter(torch.empty(WIDTH, parts))
        self.second_bias = nn.Parameter(torch.empty(parts))
        self.progress: tuple[Tensor, int] | None = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.first, std=len(PROFILE) ** -0.5)
        nn.init.normal_(self.first_bias, std=0.5)
        nn.init.normal_(self.second, std=0.3 * WIDTH**-0.5)
        nn.init.zeros_(self.second_bias)

    @torch.no_grad()
    def standardise(self, seen: Tensor) -> None:
        """Standardise profiles by those of the cells seen in training."""
        logs = torch.log1p(self.cells[seen].double())
        spread = logs.std(0, correction=0)
        self.shift.copy_(logs.mean(0))
        self.scale.copy_(torch.where(spread > 0, spread, 1.0))

    def scores(self) -> Tensor:
        x = torch.log1p(self.cells.double()) - self.shift.double().unsqueeze(-2)
        x = x / self.scale.double().unsqueeze(-2)
        hidden = torch.relu(x @ self.first.double() + self.first_bias.double().unsqueeze(-2))
        return hidden @ self.second.double() + self.second_bias.double().unsqueeze(-2)

    def forward(self) -> Tensor:
        scores = self.scores()
        parts = torch.arange(scores.shape[-1], device=scores.device)
        hard = (scores.argmax(-1, keepdim=True) == parts).to(scores.dtype)
        soft = scores.softmax(-1)
        chosen = hard + (soft - soft.detach())  # exactly hard forward, soft backward
        if self.training and self.progress is not None:
            step, steps = self.progress
            share = step / (SOFT * steps)
            warm = (scores / COLD ** share.double()).softmax(-1)
            chosen = torch.where(share < 1, warm, chosen)
        out = functional.pad(chosen, (0, 1, 0, 1))
        out[..., -1, -1] = 1.0
        return out.to(self.first.dtype)

    @torch.no_grad()
    def learned(self) -> LearnedScheme:
        names = ("shift", "scale", "first", "first_bias", "second", "second_bias")
        return LearnedScheme(**{n: getattr(self, n).double().cpu().numpy() for n in names})


class LearnedPairs(PairEmbedding):
    """λ_E of cells under the assignment; ``assigned`` is set for every batch."""

    assigned: Tensor

    def __init__(self, *words: Any) -> None:
        super().__init__(*words)
        self.register_buffer("assigned", torch.zeros(0), persistent=False)

    def colours(self, left: Tensor, kind: Tensor, right: Tensor) -> Tensor:
        table, parts = self.table, self.table.shape[-2]
        same = torch.eye(parts, dtype=torch.bool, device=table.device).unsqueeze(-1)
        edge = torch.where(same, table[..., WITHIN, :, :], table[..., CROSS, :, :])
        own, _, _, none = table.unbind(-3)
        by_kind = torch.stack([own, edge, edge, none], -3)  # [..., parts, KINDS, parts, f]
        of_left, of_right = lookup(self.assigned, left), lookup(self.assigned, right)
        each = of_left @ by_kind.flatten(-3)
        each = each.unflatten(-1, (KINDS, -1))
        at = kind.long()[..., None, None].expand(*kind.shape, 1, each.shape[-1])
        chosen = each.gather(-2, at).squeeze(-2).unflatten(-1, (parts, self.features))
        return (of_right.unsqueeze(-1) * chosen).sum(-2)


class LearnedGPNN(GPNN):
    """A GPNN of k parts that reads batches prepared under ``profile``.

    Args:
        config: configuration for the k parts (``parts`` = k + 1), ``interactions`` edges or pairs.
        base: a custom base module, if any.
        cells: the profiles of all graphs.
    """

    annealed: ClassVar[float] = SOFT

    def __init__(self, config: GPNNConfig, base: nn.Module | None, cells: Vocabulary) -> None:
        if cells.size > CELLS:
            raise InputError(
                f"The graphs have {cells.size:,} different vertex profiles, and learned schemes "
                f"take {CELLS:,}. Use a fixed scheme, or --scheme auto."
            )
        super().__init__(config, base)
        keys, hops = self._keys(), MAX_HOPS if config.structure.distances else 0
        self.pair = LearnedPairs(
            keys, config.hidden, config.edge_labels, hops, False, config.vertex_labels
        )
        self.assignment = Assignment(cells.colours, config.parts - 1)
        self._inside = False

    def anneal(self, step: Tensor, steps: int) -> None:
        self.assignment.progress = step, steps

    def forward(self, batch: GraphBatch) -> Tensor:
        if self._inside:
            return super().forward(batch)
        assigned = self.assignment()
        values = {"pair.assigned": assigned}
        for path, module in self.named_modules():
            for name, dims in getattr(module, "part_dims", {}).items():
                value = getattr(module, name)
                if value is not None and len(dims) == 1:  # the pair table reads ``assigned``
                    full = f"{path}.{name}" if path else name
                    values[full] = spread(assigned, value, dims[0] + assigned.dim() - 2)
        self._inside = True
        try:
            out: Tensor = functional_call(self, values, (replace(batch, terms=None),))
        finally:
            self._inside = False
        return out

    def _again(self, _batch: GraphBatch, _like: Tensor, /) -> bool:
        return False  # the parameters of cells exist only during a call

    @torch.no_grad()
    def plain(self) -> tuple[GPNN, LearnedScheme]:
        """The same network as an ordinary GPNN under the learned scheme."""
        learned = self.assignment.learned()
        structure = replace(self.config.structure, scheme=learned.scheme.name)
        known = Vocabulary(learned.scheme.name, np.arange(learned.parts)[:, None])
        own = self.base if self.config.base == "custom" else None
        out = GPNN(replace(self.config, structure=structure), own, known)
        state = {k: v for k, v in self.state_dict().items() if not k.startswith("assignment.")}
        out.load_state_dict({**state, "part_colours": out.part_colours})
        return out.to(self.colour.dtype), learned


def spread(assigned: Tensor, value: Tensor, dim: int) -> Tensor:
    """Map a parameter of parts to one of cells: Σ_j P_cj W_j along a dimension."""
    moved = value.movedim(dim, assigned.dim() - 2)
    rest = moved.shape[assigned.dim() - 1 :]
    out = assigned @ moved.flatten(assigned.dim() - 1) if rest else (assigned @ moved[..., None])
    return out.reshape(*out.shape[:-1], *rest) if rest else out.squeeze(-1)
