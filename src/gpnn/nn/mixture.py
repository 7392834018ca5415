r"""A GPNN with several schemes, ``mix:core,degree``: a convex combination of their results.

.. math::
    \gamma^{(0)}_v = x_v + \sum_m w_{0m}\, c_{m, \lambda_m(v)}, \qquad
    \gamma^{(l)}_v = \mathrm{block}\Big(\sum_m w_{lm}\, \gamma^{(l)}_{m,v}\Big), \qquad
    w_l = \mathrm{softmax}(a_l / T)

:math:`\gamma^{(l)}_m` is Equation 3 under the scheme :math:`\lambda_m`, applied to the shared
:math:`\gamma^{(l-1)}`, with separate weights and a separate α. The :math:`a_l` are learned; the
temperature T falls from 1 to 0.02 in the first 60 % of the training, so that one or a few schemes
dominate every layer; only later epochs are kept.

Graphs are prepared under the common refinement of the schemes. Its cells refine the parts of every
:math:`\lambda_m`, and with ``edges`` or ``pairs`` so do its classes of pairs: a parameter of parts
is mapped to one of cells as in :mod:`gpnn.nn.learned`, with a fixed assignment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from ..errors import InputError
from ..graph.partition import unique_rows
from ..graph.registry import get_scheme, mixed_schemes
from ..graph.vocabulary import Vocabulary
from .batch import AlphaRound, GraphBatch
from .config import GPNNConfig
from .layer import InteractionLayer
from .learned import CELLS, SOFT, LearnedPairs, spread
from .lookup import lookup
from .model import GPNN, MAX_HOPS
from .part_weights import draw_parts, forget_parts, keep_parts, part_keys
from .parts import PairEmbedding

__all__ = ["MixedGPNN", "make_gpnn"]

COLD = 0.02
"""The temperature at the end of that phase."""


def make_gpnn(config: GPNNConfig, base: nn.Module | None, vocabulary: Vocabulary) -> GPNN:
    """Create the network of a configuration, with one scheme or a mixture."""
    if config.gpnn and mixed_schemes(config.structure.scheme):
        return MixedGPNN(config, base, vocabulary)
    return GPNN(config, base, vocabulary)


class _Member(nn.Module):
    """The parameters of one scheme: colours, λ_E and layers, indexed by its parts.

    ``assigned`` [cells + 1, parts + 1] maps cells to parts, with the reserved ones last.
    """

    assigned: Tensor

    def __init__(self, config: GPNNConfig, colours: np.ndarray[Any, Any]) -> None:
        super().__init__()
        own, place = unique_rows(colours)
        assigned = torch.zeros(len(colours) + 1, len(own) + 1)
        assigned[torch.arange(len(colours)), torch.from_numpy(place)] = 1.0
        assigned[-1, -1] = 1.0
        self.register_buffer("assigned", assigned)
        self.keys, width = part_keys(own), config.hidden
        hops = MAX_HOPS if config.structure.distances else 0
        self.colour = nn.Parameter(torch.empty(len(self.keys), width))
        self.part_dims = {"colour": (0,)}
        self.pair = LearnedPairs(
            self.keys, width, config.edge_labels, hops, False, config.vertex_labels
        )
        self.layers = nn.ModuleList(
            InteractionLayer(width, self.keys, config.pair_update, "own", config.combine,
                             config.pair_activation == "sine")
            for _ in range(config.structure.layers)
        )  # fmt: skip
        self.reset_parameters()

    def reset_parameters(self) -> None:
        draw_parts(self.colour, (0,), self.keys, normal=1.0)

    def forward(self, part: str, *given: Any) -> Any:
        """Call a piece of the network; used with parameters of cells instead of parts."""
        if part == "colour":
            return lookup(self.colour, given[0])
        if part == "pair":
            return self.pair(given[0])
        return getattr(self.layers[given[0]], part)(*given[1:])

    def of_cells(self) -> dict[str, Tensor]:
        """The parameters of parts, mapped to parameters of cells."""
        values = {"pair.assigned": self.assigned}
        for path, module in self.named_modules():
            for name, dims in getattr(module, "part_dims", {}).items():
                value = getattr(module, name)
                if value is not None and len(dims) == 1:  # the pair table reads ``assigned``
                    full = f"{path}.{name}" if path else name
                    values[full] = spread(self.assigned, value, dims[0] + self.assigned.dim() - 2)
        return values

    def parts_of(self, cells: Tensor) -> Tensor:
        """The parts that contain these cells, ascending."""
        return self.assigned[cells].argmax(-1).unique()


class _Round:
    """A layer of all members, with the interface of :class:`~gpnn.nn.layer.InteractionLayer`; α
    tables are concatenated."""

    def __init__(self, members: list[Any], weight: Tensor, number: int) -> None:
        self.members, self.weight, self.number = members, weight, number

    def _each(self, part: str, *given: Any) -> Iterator[Any]:
        for member, values in self.members:
            own = [one.pop(0) if isinstance(one, list) else one for one in given]
            yield functional_call(member, values, (part, self.number, *own))

    def interactions(
        self, alpha: Tensor, start: Tensor, pairs: AlphaRound
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        count = len(self.members)
        tables, read = zip(
            *self._each(
                "interactions", [*alpha.chunk(count, -1)], [*start.chunk(count, -1)], pairs
            ),
            strict=True,
        )
        return torch.cat(tables, -1), tuple(one for own in read for one in own)

    def combine(self, gamma: Tensor, of_alpha: tuple[Tensor, ...], *rest: Any) -> Tensor:
        each = len(of_alpha) // len(self.members)
        read = [of_alpha[k : k + each] for k in range(0, len(of_alpha), each)]
        outputs = self._each("combine", gamma, read, *rest)
        return mixed(self.weight, list(outputs))


def mixed(weight: Tensor, each: list[Tensor]) -> Tensor:
    """Σ_m w_m x_m; weight [..., members], each [..., rows, f]."""
    shares = weight.unbind(-1)
    return torch.stack(
        [share[..., None, None] * x for share, x in zip(shares, each, strict=True)]
    ).sum(0)


class MixedGPNN(GPNN):
    """A GPNN with several schemes.

    Args:
        config: ``structure.scheme`` is a mixture, ``parts`` the number of joint cells of its
            schemes plus the reserved one; ``interactions`` edges or pairs, no component feature.
        base: a custom base module, if any.
        vocabulary: the cells.
    """

    temperature: Tensor
    annealed: ClassVar[float] = SOFT

    def __init__(self, config: GPNNConfig, base: nn.Module | None, vocabulary: Vocabulary) -> None:
        if vocabulary.size > CELLS:
            raise InputError(
                f"The schemes of {config.structure.scheme} make {vocabulary.size:,} cells "
                f"together, and a mixture takes {CELLS:,}. Leave out the one with the most parts."
            )
        super().__init__(replace(config, parts=2), base)  # members replace its parts
        self.config = config
        self._set_colours(vocabulary)
        del self.colour, self.pair, self.layers
        self.part_dims = {}
        widths = [get_scheme(name).width for name in mixed_schemes(config.structure.scheme)]
        columns = np.split(vocabulary.colours, np.cumsum(widths)[:-1], axis=1)
        self.members = nn.ModuleList(_Member(config, own) for own in columns)
        rows = config.structure.layers + 1
        self.mixture = nn.Parameter(torch.zeros(rows, len(self.members)))
        self.register_buffer("temperature", torch.ones(()))
        self._progress: tuple[Tensor, int] | None = None
        self._now: list[Any] = []

    @property
    def pairs(self) -> list[PairEmbedding]:
        return [member.pair for member in self.members]  # type: ignore[misc]

    def _draw_colours(self) -> None:
        if not hasattr(self, "mixture"):
            return
        nn.init.zeros_(self.mixture)
        self.temperature.fill_(1.0)

    def anneal(self, step: Tensor, steps: int) -> None:
        self._progress = step, steps

    def weights(self) -> Tensor:
        """w, [..., layers + 1, schemes]."""
        return (self.mixture / self.temperature[..., None, None]).softmax(-1)

    def interact(self, x: Tensor, batch: GraphBatch) -> list[Tensor]:
        if self.training and self._progress is not None:
            step, steps = self._progress
            self.temperature.copy_(COLD ** (step.squeeze(0) / (SOFT * steps)).clamp(max=1))
        self._now = [(member, member.of_cells()) for member in self.members]  # type: ignore[operator]
        try:
            return super().interact(x, batch)
        finally:
            self._now = []

    def _colours(self, batch: GraphBatch) -> Tensor:
        each = [functional_call(one[0], one[1], ("colour", batch.part)) for one in self._now]
        return mixed(self.weights().select(-2, 0), each)

    def _rounds(self) -> list[Any]:
        weights = self.weights().unbind(-2)[1:]
        return [_Round(self._now, weight, number) for number, weight in enumerate(weights)]

    def _start(self, batch: GraphBatch) -> Tensor:
        each = [functional_call(one[0], one[1], ("pair", batch.start)) for one in self._now]
        if self.pair_features is not None:
            more = self.pair_features(batch.start_features)
            each = [one + more for one in each]
        return torch.cat(each, -1)

    @torch.no_grad()
    def described(self) -> dict[str, Any]:
        """The schemes and their weights, for the initial γ and for every layer."""
        weights = self.weights().double()
        return {
            "schemes": list(mixed_schemes(self.config.structure.scheme)),
            "weights": [[round(one, 4) for one in row] for row in weights.tolist()],
            "temperature": round(float(self.temperature), 4),
        }

    @torch.no_grad()
    def forget_cells(self, unseen: Tensor) -> None:
        """Assign cells that do not occur in training, [cells + 1], to the reserved parts."""
        seen = (~unseen).nonzero().flatten()
        for member in self.members:
            assert isinstance(member, _Member)
            member.assigned[unseen] = 0.0
            member.assigned[unseen, -1] = 1.0
            absent = torch.ones(len(member.keys), dtype=torch.bool)
            absent[member.parts_of(seen)] = False
            forget_parts(member, absent)

    @torch.no_grad()
    def _drop_parts(self, kept: Tensor) -> None:
        for member in self.members:
            assert isinstance(member, _Member)
            own = member.parts_of(kept)
            member.assigned = member.assigned[kept][:, own]
            keep_parts(member, own)
