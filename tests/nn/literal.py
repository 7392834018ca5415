"""One GPNN layer by its formula: Python loops over vertices and pairs of networkx graphs.

Shares nothing with the layer but its parameters.
"""

from __future__ import annotations

import networkx as nx
import torch
from torch import Tensor

from gpnn.nn.layer import InteractionLayer, PairMLP
from gpnn.nn.norm import MLP
from gpnn.nn.parts import PairEmbedding

__all__ = ["literal_gpnn"]

SELF, WITHIN, CROSS, NONE = range(4)


def batch_norm(x: Tensor, mlp: MLP | PairMLP) -> Tensor:
    mean, variance = x.mean(0), x.var(0, unbiased=False)
    return (x - mean) / torch.sqrt(variance + mlp.norm.eps) * mlp.norm.weight + mlp.norm.bias


def run(mlp: MLP, rows: list[Tensor]) -> list[Tensor]:
    if not rows:
        return []
    x = torch.stack(rows) @ mlp.first.weight.t()
    return list(torch.relu(batch_norm(x, mlp)) @ mlp.second.weight.t() + mlp.second.bias)


def run_pairs(phi: PairMLP, ends: list[tuple[Tensor, Tensor]]) -> list[Tensor]:
    if not ends:
        return []
    left, right = phi.first.weight.t().split(phi.features, 1)
    x = torch.stack([a @ left + b @ right for a, b in ends])
    return list(torch.relu(batch_norm(x, phi)) @ phi.second.weight.t() + phi.second.bias)


def message(conv: InteractionLayer, pairs: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Σ ReLU(β_u B + α_vu A + c) C over the pairs (β_u, α_vu) of one vertex."""
    total = torch.zeros(conv.features)
    if conv.message is None:
        return total
    own = conv.message
    for beta, alpha in pairs:
        inside = own.beta.weight @ beta + own.alpha.weight @ alpha + own.beta.bias
        total = total + own.out.weight @ torch.relu(inside)
    return total


def learned_pairs(graph: nx.Graph, part: list[int], kind: str, reach: int) -> list[tuple[int, int]]:
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    if kind == "pairs":
        return [(v, u) for v in graph for u in graph if v != u and hops[v].get(u, 10**9) <= reach]
    ends = [(v, u) for v in graph for u in graph[v]]
    return ends if kind == "edges" else [(v, u) for v, u in ends if part[v] != part[u]]


def literal_gpnn(
    convs: list[InteractionLayer],
    pair: PairEmbedding,
    graphs: list[nx.Graph],
    parts: list[list[int]],
    gammas: list[Tensor],
    kind: str,
    d: int,
    labels: list[list[int]] | None = None,
) -> list[Tensor]:
    """γ after all layers; normalisation goes over the pairs and tuples of all graphs; ``labels``
    of vertices join the first α of a pair."""
    hops = [dict(nx.all_pairs_shortest_path_length(graph)) for graph in graphs]
    near = [
        {v: [u for u in g if h[v].get(u, 10**9) <= d] for v in g}
        for g, h in zip(graphs, hops, strict=True)
    ]

    def start(g: int, v: int, u: int) -> Tensor:
        part = parts[g]
        if v == u:
            what = SELF
        elif graphs[g].has_edge(v, u):
            what = WITHIN if part[v] == part[u] else CROSS
        else:
            what = NONE
        own, other = (0, 0) if labels is None else (labels[g][v], labels[g][u])
        return pair(torch.tensor([[part[v], what, part[u], 0, 0, own, other]]))[0]

    alpha = [
        {(v, u): start(g, v, u) for v in graph for u in graph} for g, graph in enumerate(graphs)
    ]
    gamma = [list(one) for one in gammas]
    for layer, conv in enumerate(convs):
        places = [(g, v) for g, graph in enumerate(graphs) for v in graph]
        rows = [
            (1 + conv.epsilon) * gamma[g][v]
            + sum((gamma[g][u] for u in graphs[g][v]), torch.zeros(conv.features))
            for g, v in places
        ]
        beta = dict(zip(places, run(conv.beta, rows), strict=True))
        reach = (len(convs) - layer) * d
        pairs = [
            (g, v, u)
            for g, graph in enumerate(graphs)
            for v, u in learned_pairs(graph, parts[g], kind, reach)
        ]
        tuples = [(g, v, u, w) for g, v, u in pairs for w in near[g][v]]
        ends = [(alpha[g][v, w], alpha[g][u, w]) for g, v, u, w in tuples]
        met = [a + b for a, b in ends] if conv.phi is None else run_pairs(conv.phi, ends)
        total = {place: (1 + conv.mu) * alpha[place[0]][place[1:]] for place in pairs}
        for (g, v, u, _), value in zip(tuples, met, strict=True):
            total[g, v, u] = total[g, v, u] + value
        new = [dict(one) for one in alpha]
        # Pairs that are no longer computed keep their start vector, like those outside E^δ.
        for g, graph in enumerate(graphs):
            new[g] = {(v, u): start(g, v, u) for v in graph for u in graph}
        for (g, v, u), value in zip(pairs, run(conv.psi, [total[p] for p in pairs]), strict=True):
            new[g][v, u] = value
        alpha = new
        for g, graph in enumerate(graphs):
            gamma[g] = []
            for v in graph:
                value = torch.zeros(conv.features)
                for u in near[g][v]:
                    j = parts[g][u]
                    value = value + conv.omega[j] * (
                        beta[g, u] @ conv.beta_map.weight[j]
                        + alpha[g][v, u] @ conv.alpha_map.weight[j]
                        + conv.beta_map.bias[j]
                    )
                gamma[g].append(
                    value + message(conv, [(beta[g, u], alpha[g][v, u]) for u in near[g][v]])
                )
    return [torch.stack(one) if one else torch.zeros(0, convs[0].features) for one in gamma]
