"""One GPNN layer: Equations 1 to 3 of the paper as its appendix implements them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..errors import InputError
from .batch import AlphaRound, GraphBatch
from .linear import linear
from .memory import check_tuples
from .norm import MLP
from .parts import PartLinear

__all__ = ["PAIR_UPDATES", "GPNNConv"]

PAIR_UPDATES = ("tuple", "sum")


class GPNNConv(nn.Module):
    r"""The interaction of vertices inside and across parts.

    .. math::
        \beta_v &= \mathrm{MLP}_\theta\Big((1 + \epsilon) \gamma_v + \sum_{u \in N(v)} \gamma_u\Big)
        \\
        \alpha'_{vu} &= \mathrm{MLP}_\psi\Big((1 + \mu)\,\alpha_{vu}
            + \sum_{w \in N_d(v)} \varphi(\alpha_{vw}, \alpha_{uw})\Big), \quad (v, u) \in E^\delta
        \\
        \gamma'_v &= \sum_j \omega_j \sum_{u \in N_d(v),\, \lambda_V(u) = j}
            \big(\beta_u \,\|\, \alpha'_{vu} \,\|\, p_j\big) W_j

    α is held once per class of pairs with equal structure, not once per pair (see
    :mod:`gpnn.graph.classes`): the same numbers for a fraction of the work. Normalisation weighs
    every class with the pairs it stands for.

    Departures from the printed formulas: the appendix sums :math:`\alpha_{vw} + \alpha_{vw}`, a
    slip for :math:`\alpha_{vw} + \alpha_{uw}`, which even corrected is not injective on pairs.
    ``pair_update="sum"`` is that corrected sum, :math:`\varphi(a, b) = a + b`; the default
    ``"tuple"`` takes an MLP of the concatenation, faithful to Equation 2. :math:`W_j` is kept as
    three blocks: for β, for α, and for p_j, whose product is a bias of the part.

    Which pairs are learned (E^δ) and how far N_d reaches is settled when graphs are prepared
    (:func:`~gpnn.nn.prepare.prepare`, ``interactions`` and ``d``); the batch carries it.

    Args:
        features: width of α, β and γ.
        parts: number of parts, the reserved one for unseen colours included.
        pair_update: ``"tuple"`` or ``"sum"``.

    Shapes: γ [n, features], α table of the round before [rows, features] → γ', α table.
    """

    def __init__(self, features: int, parts: int, pair_update: str = "tuple") -> None:
        super().__init__()
        if pair_update not in PAIR_UPDATES:
            raise InputError(
                f"Unknown pair_update {pair_update!r}. Choose one of {', '.join(PAIR_UPDATES)}."
            )
        self.features, self.parts, self.pair_update = features, parts, pair_update
        self.epsilon = nn.Parameter(torch.zeros(()))
        self.mu = nn.Parameter(torch.zeros(()))
        self.beta = MLP(features, features, features)
        self.psi = MLP(features, features, features)
        self.phi = MLP(2 * features, features, features) if pair_update == "tuple" else None
        self.beta_map = PartLinear(parts, features, bias=True)
        self.alpha_map = PartLinear(parts, features)
        self.omega = nn.Parameter(torch.ones(parts))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.epsilon)
        nn.init.zeros_(self.mu)
        nn.init.ones_(self.omega)
        for module in (self.beta, self.psi, self.phi, self.beta_map, self.alpha_map):
            if module is not None:
                module.reset_parameters()

    def forward(
        self, gamma: Tensor, alpha: Tensor, start: Tensor, batch: GraphBatch, layer: int
    ) -> tuple[Tensor, Tensor]:
        """``alpha`` is the α table of the round before, ``start`` its start rows."""
        table, told = self.interactions(alpha, start, batch.rounds[layer])
        return self.combine(gamma, told, batch), table

    def interactions(
        self, alpha: Tensor, start: Tensor, pairs: AlphaRound
    ) -> tuple[Tensor, Tensor]:
        """The α table of this round, and what α adds to γ' of every vertex; neither depends on
        γ."""
        table = torch.cat([self.interact(alpha, pairs), start], dim=-2)
        by_class = self.alpha_map(table, pairs.part, pairs.groups, self.omega)
        return table, pairs.pairs.sum(by_class)

    def combine(self, gamma: Tensor, told: Tensor, batch: GraphBatch) -> Tensor:
        """γ' from γ and what α adds."""
        near = batch.neighbours.sum(gamma, onto=gamma, factor=1 + self.epsilon)
        beta = self.beta(near, batch.vertex_weight)
        by_vertex = self.beta_map(beta, batch.part, batch.groups, self.omega)
        return batch.near.sum(by_vertex, onto=told)

    def interact(self, alpha: Tensor, pairs: AlphaRound) -> Tensor:
        """Equation 2, once per class: the α of the classes of this round."""
        check_tuples(pairs.tuple_weight.numel(), alpha)
        if self.phi is None:
            met = pairs.met.sum(alpha.repeat_interleave(2, dim=-2))
        else:
            # φ's first map on both members of a tuple at once: row 2r for α_vw, 2r + 1 for α_uw.
            maps = self.phi.first.weight.unflatten(-1, (2, self.features)).transpose(-3, -2)
            both = linear(alpha, maps.flatten(-3, -2))
            met = pairs.met.sum(both.unflatten(-1, (2, self.features)).flatten(-3, -2))
            met = self.phi.after_first(met, pairs.tuple_weight)
        own = pairs.previous.sum(alpha)
        out: Tensor = self.psi(pairs.tuples.sum(met, own, 1 + self.mu), pairs.weight)
        return out

    def __repr__(self) -> str:
        return (
            f"{self.__class__.__name__}({self.features}, parts={self.parts}, "
            f"pair_update={self.pair_update!r})"
        )
