"""The peers as their equations read, vertex by vertex, on one networkx graph.

Perceptrons, normalisations (in evaluation mode) and blocks are the network's own; everything that
concerns the graph is done by hand. ``x`` are the encoded vertices, ``e`` gives the encoded label of
an edge, or ``None``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import networkx as nx
import numpy as np
import torch
from torch import Tensor

Edge = Callable[[int, int], Tensor] | None
relu = torch.relu


def gin(conv: Any, graph: nx.Graph, x: dict[Any, Tensor], e: Edge, names: Any) -> dict[Any, Tensor]:
    """GIN, or GINE with edge features; ``names`` gives the vertex of a row."""
    out = {}
    for v in graph:
        total = (1 + conv.epsilon) * x[v]
        for u in graph[v]:
            total = total + (x[u] if e is None else relu(x[u] + e(names(u), names(v))))
        out[v] = conv.mlp(total[None])[0]
    return out


def block(module: Any, x: dict[Any, Tensor], y: dict[Any, Tensor]) -> dict[Any, Tensor]:
    """Plain or residual, in evaluation mode."""
    z = {v: module.norm(y[v][None], relu=True)[0] for v in y}
    return {v: x[v] + z[v] for v in z} if module.residual else z


def mean(rows: list[Tensor], like: Tensor) -> Tensor:
    return torch.stack(rows).mean(0) if rows else torch.zeros_like(like)


def graphsnn(layer: Any, graph: nx.Graph, x: dict[int, Tensor], e: Edge, power: float) -> Any:
    out = {}
    for v in graph:
        omega = {}
        for u in graph[v]:
            both = graph.subgraph(({v} | set(graph[v])) & ({u} | set(graph[u])))
            size = len(both)
            omega[u] = both.number_of_edges() / (size * (size - 1)) * size**power
        whole = sum(omega.values())
        share = {u: omega[u] / whole for u in omega}
        total = layer.gamma * (1 + sum(share.values())) * x[v]
        for u in graph[v]:
            total = total + (1 + share[u]) * (x[u] if e is None else relu(x[u] + e(u, v)))
        out[v] = layer.mlp(total[None])[0]
    return out


def dgn(layer: Any, graph: nx.Graph, x: dict[int, Tensor], e: Edge, vectors: np.ndarray) -> Any:
    out = {}
    for v in graph:
        sent = {u: x[u] if e is None else relu(x[u] + e(u, v)) for u in graph[v]}
        zero = torch.zeros_like(x[v])
        parts = [x[v], mean(list(sent.values()), x[v]), sum(sent.values(), zero)]
        for phi in vectors.T:
            gradient = {u: phi[u] - phi[v] for u in graph[v]}
            gradient = {u: 0.0 if abs(g) < 1e-8 else g for u, g in gradient.items()}
            size = sum(map(abs, gradient.values())) + 1e-8
            weight = {u: g / size for u, g in gradient.items()}
            smooth, slope = torch.zeros_like(x[v]), torch.zeros_like(x[v])
            for u in graph[v]:
                smooth = smooth + abs(weight[u]) * sent[u]
                slope = slope + weight[u] * (sent[u] - x[v])
            parts += [smooth, slope.abs()]
        out[v] = layer.mlp(torch.cat(parts)[None])[0]
    return out


def gin_ak(layer: Any, graph: nx.Graph, x: dict[int, Tensor], e: Edge, hops: int) -> Any:
    gate = torch.sigmoid(layer.gates)
    rows: dict[tuple[int, int], Tensor] = {}
    far: dict[tuple[int, int], int] = {}
    for root in graph:
        ego = nx.ego_graph(graph, root, hops)
        away = nx.single_source_shortest_path_length(graph, root)
        h = {v: x[v] + layer.hop[away[v]] for v in ego}
        for conv, around in zip(layer.convs, layer.blocks, strict=True):
            h = block(around, h, gin(conv, ego, h, e, lambda v: v))
        rows |= {(root, v): h[v] for v in ego}
        far |= {(root, v): away[v] for v in ego}
    width = len(x[0])

    def part(number: int, d: int) -> Tensor:
        return gate[d, number * width : (number + 1) * width]

    out = {}
    whole = gin(layer.whole, graph, x, e, lambda v: v)
    for v in graph:
        inside = [u for u in graph if (v, u) in rows]
        subgraph = [part(1, far[v, u]) * phi(layer, 0, rows[v, u]) for u in inside]
        context = [part(2, far[u, v]) * phi(layer, 1, rows[u, v]) for u in inside]
        total = part(0, 0) * rows[v, v] + mean(subgraph, x[v]) + mean(context, x[v])
        out[v] = layer.out(layer.norms[2](total[None]))[0] + whole[v]
    return out


def phi(layer: Any, number: int, row: Tensor) -> Tensor:
    out: Tensor = layer.norms[number](layer.maps[number](row[None]), relu=True)[0]
    return out


def shell(graph: nx.Graph, v: int, k: int, kernel: str) -> list[int]:
    if kernel == "shortest":
        away = nx.single_source_shortest_path_length(graph, v)
        return [u for u in graph if away.get(u) == k]
    walks = np.linalg.matrix_power(nx.to_numpy_array(graph), k)
    return [u for u in graph if walks[v, u] and u != v]


def hop_message(
    layer: Any, graph: nx.Graph, x: dict[int, Tensor], e: Edge, v: int, k: int, kernel: str
) -> Tensor:
    near = shell(graph, v, k, kernel)
    total = torch.zeros(layer.periphery.shape[-1], dtype=torch.float64)
    for u in near:
        labelled = k == 1 and e is not None
        total = total + (relu(x[u] + layer.edge(e(u, v)[None])[0]) if labelled else x[u])  # type: ignore[misc]
    inside = graph.subgraph(near)
    for part in nx.connected_components(inside):
        count = inside.subgraph(part).number_of_edges()
        if count:
            total = total + layer.periphery[min(count, 32)]
    return total


def kp_gin(
    layer: Any, graph: nx.Graph, x: dict[int, Tensor], e: Edge, hops: int, kernel: str
) -> Any:
    out = {}
    split = {v: layer.split(x[v][None])[0].chunk(hops) for v in graph}
    for v in graph:
        rows = []
        for k in range(1, hops + 1):
            own = {u: split[u][k - 1] for u in graph}
            message = hop_message(layer, graph, own, e, v, k, kernel)
            z = (1 + layer.epsilon) * own[v] + message
            rows.append(relu(layer.mlps[k - 1](z[None])[0]))
        if layer.alpha is not None:
            alpha = torch.sigmoid(layer.alpha)
            theta = torch.stack([alpha * (1 - alpha) ** k for k in range(hops)])
        else:
            theta = torch.stack([layer.query(torch.tanh(row)[None])[0, 0] for row in rows])
        theta = torch.softmax(theta, 0)
        out[v] = layer.out(sum(t * row for t, row in zip(theta, rows, strict=True))[None])[0]  # type: ignore[index]
    return out


def kp_gin_plus(
    layer: Any, graph: nx.Graph, earlier: list[dict[int, Tensor]], e: Edge, kernel: str
) -> Any:
    out = {}
    for v in graph:
        total = (1 + layer.epsilon[0]) * earlier[-1][v]
        for k in range(1, layer.hops + 1):
            message = hop_message(layer, graph, earlier[-k], e, v, k, kernel)
            total = total + (1 + layer.epsilon[k]) * relu(message)
        out[v] = layer.mlp(total[None])[0]
    return out


def lrp(
    layer: Any, graph: nx.Graph, x: dict[int, Tensor], e: Edge, orderings: Any
) -> dict[int, Tensor]:
    out = {}
    width = len(x[0])
    weight = layer.places_map.weight.view(layer.places, width, width)
    for v in graph:
        rows = []
        for ordering in orderings(graph, v):
            total = layer.bias.clone()
            for place, u in enumerate(ordering):
                total = total + weight[place] @ x[u]
            for i, j in combinations(range(len(ordering)), 2):
                if graph.has_edge(ordering[i], ordering[j]):
                    number = j * (j - 1) // 2 + i
                    if e is None:
                        total = total + layer.edges.weight[:, number]
                    else:
                        total = total + layer.pair[number] * e(ordering[i], ordering[j])
            rows.append(relu(total))
        degree = torch.tensor([[float(graph.degree(v))]], dtype=torch.float64)
        out[v] = mean(rows, x[v]) * layer.scale(relu(layer.degree(degree)))[0]
    return out


def esan(peer: Any, graph: nx.Graph, x: dict[int, Tensor], e: Edge) -> Tensor:
    policy, hops = peer.options.policy, peer.options.hops
    if policy == "node":
        made = [graph.subgraph(set(graph) - {v}) for v in graph] if len(graph) > 1 else []
    elif policy == "edge":
        made = [nx.restricted_view(graph, [], [edge]) for edge in graph.edges]
    else:
        made = [nx.ego_graph(graph, v, hops) for v in graph]
    roots = list(graph) if policy == "ego+" else None
    made = made or [graph]
    h = [{v: x[v] for v in one} for one in made]
    if roots is not None:
        h = [
            {v: row + peer.mark[int(v != root)] for v, row in rows.items()}
            for root, rows in zip(roots, h, strict=True)
        ]
    for layer in range(len(peer.convs)):
        y = [gin(peer.convs[layer], one, rows, e, lambda v: v)
             for one, rows in zip(made, h, strict=True)]  # fmt: skip
        if len(peer.shared):
            common = {v: mean([rows[v] for rows in h if v in rows], x[v]) for v in graph}
            common = gin(peer.shared[layer], graph, common, e, lambda v: v)
            common = {v: peer.norms[layer](row[None])[0] for v, row in common.items()}
            y = [{v: row + common[v] for v, row in rows.items()} for rows in y]
        h = [block(peer.blocks[layer], rows, new) for rows, new in zip(h, y, strict=True)]
    z = [mean(list(rows.values()), x[0]) for rows in h]
    if peer.set is not None:
        z = [relu(peer.set(row[None])[0]) for row in z]
    return mean(z, x[0])


def cin(peer: Any, graph: nx.Graph, x: dict[int, Tensor], e: Edge) -> Tensor:
    edges = [frozenset(edge) for edge in graph.edges]
    rings = [
        frozenset(frozenset(pair) for pair in zip(c, [*c[1:], c[0]], strict=True))
        for c in nx.chordless_cycles(graph, peer.options.rings)
        if len(c) > 2
    ]
    h: list[dict[Any, Tensor]] = [dict(x)]
    h.append({s: sum(x[v] for v in s) if e is None else e(*sorted(s)) for s in edges})  # type: ignore[misc]
    h.append({r: sum(x[v] for v in frozenset.union(*r)) for r in rings})  # type: ignore[misc]
    above = [{v: [s for s in edges if v in s] for v in graph},
             {s: [r for r in rings if s in r] for s in edges}]  # fmt: skip
    for convs, blocks in zip(peer.convs, peer.blocks, strict=True):
        new: list[dict[Any, Tensor]] = []
        for k in range(3):
            conv, y = convs[k], {}
            for cell, row in h[k].items():
                b = (1 + conv.epsilon) * row
                if k:
                    b = b + sum(h[k - 1][part] for part in cell)
                u = (1 + conv.up_epsilon) * row
                if k < 2:
                    for over in above[k][cell]:
                        for other in over:
                            if other != cell:
                                sent = conv.sent(h[k][other][None]) + conv.above(
                                    h[k + 1][over][None]
                                )
                                u = u + relu(sent[0])
                both = torch.cat([conv.boundary(b[None]), conv.upper(u[None])], -1)
                y[cell] = conv.combine(both)[0]
            new.append(block(blocks[k], h[k], y))
        h = new
    zero = torch.zeros_like(x[0])
    read = (lambda rows: mean(rows, zero)) if peer.shape.mean else lambda rows: sum(rows, zero)
    return torch.cat([read(list(rows.values())) for rows in h])


def ppgn(peer: Any, graph: nx.Graph, x: dict[int, Tensor], e: Edge) -> Tensor:
    n = len(graph)
    h = {}
    for u in graph:
        for v in graph:
            kind = 1 if u == v else 2 if graph.has_edge(u, v) else 0
            h[u, v] = peer.kind[kind] + (x[u] if u == v else 0)
            if kind == 2 and e is not None:
                h[u, v] = h[u, v] + e(u, v)
    for left, right, skip, around in zip(
        peer.left, peer.right, peer.skip, peer.blocks, strict=True
    ):
        a = {pair: left(row[None])[0] for pair, row in h.items()}
        b = {pair: right(row[None])[0] for pair, row in h.items()}
        y = {}
        for u, v in h:
            product = torch.stack([a[u, w] * b[w, v] for w in range(n)]).sum(0)
            y[u, v] = skip(torch.cat([h[u, v], product])[None])[0]
        h = block(around, h, y)
    on = [row for (u, v), row in h.items() if u == v]
    off = [row for (u, v), row in h.items() if u != v]
    zero = torch.zeros_like(x[0])
    read = (lambda rows: mean(rows, zero)) if peer.shape.mean else lambda rows: sum(rows, zero)
    return torch.cat([read(on), read(off)])


def truncated_orderings(graph: nx.Graph, root: int, depth: int, width: int) -> list[Any]:
    found = [((root,), (root,))]
    for _ in range(depth):
        longer = []
        for whole, level in found:
            grown: list[tuple[int, ...]] = [()]
            for v in level:
                grown = [
                    (*added, *chosen)
                    for added in grown
                    for free in [[u for u in graph[v] if u not in whole and u not in added]]
                    for chosen in permutations(free, min(width, len(free)))
                ]
            longer += [((*whole, *added), added) for added in grown]
        found = longer
    return [whole for whole, _ in found]
