"""One GPNN layer: Equations 1 to 3 of the paper."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..options import RULES
from .batch import AlphaRound, GraphBatch, PairRows, SampledRows
from .linear import Linear, linear
from .memory import tuple_chunk
from .norm import MLP, WeightedBatchNorm, activated, spread_out
from .pair_sum import pair_sum
from .parts import PartLinear
from .segments import Segments
from .tuple_sum import tuple_sums

__all__ = ["InteractionLayer", "PairMLP", "PairMessage"]


class PairMLP(nn.Module):
    r"""φ, a perceptron of two layers that reads a pair:

    .. math::
        \varphi(a, b) = \mathrm{ReLU}\big(\mathrm{norm}(a W_1 + b W_2)\big)\, W_3 + c

    (or a sine instead of the ReLU). Both first maps are applied once to every row of an α table,
    since a row occurs in many tuples. The last map is linear, so it is applied to sums over tuples:
    a class of n tuples gets n times c.

    Shapes: :meth:`members`: α table [..., rows, f] → [..., 2 · rows, f], row 2r for r as the first
    member of a tuple and 2r + 1 as the second; forward: their sums [..., tuples, f], weights
    [..., tuples] → the hidden layer, [..., tuples, f]; :meth:`finish`: sums of these and their
    numbers of terms, [..., classes, f] and [..., classes, 1] → [..., classes, f].
    """

    def __init__(self, features: int, sine: bool = False) -> None:
        super().__init__()
        self.features, self.sine = features, sine
        self.first = Linear(features, 2 * features, bias=False)
        self.norm = WeightedBatchNorm(features)
        self.second = Linear(features, features)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = (2 * self.features) ** -0.5  # a unit reads both members
        nn.init.uniform_(self.first.weight, -bound, bound)
        self.norm.reset_parameters()
        self.second.reset_parameters()
        if self.sine:
            spread_out(self.norm)

    def members(self, alpha: Tensor) -> Tensor:
        both: Tensor = self.first(alpha)
        return both.unflatten(-1, (2, self.features)).flatten(-3, -2)

    def forward(self, met: Tensor, weight: Tensor) -> Tensor:
        return activated(self.norm, met, weight, self.sine)

    def finish(self, sums: Tensor, counts: Tensor) -> Tensor:
        return linear(sums, self.second.weight) + counts * self.second.bias.unsqueeze(-2)


class PairMessage(nn.Module):
    r"""A message that reads β and α of a pair jointly:

    .. math::
        m_v = \Big(\sum_{u \in N_d(v)} \mathrm{ReLU}\big(\beta_u B + \alpha_{vu} A + c\big)\Big)\, C

    Equation 3 hashes the multiset of *pairs* (β_u, α_vu). A sum of linear maps splits into a sum
    over β and a sum over α, which loses the pairing; the ReLU preserves it. The message is computed
    pair by pair, so it costs one row per pair, not per class.

    Shapes: :meth:`of_alpha`: α table [..., rows, f] → its rows times A; forward: the hidden layer
    of θ [..., n, f], that table, the pairs → [..., n, f].
    """

    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features
        self.beta = Linear(features, features)
        self.alpha = Linear(features, features, bias=False)
        self.out = Linear(features, features, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = (2 * self.features) ** -0.5  # a unit reads both members
        for module in (self.beta, self.alpha, self.out):
            module.reset_parameters()
        nn.init.uniform_(self.beta.weight, -bound, bound)
        nn.init.uniform_(self.alpha.weight, -bound, bound)

    def of_alpha(self, table: Tensor) -> Tensor:
        out: Tensor = self.alpha(table)
        return out

    def forward(
        self, hidden: Tensor, theta: nn.Linear, of_alpha: Tensor, own: Segments, pairs: PairRows
    ) -> Tensor:
        """``theta`` is the map from the hidden layer to β; the two linear maps are composed."""
        weight = self.beta.weight @ theta.weight
        bias = (self.beta.weight @ theta.bias.unsqueeze(-1)).squeeze(-1) + self.beta.bias
        of_beta = linear(hidden, weight, bias)
        total = pair_sum(_flat(of_beta), _flat(of_alpha), own, pairs)
        total = total.view(*of_beta.shape[:-2], -1, of_beta.shape[-1])
        out: Tensor = self.out(total)
        return out


def _flat(x: Tensor) -> Tensor:
    """The rows of all replicas, concatenated."""
    return x if x.dim() == 2 else x.flatten(0, -2)


def _by_class(x: Tensor, pairs: AlphaRound) -> Tensor:
    """Σ over the tuples of every class. Shapes: [..., tuples, f] → [..., classes, f]."""
    if pairs.takes is None or pairs.shared is None:
        return pairs.tuples.sum(x)
    return pairs.tuples.sum(x, onto=pairs.takes.sum(pairs.shared.sum(x)))


def _taken(sums: Tensor, pairs: AlphaRound) -> Tensor:
    """Add shared sums to the sums of classes; ``sums`` holds those of classes, then shared ones."""
    if pairs.takes is None:
        return sums
    own = len(pairs.tuples.ptr) - 1
    return pairs.takes.sum(sums[own:], onto=sums[:own])


class InteractionLayer(nn.Module):
    r"""The interaction of vertices inside and across parts.

    .. math::
        \beta_v &= \mathrm{MLP}_\theta\Big((1 + \epsilon) \gamma_v + \sum_{u \in N(v)} \gamma_u\Big)
        \\
        \alpha'_{vu} &= \mathrm{MLP}_\psi\Big((1 + \mu)\,\alpha_{vu}
            + \sum_{w \in N_d(v)} \varphi(\alpha_{vw}, \alpha_{uw})\Big), \quad (v, u) \in E^\delta
        \\
        \gamma'_v &= \sum_j \omega_j \sum_{u \in N_d(v),\, \lambda_V(u) = j}
            \big(\beta_u \,\|\, \alpha'_{vu} \,\|\, p_j\big) W_j \; + \; m_v

    :math:`m_v` is the message of :class:`PairMessage`. ``combine="linear"`` leaves it out, as the
    paper's appendix does.

    α is stored once per class of structurally equal pairs, not once per pair (see
    :mod:`gpnn.graph.classes`), which gives the same values at a fraction of the cost. Normalisation
    weights every class by its number of pairs.

    Departures from the printed formulas: the appendix sums :math:`\alpha_{vw} + \alpha_{vw}`, a
    typo for :math:`\alpha_{vw} + \alpha_{uw}`; even the corrected sum is not injective on pairs.
    ``pair_update="sum"`` is that corrected sum, :math:`\varphi(a, b) = a + b`; the default
    ``"tuple"`` applies an MLP to the concatenation, as in Equation 2. :math:`W_j` is stored as
    three blocks: for β, for α, and for p_j, whose product is a bias of the part.

    The learned pairs (E^δ) and the radius of N_d are fixed when graphs are prepared
    (:func:`~gpnn.nn.prepare.prepare`, ``interactions`` and ``d``) and stored in the batch.

    Args:
        features: width of α, β and γ.
        keys: keys of the parts, with the reserved part for unseen colours last, see
            :func:`~gpnn.nn.part_weights.part_keys`, [parts].
        pair_update: ``"tuple"`` or ``"sum"``.
        part_weights: which parameters of :math:`W_j` a part has: ``own``, ``basis`` or ``scaled``,
            see :class:`~gpnn.nn.parts.PartLinear`.
        combine: ``"pairwise"`` or ``"linear"``.
        sine: whether φ and ψ use a sine instead of the ReLU. A ReLU is linear almost everywhere,
            so two multisets of nearby vectors with equal sums stay equal. Classes get closer with
            every round, so differences between graphs that need ten rounds are lost to rounding; a
            sine over several periods preserves them.

    Shapes: γ [n, features], α table of the previous round [rows, features] → γ', α table.
    """

    def __init__(
        self,
        features: int,
        keys: Tensor,
        pair_update: str = "tuple",
        part_weights: str = "own",
        combine: str = "pairwise",
        sine: bool = False,
    ) -> None:
        super().__init__()
        for name, value in (("combine", combine), ("pair_update", pair_update)):
            RULES[name].read(name, value)
        self.features, self.pair_update, self.sine = features, pair_update, sine
        self.epsilon = nn.Parameter(torch.zeros(()))
        self.mu = nn.Parameter(torch.zeros(()))
        self.beta = MLP(features, features, features)
        self.psi = MLP(features, features, features, sine=sine)
        self.phi = PairMLP(features, sine) if pair_update == "tuple" else None
        self.beta_map = PartLinear(keys, features, part_weights, bias=True)
        self.alpha_map = PartLinear(keys, features, part_weights)
        self.message = PairMessage(features) if combine == "pairwise" else None
        self.omega = nn.Parameter(torch.ones(len(keys)))
        self.part_dims = {"omega": (0,)}
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.epsilon)
        nn.init.zeros_(self.mu)
        nn.init.ones_(self.omega)
        maps = (self.beta, self.psi, self.phi, self.beta_map, self.alpha_map, self.message)
        for module in maps:
            if module is not None:
                module.reset_parameters()

    def forward(
        self, gamma: Tensor, alpha: Tensor, start: Tensor, batch: GraphBatch, layer: int
    ) -> tuple[Tensor, Tensor]:
        """Apply all three equations in round ``layer``, counted from 0; ``alpha`` is the α table of
        the previous round, ``start`` its start rows."""
        table, of_alpha = self.interactions(alpha, start, batch.rounds[layer])
        return self.combine(gamma, of_alpha, batch.layer(layer), batch.rounds[layer].own), table

    def interactions(
        self, alpha: Tensor, start: Tensor, pairs: AlphaRound
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The α table of this round, and the inputs of Equation 3 computed from it: the sum of
        every vertex, and the mapped table for messages. Neither depends on γ."""
        table = torch.cat([self.interact(alpha, pairs), start], dim=-2)
        by_class = self.alpha_map(table, pairs.part, pairs.groups, self.omega)
        summed = pairs.pairs.sum(by_class)
        if self.message is None:
            return table, (summed,)
        return table, (summed, self.message.of_alpha(table))

    def combine(
        self,
        gamma: Tensor,
        of_alpha: tuple[Tensor, ...],
        batch: GraphBatch | SampledRows,
        own: Segments | None,
    ) -> Tensor:
        """γ' from γ and the inputs of Equation 3 from α; ``own``: the α row of every pair."""
        assert batch.near is not None and batch.part is not None and batch.groups is not None
        near = batch.neighbours.sum(gamma, onto=batch.inner(gamma), factor=1 + self.epsilon)
        hidden = self.beta.before_second(near, batch.inner_weight)
        by_vertex = self.beta_map(
            hidden, batch.part, batch.groups, self.omega, before=self.beta.second
        )
        if self.message is None:
            return batch.near.sum(by_vertex, onto=of_alpha[0])
        assert own is not None and batch.pairs is not None
        message = self.message(hidden, self.beta.second, of_alpha[1], own, batch.pairs)
        return batch.near.sum(by_vertex, onto=of_alpha[0] + message)

    def interact(self, alpha: Tensor, pairs: AlphaRound) -> Tensor:
        """Equation 2, once per class: the α of the classes of this round."""
        chunk = tuple_chunk(pairs.tuple_weight.numel(), alpha)
        members = alpha.repeat_interleave(2, -2) if self.phi is None else self.phi.members(alpha)
        if chunk is None:
            met = pairs.met.sum(members)
            sums = _by_class(met if self.phi is None else self.phi(met, pairs.tuple_weight), pairs)
        else:
            norm = None if self.phi is None else self.phi.norm
            sums = _taken(tuple_sums(members, norm, self.sine, pairs, chunk), pairs)
        if self.phi is not None:
            with torch.no_grad():
                counts = _by_class(sums.new_ones(*pairs.tuple_weight.shape, 1), pairs)
            sums = self.phi.finish(sums, counts)
        total = pairs.previous.sum(alpha * (1 + self.mu)[..., None, None], onto=sums)
        out: Tensor = self.psi(total, pairs.weight)
        return out

    def __repr__(self) -> str:
        return (
            f"{self.__class__.__name__}({self.features}, parts={self.omega.shape[-1]}, "
            f"pair_update={self.pair_update!r}, "
            f"combine={'linear' if self.message is None else 'pairwise'!r})"
        )
